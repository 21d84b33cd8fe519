"""Rows cut out of texts, without the rows: where each begins and ends in the text that it comes from.

Most candidates that slice search what they cut and nothing made from it. Their counts follow from those of the texts
(`placed.Placed`), and what all rows of a document share is counted once (`Field.repeated`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from idxopt.operators.row import Document, Row
from idxopt.operators.transform import text_in
from idxopt.operators.windows import Window
from idxopt.optimizer.scoring.chunks import Ints, chunks_of
from idxopt.optimizer.scoring.growth import Growth, attempted


@dataclass(frozen=True)
class Cut:
    """Row i is row `parents[i]` of those before, its field `name` cut from `starts[i]` to `ends[i]` (code points).

    `headers` stand before some rows (row number, text ending in white space). A row without the field is cut to nothing
    and kept. `documents[i]` is the number of the document of row `i`.
    """

    name: str
    parents: Ints
    starts: Ints
    ends: Ints
    documents: Ints
    headers: tuple[tuple[int, str], ...]

    @property
    def count(self) -> int:
        return len(self.parents)

    @property
    def times(self) -> Ints:
        """How many rows each row before has become; every one becomes at least one."""
        return np.bincount(self.parents)

    @property
    def characters(self) -> Ints:
        """Of each row."""
        found = self.ends - self.starts
        for row, header in self.headers:
            found[row] += len(header)
        return found


def cut(
    rows: Sequence[Sequence[Row]],
    documents: Sequence[Document],
    name: str,
    windows: Callable[[str], list[Window]],
    growth: Growth,
) -> Cut | None:
    """Cuts the field of all rows. None where a header runs into its row: such rows have to be made.

    Raises as the step itself: BuildError for a document that it cannot take, ProgramError for a flood.
    """
    parents, starts, ends, places = array("q"), array("q"), array("q"), array("q")
    headers: list[tuple[int, str]] = []
    parent = 0
    for place, (each, document) in enumerate(zip(rows, documents, strict=True)):
        before = len(parents)
        written = 0
        for found in attempted(document, partial(_windows, each, name, windows)):
            for window in found:
                if window.header:
                    if chunks_of(f"{window.header}.")[-1] != ".":
                        return None
                    headers.append((len(starts), window.header))
                    written += len(window.header)
                starts.append(window.start)
                ends.append(window.end)
            parents.extend([parent] * len(found))
            parent += 1
        written += sum(ends[before:]) - sum(starts[before:])
        places.extend([place] * (len(parents) - before))
        growth.add(len(parents) - before, written)
    return Cut(
        name,
        np.array(parents, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        np.array(places, dtype=np.int64),
        tuple(headers),
    )


def _windows(rows: Sequence[Row], name: str, windows: Callable[[str], list[Window]]) -> list[list[Window]]:
    texts = [text_in(row, name) for row in rows]
    return [[Window(0, 0)] if text is None else windows(text) for text in texts]
