"""The engine port on a real OpenSearch cluster."""

from idxopt.engines.opensearch.engine import OpenSearchEngine
from idxopt.engines.opensearch.loader import Patience

__all__ = ["OpenSearchEngine", "Patience"]
