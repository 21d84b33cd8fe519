"""The one query path on a live build: pages, filters, long queries, explain, builds that go away (contract 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.builds.resolver import Resolver, live_build
from idxopt.deploy.observed import observe
from idxopt.engines.port import Engine
from idxopt.errors import BuildError, UsageError
from idxopt.search import Searcher, SearchQuery
from idxopt.search.explain import explain
from tests.deploy.harness import documents, program, put_live, write_documents


def searcher(engine: Engine, name: str) -> Searcher:
    return Searcher(engine, Resolver(engine, name, ttl=0.0))


def test_h9_pages_reach_everything_once(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    made = documents(30)
    for number, document in enumerate(made):
        document["text"] += "\nquagga\n" if number < 10 else ""
    put_live(engine, program(name), write_documents(data, made), tmp_path)
    whole = searcher(engine, name).search(SearchQuery("quagga", k=10))
    pages = [searcher(engine, name).search(SearchQuery("quagga", k=4, offset=offset)) for offset in (0, 4, 8, 12)]
    assert [len(page.hits) for page in pages] == [4, 4, 2, 0]
    assert [hit.doc_id for page in pages for hit in page.hits] == [hit.doc_id for hit in whole.hits]
    assert {page.total for page in pages} == {10}
    assert all(page.total_exact for page in pages)


def test_filters_reach_every_leg(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    german = {f"doc-{number:03d}" for number in range(0, 40, 4)}
    result = searcher(engine, name).search(SearchQuery("page part", k=40, filter={"term": {"lang": "de"}}))
    assert {hit.doc_id for hit in result.hits} == german
    assert set(result.hits[0].legs) >= {"sections.lexical", "content.lexical"}
    only = searcher(engine, name).search(SearchQuery("part", filter={"ids": {"values": ["doc-003"]}}))
    assert [hit.doc_id for hit in only.hits] == ["doc-003"]
    with pytest.raises(UsageError) as refused:
        searcher(engine, name).search(SearchQuery("part", filter={"term": {"lnag": "de"}}))
    assert "lang" in str(refused.value)


def test_query_beyond_the_clause_limit_is_cut_to_its_rarest_terms(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    made = documents(30)
    made[17]["text"] += "\nquagga okapi\n"
    put_live(engine, program(name), write_documents(data, made), tmp_path)
    noise = " ".join(f"nothing{number}" for number in range(1_500))
    result = searcher(engine, name).search(SearchQuery(f"{noise} quagga okapi", k=3))
    assert result.cut
    assert result.hits[0].doc_id == "doc-017"
    assert not searcher(engine, name).search(SearchQuery("quagga")).cut


def test_sources_and_explain(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    found = searcher(engine, name)
    result = found.search(SearchQuery("refresh interval", k=5, source=True))
    top = result.hits[0]
    assert top.source is not None
    assert top.source["lang"] in ("de", "en")
    assert "idxopt" not in top.source
    explanation = explain(engine, found.live(), "refresh interval", top.doc_id)
    assert (explanation.rank, explanation.score) == (1, top.score)
    for leg in explanation.legs:
        if leg.key in top.legs:
            assert leg.rank == top.legs[leg.key].rank
            assert leg.score == pytest.approx(top.legs[leg.key].score, rel=1e-6)
    terms = {match.term for leg in explanation.legs for matches in leg.terms.values() for match in matches}
    assert "refresh" in terms
    missing = explain(engine, found.live(), "refresh interval", "no-such-document")
    assert missing.rank is None
    assert all(leg.score is None for leg in missing.legs)


def test_a_build_that_went_away_is_resolved_again_once(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    reader = Searcher(engine, Resolver(engine, name, ttl=3600.0))
    before = reader.search(SearchQuery("shard")).build
    after = put_live(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True}, keep=0)
    assert after.collected
    answer = reader.search(SearchQuery("shard"))
    assert answer.build == after.build != before


def test_without_a_live_build(engine: Engine, name: str) -> None:
    with pytest.raises(BuildError) as refused:
        searcher(engine, name).search(SearchQuery("shard"))
    assert "idxopt apply" in str(refused.value)


def test_candidate_equals_itself_when_live(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    live = observe(engine, name).live
    assert live is not None
    direct = Searcher(engine, live_build(live, engine)).ranking("shard replica", 20)
    through = searcher(engine, name).ranking("shard replica", 20)
    assert direct == through
    assert len(direct) > 5
