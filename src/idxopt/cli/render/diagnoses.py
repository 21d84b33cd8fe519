"""Why queries fail, as tables and lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from idxopt.cli.units import counted, shortened

_MEANINGS = {
    "vocabulary_gap": "relevant documents lack the query's words",
    "missing_identifier_form": "they have its words only joined, split or within identifiers",
    "diluted_by_length": "shorter documents with as many of its words stand above",
    "split_answer": "its words are far apart, or in several documents",
    "wrong_field_wins": "what stands above matches in another field",
    "boilerplate_match": "what stands above matches in lines that many documents repeat",
    "unjudged_above": "nobody judged most of what stands above",
    "other": "no rule holds",
}


def kinds_table(diagnosis: Mapping[str, Any]) -> Table:
    """Failing queries by kind."""
    table = Table(
        title=f"{diagnosis['failed']} of {counted(diagnosis['n'], 'dev query', 'dev queries')} fail"
        " (one may be of several kinds)",
        title_justify="left",
    )
    table.add_column("kind of failure")
    table.add_column("queries", justify="right")
    table.add_column("what it means", overflow="fold")
    for kind, count in sorted(diagnosis["kinds"].items(), key=lambda pair: (-pair[1], pair[0])):
        table.add_row(kind, str(count), _MEANINGS.get(kind, ""))
    return table


def query_kinds_table(diagnosis: Mapping[str, Any]) -> Table:
    """Mean nDCG@10 by kind of query."""
    table = Table()
    table.add_column("kind of query")
    table.add_column("n", justify="right")
    table.add_column("nDCG@10", justify="right")
    for kind, found in diagnosis["by_query_kind"].items():
        table.add_row(kind, str(found["n"]), f"{found['ndcg_10']:.3f}")
    return table


def failing_lines(diagnosis: Mapping[str, Any], most: int) -> Iterator[str]:
    """The worst queries, each with its relevant documents and what stands above them."""
    for query in diagnosis["failing"][:most]:
        yield ""
        text, kinds = shortened(" ".join(query["text"].split()), 100), ", ".join(query["kinds"])
        yield f"{query['query_id']}: {text} (nDCG@10 {query['value']:.3f}: {kinds})"
        for document in query["relevant"]:
            yield f"  relevant {_document(document)}"
        for document in query["above"]:
            yield f"  above    {_document(document)}"


def _document(document: Mapping[str, Any]) -> str:
    rank = "not found" if document["rank"] is None else f"rank {document['rank']}"
    grade = "unjudged" if document["grade"] is None else f"grade {document['grade']}"
    matched = "; ".join(f"{name}: {' '.join(words)}" for name, words in document["matched"].items() if words)
    missing = f"; missing: {' '.join(document['missing'])}" if document["missing"] else ""
    return f"{document['doc_id']} ({rank}, {grade}, {document['words']} words) {matched or 'no match'}{missing}"
