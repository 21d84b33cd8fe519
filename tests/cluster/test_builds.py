"""Builds on real nodes: the same promises, and what only a cluster can do wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.builds import names, physical
from idxopt.builds.journal import Journal
from idxopt.builds.lock import LockSettings
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import AliasAction
from idxopt.errors import BuildError
from idxopt.sources import open_source
from tests.unit.builds.samples import body_of, fresh_name, rows
from tests.unit.builds.suite_lock import LockSuite
from tests.unit.builds.suite_physical import PhysicalSuite
from tests.unit.builds.suite_state import ResolverSuite, StateSuite
from tests.unit.sources.suite import IndexSourceSuite
from tests.unit.sources.test_files import program


@pytest.fixture(scope="module", params=["opensearch_url", "opensearch3_url"])
def engine(request: pytest.FixtureRequest) -> Iterator[OpenSearchEngine]:
    engine = OpenSearchEngine.connect(request.getfixturevalue(request.param))
    yield engine
    for state in engine.list_indices("t*--content--*"):
        engine.delete_index(state.name, state.uuid)
    engine.close()


class TestState(StateSuite):
    pass


class TestLock(LockSuite):
    fast = LockSettings(heartbeat_s=0.3, ttl_s=5.0)


class TestPhysical(PhysicalSuite):
    def test_a_template_that_leaks_in_is_found_before_any_row_is_loaded(self, engine: OpenSearchEngine) -> None:
        name = fresh_name()
        index = f"{name}--content--00000000"
        template = {
            "index_patterns": [f"{name}--*"],
            "priority": 9,
            "template": {
                "settings": {"index": {"codec": "best_compression"}},
                "mappings": {"properties": {"extra": {"type": "keyword"}}},
                "aliases": {f"{name}-theirs": {}},
            },
        }
        engine.put_template(name, template)
        try:
            with pytest.raises(BuildError) as caught:
                physical.create(engine, index, body_of(index, name))
        finally:
            engine.delete_template(name)
        for part in ("settings.index.codec", "mappings.properties.extra.type", f"aliases.{name}-theirs"):
            assert part in caught.value.message
        assert engine.get_index(index) is None

    def test_documents_deleted_on_a_fresh_index_are_told(self, engine: OpenSearchEngine, tmp_path: Path) -> None:
        state = self.made(engine)
        with Journal(tmp_path / "a.sqlite") as journal:
            physical.load(engine, state, rows(5), journal, self.about(state))
            engine.put_document(state.name, "doc-1", next(rows(1, start=1)).body)
            engine.refresh(state.name)
            problems = physical.verify(engine, state.name, journal)
        assert problems == [f"{state.name} counts 1 deleted documents, which shift BM25; a fresh index has none"]


class TestResolver(ResolverSuite):
    def test_wildcards_do_not_meet_what_is_hidden(self, engine: OpenSearchEngine) -> None:
        manifest, state = self.deployed(engine, fresh_name())
        marker = engine.aliases(names.marker_alias(manifest.name, manifest.build))
        assert marker[names.marker_alias(manifest.name, manifest.build)][state.name]["is_hidden"] is True


class TestIndexSource(IndexSourceSuite):
    def test_the_filter_of_an_alias_holds(self, engine: OpenSearchEngine) -> None:
        index, alias = self.filled(engine, 6), fresh_name()
        engine.update_aliases([AliasAction("add", index, alias, {"filter": {"term": {"lang": "en"}}})])
        source = open_source(f"index:{alias}", program(), engine=engine)
        assert sorted(document.id for document in source.documents()) == ["d0", "d2", "d4"]
        assert not source.estimate().exact
