"""Engines: the port (`port.py`) and its adapters. The only package that imports an engine's client."""
