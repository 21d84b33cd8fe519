"""The one query path: legs, collapse, fusion, reranking by sections, explain (contract 3)."""

from idxopt.search.models import QueryModels
from idxopt.search.query import DocumentHit, LegRank, SearchQuery, SearchResult, SectionHit
from idxopt.search.searcher import Searcher

__all__ = ["DocumentHit", "LegRank", "QueryModels", "SearchQuery", "SearchResult", "Searcher", "SectionHit"]
