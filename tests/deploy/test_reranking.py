"""Reranking on a live build: the best sections, of the body or of another field, in windows or whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from idxopt.engines.port import Engine
from idxopt.search import SearchQuery
from idxopt.search.explain import explain
from tests.deploy.harness import write_documents
from tests.deploy.words import BOTH, RERANK, Given, Overlap, Words, live, pages, program, searcher


def test_reranked_by_the_best_section(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, BOTH, rerank=RERANK)
    made = pages()
    live(engine, wanted, write_documents(data, made), tmp_path)
    query = "common word animal4 night"
    plain = searcher(engine, name).search(SearchQuery(query, k=12, rerank=False))
    reranker = Overlap()
    result = searcher(engine, name, reranker=reranker).search(SearchQuery(query, k=12, source=True))
    assert result.reranked
    assert not plain.reranked
    candidates = [hit.doc_id for hit in plain.hits[:5]]
    assert {hit.doc_id for hit in result.hits[:5]} == set(candidates)
    assert [hit.doc_id for hit in result.hits[5:]] == [hit.doc_id for hit in plain.hits[5:]]
    assert len(reranker.texts) == 15
    scores = [hit.reranked for hit in result.hits[:5]]
    assert None not in scores
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    assert all(hit.reranked is None and hit.sections == () for hit in result.hits[5:])
    best = next(hit for hit in result.hits if hit.doc_id == "p04")
    text = made[4]["text"]
    assert best.sections[0].path == ("Visitors",)
    for section in best.sections:
        assert section.text == text[section.start : section.end]
        assert section.field == "body"
    assert best.sections[0].text.startswith("## Visitors")
    assert best.source == {key: value for key, value in made[4].items() if key != "_id"}
    assert len(result.sections) == 3
    assert [one.score for one in result.sections] == sorted((one.score for one in result.sections), reverse=True)
    page = searcher(engine, name).search(SearchQuery(query, k=3, offset=4))
    assert [hit.doc_id for hit in page.hits] == [hit.doc_id for hit in result.hits[4:7]]
    ranking = searcher(engine, name).ranking(query, 12)
    assert [doc for doc, _ in ranking] == [hit.doc_id for hit in result.hits]
    assert all(one > other for (_, one), (_, other) in pairwise(ranking))
    explained = explain(engine, searcher(engine, name).live(), query, "p04", models=Given(Words(), Overlap()))
    assert explained.rank == [hit.doc_id for hit in result.hits].index("p04") + 1
    assert explained.fused_rank == [hit.doc_id for hit in plain.hits].index("p04") + 1
    assert explained.reranked == best.reranked
    assert [section.path for section in explained.sections] == [section.path for section in best.sections]


def test_sections_of_another_field_are_handed_over(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    made = pages(4)
    for n, one in enumerate(made):
        one["short"] = f"# Page {n}\n\nPlants.\n\n## Care\n\nWater {n}.\n\n## Visitors\n\nAnimal {n}.\n"
    made[3]["short"] = "no headings"
    wanted = program(
        name,
        BOTH,
        rerank={**RERANK, "context": "short"},
        source={"fields": {"title": "title", "body": "text", "short": "short"}, "markup": "markdown"},
    )
    live(engine, wanted, write_documents(data, made), tmp_path)
    result = searcher(engine, name).search(SearchQuery("animal2 comes", k=4))
    hit = next(hit for hit in result.hits if hit.doc_id == "p02")
    assert hit.sections[0].field == "short"
    assert hit.sections[0].path == ("Visitors",)
    assert hit.sections[0].text.split() == ["##", "Visitors", "Animal", "2."]
    kept = next(hit for hit in result.hits if hit.doc_id == "p03")
    assert kept.sections[0].field == "body"


def test_long_sections_are_windowed_and_whole_documents_too(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    made = pages(3)
    made[1]["text"] = f"## Long\n\n{'filler ' * 400} animal1 night\n"
    live(engine, program(name, BOTH, rerank=RERANK), write_documents(data, made), tmp_path)
    reranker = Overlap(max_tokens=64)
    result = searcher(engine, name, reranker=reranker).search(SearchQuery("animal1 night", k=3))
    assert max(len(text.split()) for text in reranker.texts) <= 64
    hit = next(hit for hit in result.hits if hit.doc_id == "p01")
    assert hit.sections[0].text == made[1]["text"]
    assert hit.reranked == pytest.approx(2, abs=0.01)
    whole = {**RERANK, "unit": "document"}
    live(engine, program(name, BOTH, rerank=whole), data, tmp_path)
    result = searcher(engine, name, reranker=reranker).search(SearchQuery("animal1 night", k=3))
    [section] = next(hit for hit in result.hits if hit.doc_id == "p01").sections
    assert section.path == ()
    assert section.text == made[1]["text"][section.start : section.end]
    assert "animal1" in section.text
    assert len(section.text.split()) <= 64
