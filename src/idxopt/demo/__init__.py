"""The demo: documentation that every machine with Python has, and what a better program makes of it."""
