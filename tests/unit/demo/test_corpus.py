"""The demo's corpus: deterministic, its answers not written on its pages, dev apart from test."""

import pytest

from idxopt.demo.corpus import (
    MIN_WORDS,
    KnownItem,
    build_corpus,
    render_page,
    split_queries,
    take_queries,
)
from idxopt.demo.stdlib import Definition, ModuleDoc
from idxopt.errors import SourceError
from idxopt.evaluation.datasets import load_dataset_folder


def function(name, docstring, kind="function"):
    return Definition(kind, name, name, f"def {name}()", docstring)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return build_corpus(tmp_path_factory.mktemp("demo") / "corpus")


def test_a_page():
    module = ModuleDoc(
        "json",
        "Encode.\n\n# no heading\n    # code",
        (function("dump", "Write it."), Definition("class", "Decoder", "Decoder", "class Decoder", "")),
    )
    assert render_page(module) == (
        "# json\n\nEncode.\n\n\\# no heading\n    # code\n\n"
        "## dump\n\n```python\ndef dump()\n```\n\nWrite it.\n\n"
        "## Decoder\n\n```python\nclass Decoder\n```\n"
    )


def test_a_query_is_a_unique_first_line_of_some_length_and_leaves_its_page():
    modules = [
        ModuleDoc(
            "m",
            "",
            (
                function("long", "Return the number of open sockets.\n\nMore text."),
                function("short", "Close it now."),
                function("shared", "Return a copy of the mapping."),
                Definition("class", "Thing", "Thing", "class Thing", "A thing with a long docstring."),
            ),
        ),
        ModuleDoc("n", "", (function("shared", "return a copy of  the mapping"),)),
    ]
    left, queries = take_queries(modules)
    assert queries == [KnownItem("m:long", "Return the number of open sockets.", "m.md")]
    page = render_page(left[0])
    assert "open sockets" not in page
    assert "More text." in page
    assert "Close it now." in page


def test_a_line_that_the_module_docstring_repeats_is_no_query():
    line = "Return the number of open sockets."
    assert take_queries([ModuleDoc("m", f"Functions:\n{line}", (function("f", line),))])[1] == []


def test_no_page_is_in_both_splits():
    queries = [KnownItem(f"{page}:{number}", "text", f"{page}.md") for page in range(60) for number in range(5)]
    dev, test = split_queries(queries)
    assert not {query.page for query in dev} & {query.page for query in test}
    assert sorted(dev + test, key=lambda query: query.id) == sorted(queries, key=lambda query: query.id)
    assert 200 <= len(test) <= 204


def test_the_files_are_a_dataset_over_the_pages(demo):
    test, dev = load_dataset_folder(demo.folder), load_dataset_folder(demo.folder, split="dev")
    pages = {path.name for path in demo.pages.iterdir()}
    assert len(pages) == demo.documents
    assert 200 <= demo.documents <= 400
    assert len(test.queries) == demo.test
    assert 250 <= demo.test <= 310
    assert len(dev.queries) == demo.dev
    assert 100 <= demo.dev <= 160
    assert test.unjudged == {query.id for query in dev.queries}
    for judged in (test, dev):
        assert all(set(graded) <= pages and list(graded.values()) == [1] for graded in judged.qrels.values())


def test_no_page_holds_its_query(demo):
    for split in ("test", "dev"):
        judged = load_dataset_folder(demo.folder, split=split)
        for query in judged.queries:
            (page,) = judged.qrels[query.id]
            assert query.text not in (demo.pages / page).read_text(encoding="utf-8").splitlines(), query
            assert len(query.text.split()) >= MIN_WORDS


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_building_again_gives_the_same_bytes_and_leaves_nothing_old(demo):
    before = files(demo.folder)
    (demo.pages / "old.md").write_text("from another Python")
    assert build_corpus(demo.folder) == demo
    assert files(demo.folder) == before


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "precious.md").write_text("mine")
    with pytest.raises(SourceError, match="was not made by the demo"):
        build_corpus(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.md"]
    with pytest.raises(SourceError, match="was not made by the demo"):
        build_corpus(tmp_path / "precious.md")


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="cannot be written"):
        build_corpus(tmp_path / "file" / "demo")
