"""Builds on the embedded engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.builds import names
from idxopt.builds.lock import Lock, LockSettings
from idxopt.builds.state import StateStore, StateWriter
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.errors import BuildError
from tests.unit.builds.samples import BODY
from tests.unit.builds.suite_lock import LockSuite
from tests.unit.builds.suite_physical import PhysicalSuite
from tests.unit.builds.suite_state import ResolverSuite, StateSuite


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path / "engine")
    yield engine
    engine.close()


class TestState(StateSuite):
    def test_before_the_first_write_everything_is_empty_and_nothing_is_made(self, engine: EmbeddedEngine) -> None:
        store = StateStore(engine)
        assert (store.manifests("x"), store.names(), store.history("x"), store.manifest("x", "1")) == ([], [], [], None)
        assert not store.has_tables("handbook", "d")
        assert engine.list_indices("*") == []

    def test_a_foreign_state_index_is_left_alone(self, engine: EmbeddedEngine) -> None:
        theirs = engine.create_index(names.STATE_INDEX, BODY)
        with pytest.raises(BuildError, match="did not make"):
            StateWriter(engine).ensure()
        with pytest.raises(BuildError, match="did not make"):
            Lock(engine, "x", "apply").acquire()
        assert engine.get_index(names.STATE_INDEX) == theirs


class TestLock(LockSuite):
    def test_two_engines_on_one_folder_see_the_same_lock(self, engine: EmbeddedEngine, tmp_path: Path) -> None:
        other = EmbeddedEngine(tmp_path / "engine")
        with Lock(engine, "x", "apply", settings=LockSettings(0.1, 5.0)) as held:
            assert held.alias in other.aliases(held.alias)
        other.close()


class TestPhysical(PhysicalSuite):
    pass


class TestResolver(ResolverSuite):
    pass
