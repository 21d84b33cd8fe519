"""The demo's corpus and queries: the standard library's docstrings, and known-item search in them.

A page a module; a heading a class, function or method. A query is the first line of a docstring, taken out of its
page; the page is the one relevant document. Queries are split into dev and test by a seeded hash of their id: figures
are reported on test, and no program is chosen by looking at it.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from idxopt.demo.stdlib import Definition, ModuleDoc, read_modules
from idxopt.errors import SourceError

SEED = "idxopt demo 1"
TEST_QUERIES = 300
DEV_QUERIES = 150
MIN_WORDS = 5
MAX_QUERIES_A_PAGE = 5
"""So that no large module decides the figures."""

_MARKER = "demo.json"
_BLOCK_START = re.compile(r"^( {0,3})(#|```|~~~)")
_HEADINGS = {"class": "##", "function": "##", "method": "###"}


@dataclass(frozen=True)
class DemoData:
    """Where the demo's files are, and how many: `pages` holds one Markdown file a document.

    `folder` itself is a BEIR-style folder of judged queries (`queries.jsonl`, `qrels/dev.tsv`, `qrels/test.tsv`);
    document ids are the file names in `pages`.
    """

    folder: Path
    pages: Path
    queries: Path
    dev_qrels: Path
    test_qrels: Path
    documents: int
    dev: int
    test: int


@dataclass(frozen=True)
class KnownItem:
    """A query and the page that its line was taken from."""

    id: str
    text: str
    page: str


def build_corpus(folder: Path, *, library: Path | None = None) -> DemoData:
    """Write the corpus and its queries into `folder`; a folder that this function wrote before is replaced.

    The same Python gives the same files, byte for byte. Raises SourceError where the folder holds anything else, or
    no source can be read.
    """
    with _writing(folder):
        _refuse_foreign(folder)
    modules, queries = take_queries(list(read_modules(library)))
    dev, test = split_queries(queries)
    pages = {page_id(module): render_page(module) for module in modules}
    data = DemoData(
        folder=folder,
        pages=folder / "pages",
        queries=folder / "queries.jsonl",
        dev_qrels=folder / "qrels" / "dev.tsv",
        test_qrels=folder / "qrels" / "test.tsv",
        documents=len(pages),
        dev=len(dev),
        test=len(test),
    )
    with _writing(folder):
        _clear(folder)
        _write(data, pages, dev, test)
    return data


def page_id(module: ModuleDoc) -> str:
    """The document id: the page's file name."""
    return f"{module.name}.md"


def render_page(module: ModuleDoc) -> str:
    """The module as Markdown; docstring lines that would read as headings or fences are escaped."""
    blocks = [f"# {module.name}", _body(module.docstring)]
    for item in module.definitions:
        blocks += [f"{_HEADINGS[item.kind]} {item.name}", f"```python\n{item.signature}\n```", _body(item.docstring)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _body(docstring: str) -> str:
    return "\n".join(_BLOCK_START.sub(r"\1\\\2", line) for line in docstring.strip().splitlines())


def take_queries(modules: Sequence[ModuleDoc]) -> tuple[list[ModuleDoc], list[KnownItem]]:
    """Choose the known-item queries and remove their lines from their pages.

    A line qualifies with at least MIN_WORDS words if no other docstring of the library has it. Which of them are taken
    is decided by a seeded hash of the name, so that a new function in the library moves few others.
    """
    lines = Counter(
        _normal(line)
        for module in modules
        for docstring in (module.docstring, *(item.docstring for item in module.definitions))
        for line in docstring.splitlines()
    )
    candidates = [query for module in modules for query in _page_queries(module, lines)]
    chosen = sorted(candidates, key=lambda query: _hash(query.id))[: TEST_QUERIES + DEV_QUERIES]
    chosen.sort(key=lambda query: query.id)
    taken = {query.id for query in chosen}
    return [_without_lines(module, taken) for module in modules], chosen


def split_queries(queries: Sequence[KnownItem]) -> tuple[list[KnownItem], list[KnownItem]]:
    """(dev, test): pages in the order of a seeded hash fill test first, so that no page has queries in both."""
    dev: list[KnownItem] = []
    test: list[KnownItem] = []
    wanted = len(queries) * TEST_QUERIES // (TEST_QUERIES + DEV_QUERIES)
    by_page = sorted(queries, key=lambda query: (_hash(query.page), query.id))
    for _, group in itertools.groupby(by_page, key=lambda query: query.page):
        (test if len(test) < wanted else dev).extend(group)
    return sorted(dev, key=lambda query: query.id), sorted(test, key=lambda query: query.id)


def _page_queries(module: ModuleDoc, lines: Counter[str]) -> list[KnownItem]:
    names = Counter(item.qualified_name for item in module.definitions)
    queries = [
        KnownItem(_query_id(module, item), _first_line(item.docstring), page_id(module))
        for item in module.definitions
        if names[item.qualified_name] == 1 and _qualifies(item, lines)
    ]
    return sorted(queries, key=lambda query: _hash(query.id))[:MAX_QUERIES_A_PAGE]


def _qualifies(item: Definition, lines: Counter[str]) -> bool:
    if item.kind == "class" or not item.docstring.strip():
        return False
    line = _first_line(item.docstring)
    words = sum(any(character.isalpha() for character in word) for word in line.split())
    return words >= MIN_WORDS and line.isprintable() and lines[_normal(line)] == 1


def _first_line(docstring: str) -> str:
    return docstring.strip().splitlines()[0].strip()


def _normal(line: str) -> str:
    return " ".join(line.lower().split()).rstrip(".")


def _without_lines(module: ModuleDoc, taken: set[str]) -> ModuleDoc:
    definitions = tuple(
        replace(item, docstring="\n".join(item.docstring.strip().splitlines()[1:]))
        if _query_id(module, item) in taken
        else item
        for item in module.definitions
    )
    return replace(module, definitions=definitions)


def _query_id(module: ModuleDoc, item: Definition) -> str:
    return f"{module.name}:{item.qualified_name}"


def _hash(text: str) -> str:
    return hashlib.sha256(f"{SEED}\n{text}".encode()).hexdigest()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SourceError(
            f"the demo's files cannot be written ({error.strerror or error})",
            remedy="choose a folder that you may write to",
            place=str(folder),
        ) from error


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARKER).is_file())):
        raise SourceError(
            "exists and was not made by the demo", remedy="choose another folder, or an empty one", place=str(folder)
        )


def _clear(folder: Path) -> None:
    for name in ("pages", "qrels"):
        shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def _write(data: DemoData, pages: dict[str, str], dev: Sequence[KnownItem], test: Sequence[KnownItem]) -> None:
    marker = {
        "made_by": "idxopt demo",
        "python": ".".join(map(str, sys.version_info[:3])),
        "documents": data.documents,
        "dev": data.dev,
        "test": data.test,
    }
    (data.folder / _MARKER).write_bytes(orjson.dumps(marker, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    data.pages.mkdir()
    for name, text in pages.items():
        (data.pages / name).write_text(text, encoding="utf-8", errors="replace", newline="\n")
    queries = sorted((*dev, *test), key=lambda query: query.id)
    data.queries.write_bytes(
        b"".join(
            orjson.dumps({"_id": query.id, "text": query.text}, option=orjson.OPT_APPEND_NEWLINE) for query in queries
        )
    )
    data.test_qrels.parent.mkdir()
    for path, split in ((data.dev_qrels, dev), (data.test_qrels, test)):
        path.write_text(_qrels(split), encoding="utf-8", newline="\n")


def _qrels(queries: Iterable[KnownItem]) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{query.id}\t{query.page}\t1\n" for query in queries)
