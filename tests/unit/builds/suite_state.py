"""What the state store and the resolver promise on every engine."""

import pytest

from idxopt.builds import names, physical
from idxopt.builds.garbage import references, tables_in_use
from idxopt.builds.manifest import Manifest, TablesRecord, build_id, sealed
from idxopt.builds.resolver import Resolver, marked_builds
from idxopt.builds.state import CHUNK_BYTES, Event, StateStore, StateWriter
from idxopt.engines.port import AliasAction, Engine, IndexState
from idxopt.errors import BuildError
from idxopt.hashing import text_digest
from tests.unit.builds.samples import ManualClock, body_of, fresh_name, manifest_of


class StateSuite:
    """Manifests, tables, history."""

    def test_a_manifest_comes_back_as_it_was(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        first = manifest_of(name, {"content": f"{name}--content--0"})
        second = manifest_of(
            name, {"content": f"{name}--content--1"}, created="2026-01-02T00:00:00.000Z", metrics={"nDCG@10": 0.5}
        )
        store.put_manifest(second)
        store.put_manifest(first)
        store.put_manifest(first)
        assert StateStore(engine).manifests(name) == [first, second]
        assert StateStore(engine).manifest(name, first.build) == first
        assert StateStore(engine).manifest(name, "00000000") is None
        assert name in StateStore(engine).names()
        store.delete_manifest(name, first.build)
        store.delete_manifest(name, first.build)
        assert StateStore(engine).manifests(name) == [second]

    def test_a_build_id_never_means_two_builds(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        first = manifest_of(name, {})
        store.put_manifest(first)
        with pytest.raises(BuildError, match="another build is recorded"):
            store.put_manifest(first.model_copy(update={"message": "other"}))
        assert store.manifest(name, first.build) == first

    def test_a_manifest_of_a_newer_version_is_refused(self, engine: Engine) -> None:
        name = fresh_name()
        StateWriter(engine).ensure()
        source = {"kind": "manifest", "name": name, "build": "1", "manifest": {"schema": "idxopt-build/2"}}
        engine.put_document(names.BUILDS_INDEX, f"manifest:{name}:1", source, refresh=True)
        with pytest.raises(BuildError, match="cannot be read") as caught:
            StateStore(engine).manifest(name, "1")
        assert "newer idxopt" in (caught.value.remedy or "")
        engine.delete_document(names.BUILDS_INDEX, f"manifest:{name}:1")

    def test_tables_of_any_size_are_stored_in_chunks(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("idxopt.builds.state.CHUNK_BYTES", 1000)
        assert CHUNK_BYTES > 1000
        tables = {"df": {text_digest(str(n)): n for n in range(300)}, "repeated": ["ä", "\u2028"]}
        name, digest = fresh_name(), fresh_name()
        store = StateWriter(engine)
        assert not store.has_tables(name, digest)
        store.put_tables(name, digest, tables)
        store.put_tables(f"{name}-b", digest, tables)
        assert store.has_tables(name, digest)
        assert StateStore(engine).tables(name, digest) == tables
        engine.delete_document(names.BUILDS_INDEX, f"tables:{name}:{digest}:3")
        with pytest.raises(BuildError, match="missing or damaged"):
            store.tables(name, digest)
        store.put_tables(name, digest, tables)
        store.delete_tables(name, digest)
        with pytest.raises(BuildError, match="missing or damaged") as caught:
            store.tables(name, digest)
        assert "--rebuild" in (caught.value.remedy or "")
        assert store.tables(f"{name}-b", digest) == tables

    def test_history_is_kept_in_order(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        events = [
            Event(name=name, what=what, at=f"2026-01-0{n}", who="me", details={"n": n})
            for n, what in [(2, "rollback"), (1, "apply")]
        ]
        for event in events:
            store.append(event)
        assert StateStore(engine).history(name) == events[::-1]
        assert StateStore(engine).history(fresh_name()) == []

    def test_state_indices_are_hidden_and_ours(self, engine: Engine) -> None:
        StateWriter(engine).ensure()
        StateWriter(engine).ensure()
        for index in (names.BUILDS_INDEX, names.STATE_INDEX):
            state = engine.get_index(index)
            assert state is not None
            assert names.owned(state)
            assert state.settings["index.hidden"] == "true"

    def test_references_count_builds(self, engine: Engine) -> None:
        one = manifest_of("n", {"a": "i1", "b": "i2"}, tables=TablesRecord(digest="d", documents=1, created="-"))
        two = manifest_of("n", {"a": "i1", "b": "i3"})
        assert references([one, two]) == {"i1": {one.build, two.build}, "i2": {one.build}, "i3": {two.build}}
        assert tables_in_use([one, two]) == {"d"}
        assert build_id(one) == one.build != two.build
        assert len(one.build) == 8


class ResolverSuite:
    """The live build and its marks."""

    def deployed(self, engine: Engine, name: str, hash8: str = "00000000") -> tuple[Manifest, IndexState]:
        index = f"{name}--content--{hash8}"
        state = physical.create(engine, index, body_of(index, name))
        manifest = manifest_of(name, {"content": state})
        StateWriter(engine).put_manifest(manifest)
        engine.update_aliases(
            [
                AliasAction("add", index, name, {"is_write_index": True}),
                AliasAction("add", index, names.marker_alias(name, manifest.build), {"is_hidden": True}),
            ]
        )
        return manifest, state

    def test_before_the_first_apply_nothing_is_live(self, engine: Engine) -> None:
        assert Resolver(engine, fresh_name()).live() is None

    def test_the_live_build_is_ready_to_search(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.manifest == manifest
        assert live.indices == {"content": state.name}
        assert [(leg.key, leg.index) for leg in live.legs] == [("content.lexical", state.name)]
        assert live.program.name == "x"
        assert live.damage == ()
        assert marked_builds(engine, name) == {manifest.build: {state.name}}

    def test_a_switch_is_seen_after_five_seconds_or_at_once_when_told(self, engine: Engine) -> None:
        name = fresh_name()
        first, state = self.deployed(engine, name)
        clock = ManualClock()
        resolver = Resolver(engine, name, clock=clock)
        assert resolver.live() is resolver.live()
        second = manifest_of(name, {"content": state}, message="weights")
        StateWriter(engine).put_manifest(second)
        engine.update_aliases(
            [
                AliasAction("remove", state.name, names.marker_alias(name, first.build)),
                AliasAction("add", state.name, names.marker_alias(name, second.build), {"is_hidden": True}),
            ]
        )

        def build() -> str:
            live = resolver.live()
            assert live is not None
            return live.manifest.build

        clock.time += 4.9
        assert build() == first.build
        clock.time += 0.1
        assert build() == second.build
        resolver.invalidate()
        assert build() == second.build

    def test_contradicting_marks_are_errors(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        stray = AliasAction("add", state.name, names.marker_alias(name, "ffffffff"), {"is_hidden": True})
        engine.update_aliases([stray])
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.manifest == manifest  # no such build was ever recorded
        other = sealed(manifest.model_copy(update={"message": "other"}))
        StateWriter(engine).put_manifest(other)
        second = names.marker_alias(name, other.build)
        engine.update_aliases([AliasAction("add", state.name, second, {"is_hidden": True})])
        with pytest.raises(BuildError, match="several builds are marked as live"):
            Resolver(engine, name).live()
        engine.update_aliases([AliasAction("remove", state.name, second)])
        engine.update_aliases([AliasAction("remove", state.name, names.marker_alias(name, manifest.build))])
        with pytest.raises(BuildError, match="live build ffffffff has no manifest") as caught:
            Resolver(engine, name).live()
        assert caught.value.remedy

    def test_damaged_aliases_are_told_and_searches_go_on(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        other = physical.create(engine, f"{name}--content--11111111", body_of(f"{name}--content--11111111", name))
        engine.update_aliases([AliasAction("remove", state.name, name), AliasAction("add", other.name, name)])
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.manifest == manifest
        assert live.damage == (f"the alias {name} is on {other.name}, which is not of the live build",)
        engine.update_aliases([AliasAction("remove", other.name, name)])
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.damage == (f"the alias {name} is missing",)
