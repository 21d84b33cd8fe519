"""Which documents synthetic judgments are good for: those of known items only for the `corpus.jsonl` beside them."""

from __future__ import annotations

import filecmp
from dataclasses import dataclass
from pathlib import Path

import orjson

from idxopt.evaluation.synthetic.folder import CORPUS
from idxopt.evaluation.synthetic.mark import FILE_NAME, mark_in


@dataclass(frozen=True, slots=True)
class Changed:
    """A folder whose documents lack the texts that became queries. `source`: where the documents were read from, as it
    was given to `idxopt queries make`.
    """

    folder: Path
    source: str

    @property
    def corpus(self) -> Path:
        return self.folder / CORPUS

    def holds(self, place: str) -> bool:
        """Whether documents read from `place` are those of this folder: the same file, or a copy of it."""
        given = Path(place)
        file = given / CORPUS if given.is_dir() else given
        if not (file.is_file() and self.corpus.is_file()):
            return False
        return file.samefile(self.corpus) or filecmp.cmp(file, self.corpus, shallow=False)


def changed_documents(place: str | Path) -> Changed | None:
    """The folder of known items that `place` is or lies in (a folder, its `corpus.jsonl`, its queries, its qrels).

    None for judgments of people, and for synthetic ones that left the documents as they were. Raises SourceError for
    a mark that cannot be read.
    """
    path = Path(place)
    for folder in (path, path.parent, path.parent.parent if path.parent.name == "qrels" else path.parent):
        if folder.is_dir() and mark_in(folder) is not None:
            facts = orjson.loads((folder / FILE_NAME).read_bytes())
            return Changed(folder, str(facts.get("source", ""))) if facts.get("documents") == CORPUS else None
        if folder == path and path.is_dir():
            return None  # what lies beside a folder says nothing of it
    return None
