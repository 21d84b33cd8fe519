"""From what the user named to a source."""

from __future__ import annotations

from pathlib import Path

from idxopt.engines.port import Reader
from idxopt.errors import SourceError
from idxopt.program.schema import Program
from idxopt.sources.files import FileReader
from idxopt.sources.indices import IndexReader
from idxopt.sources.rejects import reading
from idxopt.sources.source import Options, Source

INDEX_PREFIX = "index:"
BEIR_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")


def open_source(
    place: str, program: Program, *, engine: Reader | None = None, options: Options | None = None
) -> Source:
    """The documents at a place, read as `program.source` says.

    `place` is a file (JSON Lines, JSON array, CSV, TSV, Parquet; gzip by content), a folder of text files, a BEIR
    folder, or `index:NAME` (an index or alias of `engine`). Raises SourceError for a place that is not there or that no
    reader knows.
    """
    settings = options or Options()
    mapping = program.source
    if place.startswith(INDEX_PREFIX):
        name = place.removeprefix(INDEX_PREFIX)
        if engine is None or not name:
            raise SourceError(
                "names no index of a cluster",
                remedy="write index:NAME and choose a cluster with --cluster",
                place=place,
            )
        return Source(IndexReader(name, place, engine), mapping)
    path = Path(place)
    with reading(path, place):
        path.stat()
    if path.is_dir():
        for corpus in BEIR_CORPUS:
            if (path / corpus).is_file():
                return Source(FileReader(path / corpus, place, mapping, settings, kind="beir"), mapping)
        from idxopt.sources.folder import FolderReader  # its parsers are slow to import, and few commands need them

        return Source(FolderReader(path, place, mapping, settings), mapping)
    if not path.is_file():
        raise SourceError("is neither a file nor a folder", remedy="name a file, a folder, or index:NAME", place=place)
    return Source(FileReader(path, place, mapping, settings), mapping)
