"""Benchmarks against real nodes and real peers: `python -m benchmarks.parity`, `.load`, `.search`.

Each prints a table (`--json`: one JSON document), measures its peer in the same run, and exits 1 when it falls short
of its bar. They read the collections in `../shared` and start the nodes that they need.
"""
