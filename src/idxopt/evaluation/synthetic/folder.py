"""Writing a folder of synthetic judgments: a BEIR data set, its mark, and documents that were changed.

- `queries.jsonl`, `qrels/test.tsv`: as `evaluation.datasets` reads them; `metadata` of a query says how it was made
- `synthetic.json`: the mark, written first, so that no folder of ours is ever without it
- `corpus.jsonl`: every document, those of known-item queries without the text that became the query; same ids, same
  keys. The judgments are good for these documents only
- `removed.jsonl`: what was removed, for those who change the documents themselves (code points of the field's text)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from idxopt import __version__
from idxopt.errors import SourceError
from idxopt.evaluation.synthetic.known_items import Cut, texts_of, without
from idxopt.evaluation.synthetic.mark import FILE_NAME, SCHEMA
from idxopt.hashing import digest
from idxopt.operators.row import Document
from idxopt.program.schema import Source

QUERIES, QRELS, CORPUS, REMOVED = "queries.jsonl", "qrels/test.tsv", "corpus.jsonl", "removed.jsonl"


@dataclass(frozen=True, slots=True)
class Made:
    """One synthetic query with its grades. `how`: title, heading, sentence, question, clicks."""

    text: str
    how: str
    grades: Mapping[str, int]

    @property
    def id(self) -> str:
        """The same for the same query and judged documents of its making."""
        return f"s{digest([self.text, self.how, sorted(self.grades)])[:12]}"


@dataclass(frozen=True)
class Making:
    """A whole set of judgments. `mark`: what reports say of it; `facts`: how it was made (seed, settings, counts)."""

    mark: str
    made: tuple[Made, ...]
    facts: Mapping[str, Any]
    cuts: Mapping[str, tuple[Cut, ...]] = field(default_factory=dict)


def is_free(folder: Path) -> bool:
    """Whether the folder is not there, is empty, or holds nothing but what an earlier run wrote."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        return False
    ours = {FILE_NAME, QUERIES, "qrels", CORPUS, REMOVED}
    names = {path.name for path in folder.iterdir()}
    return not names or (FILE_NAME in names and names <= ours)


def write_folder(folder: Path, making: Making, documents: Mapping[str, Document], source: Source) -> None:
    """Writes all files; those of an earlier run that this one does not write are removed. Raises SourceError."""
    try:
        (folder / QRELS).parent.mkdir(parents=True, exist_ok=True)
        for stale in (CORPUS, REMOVED):
            (folder / stale).unlink(missing_ok=True)
        (folder / FILE_NAME).write_bytes(orjson.dumps(_facts(making), option=orjson.OPT_INDENT_2) + b"\n")
        _lines(
            folder / QUERIES, ({"_id": one.id, "text": one.text, "metadata": {"made": one.how}} for one in making.made)
        )
        with (folder / QRELS).open("w", encoding="utf-8", newline="") as file:
            file.write("query-id\tcorpus-id\tscore\n")
            for one in making.made:
                file.writelines(f"{one.id}\t{id_}\t{grade}\n" for id_, grade in sorted(one.grades.items()))
        if making.cuts:
            _lines(folder / REMOVED, _removed(making, documents, source))
            changed = (
                without(document, source, making.cuts[id_]) if id_ in making.cuts else document
                for id_, document in sorted(documents.items())
            )
            _lines(folder / CORPUS, ({**document.source, "_id": document.id} for document in changed))
    except OSError as error:
        raise SourceError(
            f"cannot be written ({error.strerror or error})", remedy="choose another --out", place=str(folder)
        ) from error


def _facts(making: Making) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "mark": making.mark,
        "idxopt": __version__,
        "queries": len(making.made),
        "changed_documents": len(making.cuts),
        "documents": CORPUS if making.cuts else "unchanged",
        **making.facts,
    }


def _removed(making: Making, documents: Mapping[str, Document], source: Source) -> Iterable[dict[str, Any]]:
    for id_, places in sorted(making.cuts.items()):
        texts = texts_of(documents[id_], source)
        for cut in sorted(places, key=lambda cut: (cut.field, cut.start)):
            yield {
                "document": id_,
                "field": source.fields[cut.field],
                "start": cut.start,
                "end": cut.end,
                "text": texts[cut.field][cut.start : cut.end],
            }


def _lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)
