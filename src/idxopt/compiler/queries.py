"""Query bodies of the DSL subset that every engine here understands, and the filters allowed in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from idxopt.compiler.fields import DOC_ID
from idxopt.compiler.lowered import Leg


def leg_body(
    leg: Leg,
    text: str,
    *,
    size: int,
    filter: Mapping[str, Any] | None = None,
    source: bool | Sequence[str] = False,
    total: bool = False,
) -> dict[str, Any]:
    """The search body of one lexical leg.

    Sorted by score, then document id, so that ties do not depend on the order of loading; one row a document where a
    view has several. `filter` must have passed `filters.check_filter`. `source`: False, True, or the paths to return.
    """
    clause: dict[str, Any] = {
        "must": [
            {
                "multi_match": {
                    "query": text,
                    "type": "most_fields",
                    "fields": [f"{path}^{boost!r}" for path, boost in leg.boosts.items()],
                }
            }
        ]
    }
    if filter is not None:
        clause["filter"] = [_row_filter(leg, filter)]
    return _body(leg, {"bool": clause}, size, source, total)


def knn_body(
    leg: Leg,
    vector: Sequence[float],
    *,
    k: int,
    size: int,
    filter: Mapping[str, Any] | None = None,
    source: bool | Sequence[str] = False,
    total: bool = False,
) -> dict[str, Any]:
    """The search body of one dense leg: the `k` rows (1 to 10,000) nearest to `vector`, of them `size` documents.

    `k` counts rows, so a view with several rows a document needs more of them than documents. The filter stands inside
    the clause: around it, it would only trim the nearest rows of the whole index.
    """
    assert leg.dense is not None
    clause: dict[str, Any] = {"vector": list(vector), "k": k}
    if filter is not None:
        clause["filter"] = _row_filter(leg, filter)
    return _body(leg, {"knn": {leg.dense.path: clause}}, size, source, total)


def _body(leg: Leg, query: dict[str, Any], size: int, source: bool | Sequence[str], total: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "query": query,
        "size": size,
        "_source": source if isinstance(source, bool) else list(source),
        "sort": [{"_score": "desc"}, {DOC_ID: {"order": "asc", "missing": "_last"}}],
        "track_total_hits": total,
    }
    if leg.many_rows:
        body["collapse"] = {"field": DOC_ID}
    return body


def _row_filter(leg: Leg, filter: Mapping[str, Any]) -> Any:
    return filter if leg.primary else _by_document(filter)


def _by_document(filter: Any) -> Any:
    """`ids` name documents; outside the primary view a row's `_id` is another, so they are asked for by document id."""
    if isinstance(filter, list):
        return [_by_document(item) for item in filter]
    if not isinstance(filter, Mapping):
        return filter
    if "ids" in filter:
        return {"terms": {DOC_ID: list(filter["ids"]["values"])}}
    if "bool" in filter:
        return {"bool": {name: _by_document(part) for name, part in filter["bool"].items()}}
    return dict(filter)
