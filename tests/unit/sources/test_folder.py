"""Folders of text files, and BEIR folders."""

import gzip
from pathlib import Path

import pytest

from idxopt.errors import SourceError
from idxopt.sources import Options, Rejects, open_source, take_snapshot
from tests.unit.sources.test_files import DOCUMENTS, jsonl, program, source_of

FILES = {
    "b.md": "\ufeff# Käse `x`\n\ntext\n",
    "a/z.markdown": "no heading\n",
    "a/n.html": "<html><body><h1>Head &amp; tail</h1><p>one <b>two</b></p></body></html>",
    "a/m.rst": "Title\n=====\n\nbody\n",
    "a/l.adoc": "= Book\n\nbody\n",
    "c.txt": "# no heading in plain text\n",
    ".hidden/x.md": "# hidden\n",
    ".x.md": "# hidden\n",
    "image.png": "\x00",
    "Ä ö/ü.md": "# Ü\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_a_document_a_file_in_the_order_of_their_paths(folder: Path) -> None:
    source = source_of(folder, markup="markdown")
    documents = list(source.documents())
    assert [document.id for document in documents] == [
        "a/l.adoc",
        "a/m.rst",
        "a/n.html",
        "a/z.markdown",
        "b.md",
        "c.txt",
        "Ä ö/ü.md",
    ]
    titles = {document.id: document.source["title"] for document in documents}
    assert titles == {
        "a/l.adoc": "Book",
        "a/m.rst": "Title",
        "a/n.html": "Head & tail",
        "a/z.markdown": "z",
        "b.md": "Käse x",
        "c.txt": "c",
        "Ä ö/ü.md": "Ü",
    }
    assert source.kind == "folder"
    assert source.estimate().documents == 7


def test_text_stays_as_it_is_in_the_program_s_markup_and_is_plain_in_others(folder: Path) -> None:
    markdown = {document.id: document.source for document in source_of(folder, markup="markdown").documents()}
    assert markdown["b.md"] == {"title": "Käse x", "text": "# Käse `x`\n\ntext\n", "path": "b.md"}
    assert markdown["c.txt"]["text"] == FILES["c.txt"]
    assert "<" not in markdown["a/n.html"]["text"]
    assert "one two" in markdown["a/n.html"]["text"]
    html = {document.id: document.source for document in source_of(folder, markup="html").documents()}
    assert html["a/n.html"]["text"] == FILES["a/n.html"]
    assert "#" not in html["b.md"]["text"]


def test_files_that_are_no_text_are_collected(folder: Path) -> None:
    (folder / "binary.md").write_bytes(b"\x00\x01")
    (folder / "latin.txt").write_bytes(b"gr\xfcn")
    (folder / "long.md").write_text("x" * 2_000)
    rejects = Rejects()
    documents = list(source_of(folder, Options(max_document_bytes=1_000)).documents(rejects))
    assert len(documents) == 7
    assert [(reject.place, reject.reason.split(" (")[0]) for reject in rejects.first] == [
        (str(folder / "binary.md"), "holds a NUL byte at byte 0 of the file"),
        (str(folder / "latin.txt"), "is not UTF-8"),
        (str(folder / "long.md"), "the document is larger than 1,000 bytes"),
    ]


def test_links_are_not_followed_round_in_circles(folder: Path) -> None:
    (folder / "a" / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "linked.md").symlink_to(folder / "b.md")
    (folder / "broken.md").symlink_to(folder / "nothing.md")
    ids = [document.id for document in source_of(folder).documents()]
    assert len(ids) == 8
    assert "linked.md" in ids


def test_a_file_name_that_is_no_text_is_refused_by_name(folder: Path) -> None:
    bad = bytes(folder) + b"/\xff.md"
    Path(bad.decode("utf-8", "surrogateescape")).write_text("# x\n")
    with pytest.raises(SourceError, match="no valid Unicode"):
        list(source_of(folder).documents())


def test_marks_change_with_any_file(folder: Path) -> None:
    source = source_of(folder)
    before = source.marks()
    assert before["files"]["b.md"]["size"] == (folder / "b.md").stat().st_size
    (folder / "new.md").write_text("# new\n")
    assert source.marks() != before


def test_marks_of_many_files_are_one_digest(tmp_path: Path) -> None:
    for n in range(1_001):
        (tmp_path / f"{n}.txt").write_text("x")
    source = source_of(tmp_path)
    before = source.marks()
    assert before.keys() == {"count", "bytes", "digest"}
    assert before["count"] == before["bytes"] == 1_001
    (tmp_path / "7.txt").write_text("yy")
    assert source.marks()["digest"] != before["digest"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_beir_folder_is_read_from_its_corpus(tmp_path: Path, packed: bool) -> None:
    name = "corpus.jsonl.gz" if packed else "corpus.jsonl"
    (tmp_path / name).write_bytes(gzip.compress(jsonl(DOCUMENTS)) if packed else jsonl(DOCUMENTS))
    (tmp_path / "README.md").write_text("# not a document\n")
    source = source_of(tmp_path)
    assert (source.kind, source.place) == ("beir", str(tmp_path))
    assert [document.id for document in source.documents()] == ["a", "b"]
    assert source.marks()["files"].keys() == {name}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("scifact", 5183),
        ("cranfield", 1400),
        ("awsdocs_small", 2757),
        ("medquad_pages", 5486),
        ("chroma_chunking", 1036),
    ],
)
def test_the_real_collections_are_read_whole(shared: Path, tmp_path: Path, name: str, count: int) -> None:
    source = open_source(str(shared / "datasets" / name), program())
    snapshot = take_snapshot(source, tmp_path)
    assert snapshot.rejects.count == 0
    assert snapshot.count == count
    assert sum(1 for _ in snapshot.documents()) == count
