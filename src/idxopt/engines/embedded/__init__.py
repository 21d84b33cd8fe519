"""An engine without a server: a folder that behaves like a small OpenSearch."""

from idxopt.engines.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
