"""What one physical index promises on every engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.builds import names, physical
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.engines.port import Engine, IndexState
from idxopt.errors import BuildError
from idxopt.operators.row import StoredRow
from tests.unit.builds.samples import BODY, body_of, fresh_name, rows


class PhysicalSuite:
    """One index: created as compiled, loaded, proved."""

    def made(self, engine: Engine) -> IndexState:
        name = fresh_name()
        index = f"{name}--content--00000000"
        return physical.create(engine, index, body_of(index, name))

    def about(self, state: IndexState, snapshot: str = "s1") -> LoadedFrom:
        return LoadedFrom(state.name, state.uuid, snapshot)

    def test_what_was_loaded_is_proved(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        seen: list[int] = []
        with Journal(tmp_path / "j" / "a.sqlite") as journal:
            report = physical.load(engine, state, rows(3_000), journal, self.about(state), on_progress=seen.append)
            assert (report.created, report.existed, report.failed) == (3_000, 0, ())
            assert journal.complete
            assert physical.verify(engine, state.name, journal) == []
        with Journal(tmp_path / "j" / "a.sqlite") as again:
            assert again.complete
            assert physical.can_resume(again, self.about(state))
            assert not physical.can_resume(again, self.about(state, "s2"))
            assert physical.verify(engine, state.name, again) == []
        assert names.owned(state)
        engine.delete_index(state.name, state.uuid)

    def test_a_name_is_never_taken_from_somebody(self, engine: Engine) -> None:
        state = self.made(engine)
        with pytest.raises(BuildError, match="exists already"):
            physical.create(engine, state.name, body_of(state.name, "x"))
        foreign = f"{fresh_name()}--content--0"
        theirs = engine.create_index(foreign, BODY)
        with pytest.raises(BuildError, match="did not make"):
            physical.create(engine, foreign, body_of(foreign, "x"))
        assert engine.get_index(foreign) == theirs
        for one in (state, theirs):
            engine.delete_index(one.name, one.uuid)

    def test_an_interrupted_load_is_finished_by_sending_again(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)

        def interrupted() -> Iterator[StoredRow]:
            yield from rows(1_500)
            raise KeyboardInterrupt

        with Journal(tmp_path / "a.sqlite") as journal, pytest.raises(KeyboardInterrupt):
            physical.load(engine, state, interrupted(), journal, self.about(state))
        with Journal(tmp_path / "a.sqlite") as journal:
            assert not journal.complete
            assert physical.can_resume(journal, self.about(state))
            with pytest.raises(BuildError, match="did not finish"):
                physical.verify(engine, state.name, journal)
            report = physical.load(engine, state, rows(2_000), journal, self.about(state))
            assert report.failed == ()
            assert report.created + report.existed == 2_000
            assert physical.verify(engine, state.name, journal) == []
        engine.delete_index(state.name, state.uuid)

    def test_whatever_differs_is_named(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        with Journal(tmp_path / "a.sqlite") as journal:
            physical.load(engine, state, rows(20), journal, self.about(state))
            assert physical.verify(engine, state.name, journal) == []
            engine.delete_document(state.name, "doc-3")
            (changed,) = rows(1, start=7)
            engine.put_document(state.name, "doc-7", {**changed.body, "title": "other"})
            engine.put_document(state.name, "intruder", {"idxopt": {"doc_id": "intruder"}})
            text = "\n".join(physical.verify(engine, state.name, journal))
        assert "lacks 1 of 20 rows: doc-3" in text
        assert "1 rows that were not computed: intruder" in text
        assert "1 rows with other contents: doc-7" in text
        engine.delete_index(state.name, state.uuid)

    def test_a_row_lost_and_another_row_twice_are_not_equal(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        with Journal(tmp_path / "a.sqlite") as journal:
            physical.load(engine, state, [*rows(5), *rows(1)], journal, self.about(state))
            problems = physical.verify(engine, state.name, journal)
        assert "row ids were computed more than once: doc-0" in "\n".join(problems)
        engine.delete_index(state.name, state.uuid)

    def test_a_row_that_the_engine_refuses_leaves_the_load_incomplete(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        bad = StoredRow("bad", "bad", {"year": "not a year", "idxopt": {"doc_id": "bad"}})
        with Journal(tmp_path / "a.sqlite") as journal:
            report = physical.load(engine, state, [*rows(3), bad], journal, self.about(state))
            assert [failure.id for failure in report.failed] == ["bad"]
            assert report.created == 3
            assert not journal.complete
            assert "lacks 1 of 4 rows: bad" in "\n".join(physical.verify(engine, state.name, journal))
        engine.delete_index(state.name, state.uuid)
