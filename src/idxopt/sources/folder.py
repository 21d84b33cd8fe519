"""A folder of text files: one document a file, in the order of their paths."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from idxopt.errors import SourceError
from idxopt.program.schema import Source as SourceMapping
from idxopt.sources.lines import text_problem, too_long
from idxopt.sources.places import file_marks
from idxopt.sources.rejects import Reject, reading
from idxopt.sources.source import Estimate, Kind, Options, Record
from idxopt.text.structure import Markup, plain_text, structure

MARKUPS: dict[str, Markup] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".rst": "rest",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".txt": "text",
    ".text": "text",
}
"""File name endings that are read, and their markup; other files are left alone, hidden ones and links to folders
too.
"""


class FolderReader:
    """Documents `{"title", "text", "path"}`; the id is the path below the folder, with `/`.

    `title` is the first heading, or the file's name. A file in another markup than the program's `source.markup` is
    turned into plain text, so that its tags are not indexed as words.
    """

    kind: Kind = "folder"

    def __init__(self, path: Path, place: str, mapping: SourceMapping, options: Options) -> None:
        self.place = place
        self._root = path
        self._markup = mapping.markup
        self._max_bytes = options.max_document_bytes
        if next(self._files(), None) is None:
            raise SourceError(
                f"holds no files to index ({', '.join(MARKUPS)}) and no corpus.jsonl",
                remedy="name a folder with such files, or the data file itself",
                place=place,
            )

    def records(self) -> Iterator[Record | Reject]:
        for name, path in self._files():
            yield self._read(name, path)

    def marks(self) -> dict[str, Any]:
        return file_marks(self._files())

    def estimate(self) -> Estimate:
        """Exact but for files that will be refused: counting them reads no content."""
        count = size = 0
        for _, path in self._files():
            count += 1
            with reading(path):
                size += path.stat().st_size
        return Estimate(count, size, exact=True)

    def _files(self) -> Iterator[tuple[str, Path]]:
        return _walk(self._root, "")

    def _read(self, name: str, path: Path) -> Record | Reject:
        with reading(path):
            if path.stat().st_size > self._max_bytes:
                return too_long(str(path), self._max_bytes)
            raw = path.read_bytes()
        problem = text_problem(str(path), raw, 0)
        if problem is not None:
            return problem
        text = raw.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        markup = MARKUPS[path.suffix.lower()]
        title = first_heading(text, markup) or path.stem
        if markup not in (self._markup, "text"):
            text = plain_text(text, markup)
        return Record(str(path), {"title": title, "text": text, "path": name}, id=name)


def first_heading(text: str, markup: Markup) -> str | None:
    """The first heading that is not empty."""
    return next((heading.text for heading in structure(text, markup).headings if heading.text.strip()), None)


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    with reading(folder), os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, f"{prefix}{entry.name}/")
        elif entry.is_file() and Path(entry.name).suffix.lower() in MARKUPS:
            yield f"{prefix}{entry.name}", folder / entry.name
