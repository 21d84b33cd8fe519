"""Methods as programs: one set of views a method, three pipelines that share its indices."""

import pytest

from idxopt.compiler.legs import legs
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.experiments.kept import Kept
from idxopt.experiments.methods import COLUMNS, METHODS, TABLE_1, TABLE_2, variant
from idxopt.program.presets import BEIR_SOURCE, PresetOptions

TARGETS = [Target("embedded", False, False), Target("opensearch", True, True)]


@pytest.mark.parametrize("target", TARGETS, ids=["embedded", "opensearch"])
@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_pipelines_differ_in_legs_and_reranking_only(method, target):
    program = method.program("prime-x", BEIR_SOURCE, PresetOptions())
    made = {column: variant(program, column) for column in COLUMNS}
    hashes = {column: {n: v.view_hash for n, v in lower(one, target, {}).views.items()} for column, one in made.items()}
    assert hashes["dense"] == hashes["hybrid"] == hashes["reranked"]
    indices = dict.fromkeys(program.views, "index")
    kinds = {column: [leg.kind for leg in legs(one, indices, target)] for column, one in made.items()}
    assert set(kinds["dense"]) == {"dense"}
    assert kinds["hybrid"].count("lexical") == 1
    assert kinds["hybrid"] == kinds["reranked"]
    assert [one.rerank is None for one in made.values()] == [True, True, False]
    weights = {leg.kind: 0.0 for leg in legs(made["hybrid"], indices, target)}
    for leg in legs(made["hybrid"], indices, target):
        weights[leg.kind] += leg.weight
    assert weights == {"lexical": 1.0, "dense": 1.0}


def test_the_papers_tables_are_methods():
    names = {method.name for method in METHODS}
    assert len(TABLE_1) == 6
    assert len(TABLE_2) == 5
    assert set(TABLE_1) | set(TABLE_2) <= names
    assert all(method.paper is not None for method in METHODS if method.name in TABLE_2)


def test_finished_parts_are_made_once_and_anew_for_another_key(tmp_path):
    made: list[int] = []

    def make():
        made.append(len(made))
        return {"n": made[-1]}

    kept = Kept(tmp_path, {"sample": 1})
    assert kept.part("a/b", {"x": 1}, make) == {"n": 0}
    assert kept.part("a/b", {"x": 1}, make) == {"n": 0}
    assert kept.part("a/b", {"x": 2}, make) == {"n": 1}
    assert Kept(tmp_path, {"sample": 2}).part("a/b", {"x": 2}, make) == {"n": 2}
    (tmp_path / "a" / "b.json").write_text("{ torn")
    assert kept.part("a/b", {"x": 2}, make) == {"n": 3}
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["b.json"]
