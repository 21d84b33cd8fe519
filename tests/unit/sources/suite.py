"""An index as a source, on every engine that gives a fixture `engine`."""

from pathlib import Path
from typing import Any

import pytest

from idxopt.engines.port import AliasAction, Engine, LoadRow
from idxopt.errors import SourceError
from idxopt.sources import open_source, take_snapshot
from tests.unit.builds.samples import BODY, fresh_name
from tests.unit.sources.test_files import program


class IndexSourceSuite:
    """Reads exactly what is there, and writes nothing."""

    def filled(self, engine: Engine, count: int, prefix: str = "d") -> str:
        name = fresh_name()
        state = engine.create_index(name, BODY)
        langs = ("en", "de")
        loaded = [
            LoadRow(f"{prefix}{n}", {"title": f"t{n}", "text": "x", "lang": langs[n % 2], "idxopt": {"doc_id": "-"}})
            for n in range(count)
        ]
        assert engine.load(name, state.uuid, loaded).created == count
        engine.refresh(name)
        return name

    def test_an_index_is_read_whole_without_what_we_derived(self, engine: Engine) -> None:
        index = self.filled(engine, 120)
        source = open_source(f"index:{index}", program(), engine=engine)
        documents = {document.id: document.source for document in source.documents()}
        assert documents.keys() == {f"d{n}" for n in range(120)}
        assert documents["d1"] == {"title": "t1", "text": "x", "lang": "de"}
        assert (source.kind, source.place) == ("index", f"index:{index}")
        assert source.estimate().documents == 120
        assert len(source.sample(7)) == 7

    def test_an_alias_stands_for_its_indices(self, engine: Engine) -> None:
        first, second = self.filled(engine, 6), self.filled(engine, 4, prefix="e")
        alias = fresh_name()
        engine.update_aliases([AliasAction("add", first, alias), AliasAction("add", second, alias)])
        source = open_source(f"index:{alias}", program(), engine=engine)
        found = sorted(document.id for document in source.documents())
        assert found == ["d0", "d1", "d2", "d3", "d4", "d5", "e0", "e1", "e2", "e3"]
        assert source.estimate().documents == 10
        assert source.marks()["indices"].keys() == {first, second}

    def test_marks_move_with_writes(self, engine: Engine) -> None:
        index = self.filled(engine, 3)
        source = open_source(f"index:{index}", program(), engine=engine)
        before = source.marks()
        assert source.marks() == before
        engine.put_document(index, "d1", {"title": "new"}, refresh=True)
        assert source.marks() != before

    def test_a_snapshot_stays_what_it_was_while_the_index_changes(self, engine: Engine, tmp_path: Path) -> None:
        index = self.filled(engine, 30)
        snapshot = take_snapshot(open_source(f"index:{index}", program(), engine=engine), tmp_path)
        before = list(snapshot.documents())
        engine.put_document(index, "d1", {"title": "new", "text": "x"}, refresh=True)
        engine.delete_document(index, "d2")
        assert list(snapshot.documents()) == before
        assert snapshot.count == len(before) == 30
        assert snapshot.spool is not None
        snapshot.discard()
        assert not snapshot.spool.exists()

    def test_one_id_in_two_indices_is_named(self, engine: Engine, tmp_path: Path) -> None:
        first, second = sorted([self.filled(engine, 2), self.filled(engine, 1)])
        alias = fresh_name()
        engine.update_aliases([AliasAction("add", first, alias), AliasAction("add", second, alias)])
        with pytest.raises(SourceError, match="the id 'd0' occurs 2 times") as caught:
            take_snapshot(open_source(f"index:{alias}", program(), engine=engine), tmp_path)
        assert caught.value.place == f"{second}/d0"
        assert f"{first}/d0" in caught.value.message
        assert not list(tmp_path.glob("*.gz"))

    def test_the_id_may_come_from_a_field(self, engine: Engine) -> None:
        index = self.filled(engine, 2)
        source = open_source(f"index:{index}", program(id="title"), engine=engine)
        assert sorted(document.id for document in source.documents()) == ["t0", "t1"]

    @pytest.mark.parametrize("name", ["nothing-here", "a*", "a,b", ""])
    def test_names_that_are_no_index(self, engine: Engine, name: str) -> None:
        with pytest.raises(SourceError) as caught:
            open_source(f"index:{name}", program(), engine=engine)
        assert caught.value.remedy

    def test_an_empty_index_is_no_source(self, engine: Engine, tmp_path: Path) -> None:
        index = self.filled(engine, 0)
        source: Any = open_source(f"index:{index}", program(), engine=engine)
        with pytest.raises(SourceError, match="holds no documents"):
            take_snapshot(source, tmp_path)
