"""The one query path: legs, collapse, fusion, explain (contract 3)."""

from idxopt.search.query import DocumentHit, LegRank, SearchQuery, SearchResult
from idxopt.search.searcher import Searcher

__all__ = ["DocumentHit", "LegRank", "SearchQuery", "SearchResult", "Searcher"]
