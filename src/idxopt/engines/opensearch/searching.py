"""Searches: `_msearch` bodies out, answers in, and the document frequencies of a text's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from idxopt.engines.opensearch.faults import reason_of, types_of
from idxopt.engines.opensearch.names import concrete
from idxopt.engines.opensearch.wire import json_bytes
from idxopt.engines.port import Hit, SearchRequest, SearchResponse

GONE = frozenset({"index_not_found_exception", "index_closed_exception"})


def msearch_body(requests: Sequence[SearchRequest]) -> bytes:
    """Newline-delimited JSON, each search addressed to one physical index."""
    lines = []
    for request in requests:
        lines.append(json_bytes({"index": concrete(request.index)}))
        lines.append(json_bytes(request.body))
    return b"\n".join(lines) + b"\n"


def response_of(answer: Mapping[str, Any]) -> SearchResponse:
    """One answer of `_msearch`. An error, a failed shard or a time-out makes it a failed one (contract 3)."""
    if "error" in answer:
        gone = bool(GONE & types_of(answer["error"]))
        return SearchResponse((), 0, error=reason_of(answer["error"]), gone=gone)
    shards = answer.get("_shards") or {}
    if shards.get("failed"):
        failures = shards.get("failures") or [{}]
        reason = reason_of(failures[0].get("reason"))
        gone = any(GONE & types_of(failure.get("reason")) for failure in failures)
        return SearchResponse(
            (), 0, error=f"{shards['failed']} of {shards['total']} shards failed: {reason}", gone=gone
        )
    if answer.get("timed_out"):
        return SearchResponse((), 0, error="the search timed out on the cluster")
    found = answer["hits"]
    hits = tuple(
        Hit(hit["_id"], hit["_score"] or 0.0, hit.get("_source") or {}, tuple(hit.get("sort") or ()))
        for hit in found["hits"]
    )
    total = found.get("total")
    if total is None:
        return SearchResponse(hits, len(hits), total_exact=False)
    return SearchResponse(hits, total["value"], total_exact=total["relation"] == "eq")


def frequencies_of(answer: Mapping[str, Any], field: str) -> dict[str, int]:
    """Document frequencies in a `_termvectors` answer; a term that no document has comes without `doc_freq`."""
    terms = answer.get("term_vectors", {}).get(field, {}).get("terms", {})
    return {term: int(statistics.get("doc_freq", 0)) for term, statistics in terms.items()}


def termvectors_body(field: str, text: str) -> dict[str, Any]:
    """An artificial document with one field, asked for the statistics of its terms."""
    return {
        "doc": {field: text},
        "fields": [field],
        "term_statistics": True,
        "field_statistics": False,
        "positions": False,
        "offsets": False,
        "payloads": False,
    }
