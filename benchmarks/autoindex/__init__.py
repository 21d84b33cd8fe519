"""The AutoIndex search on the shared collections: what it finds (`python -m benchmarks.autoindex`), and how fast it
scores (`python -m benchmarks.autoindex.speed`).
"""
