"""Rows cut out of texts, without the rows: where each begins and ends in the text that it comes from.

Most candidates that slice search what they cut and nothing made from it. Their counts follow from those of the texts
(`placed.Placed`), and what all rows of a document share is counted once (`Field.repeated`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from idxopt.operators.row import Document, Row
from idxopt.operators.slice import Slicing
from idxopt.operators.transform import text_in
from idxopt.operators.windows import Window
from idxopt.optimizer.scoring.chunks import Ints, chunks_of, integers, within
from idxopt.optimizer.scoring.growth import Growth, refused


@dataclass(frozen=True)
class Spans:
    """Stretches of texts: number i is of text `parents[i]`, from `starts[i]` to `ends[i]` (code points).

    `headers` stand before some of them (number, text ending in white space).
    """

    parents: Ints
    starts: Ints
    ends: Ints
    headers: tuple[tuple[int, str], ...] = ()

    @property
    def count(self) -> int:
        return len(self.parents)

    @property
    def characters(self) -> Ints:
        """Of each stretch."""
        found = self.ends - self.starts
        for number, header in self.headers:
            found[number] += len(header)
        return found


@dataclass(frozen=True)
class Cut:
    """Rows whose field `name` is cut from the rows before: the spans' texts. One without the field is kept, with none.

    `documents[i]` is the number of the document of row `i`.
    """

    name: str
    spans: Spans
    documents: Ints

    @property
    def times(self) -> Ints:
        """How many rows each row before has become; every one becomes at least one."""
        return np.bincount(self.spans.parents)


def cut(rows: Sequence[Sequence[Row]], documents: Sequence[Document], slicing: Slicing, growth: Growth) -> Cut | None:
    """Cuts the field of all rows. None where a header runs into its row: such rows have to be made.

    Raises as the step itself: BuildError for a document that it cannot take, ProgramError for a flood.
    """
    name, even, single = slicing.step.field, _Even(), _Single()
    owners = array("q")
    for place, (each, document) in enumerate(zip(rows, documents, strict=True)):
        try:
            cut_rows = _units_or_windows(each, name, slicing)
        except Exception as error:
            raise refused(document, error) from error
        for text, units, found in cut_rows:
            parent = len(owners)
            owners.append(place)
            if units is not None:
                even.add(parent, text, units)
            elif not single.add(parent, found):
                return None
    size, step = slicing.step.window or 1, max((slicing.step.window or 1) - slicing.step.overlap, 1)
    times = even.times(size, step)
    growth.add(int(times.sum()) + len(single.parents), 0)
    spans = _together(even.spans(times, size, step), single.spans)
    growth.add(0, int(spans.characters.sum()))
    return Cut(name, spans, integers(owners)[spans.parents])


def _units_or_windows(
    rows: Sequence[Row], name: str, slicing: Slicing
) -> list[tuple[str, Sequence[int] | None, list[Window]]]:
    """Of each row its text, and the starts of its units where they decide all, else its windows."""
    found = []
    for row in rows:
        text = text_in(row, name)
        units = () if text is None else slicing.even_units(text)
        found.append((text or "", units, slicing.windows(text or "") if units is None else []))
    return found


@dataclass
class _Even:
    """Texts that are cut evenly: `count` of their units, which start at `starts`."""

    parents: array[int] = field(default_factory=lambda: array("q"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    starts: array[int] = field(default_factory=lambda: array("q"))

    def add(self, parent: int, text: str, units: Sequence[int]) -> None:
        self.parents.append(parent)
        self.lengths.append(len(text))
        self.counts.append(len(units))
        self.starts.extend(units)

    def times(self, size: int, step: int) -> Ints:
        """Windows of each text."""
        return np.maximum(-(-(integers(self.counts) - size) // step), 0) + 1

    def spans(self, times: Ints, size: int, step: int) -> Spans:
        """As `operators.windows` cuts them."""
        texts = np.repeat(np.arange(len(times)), times)
        counts, starts = integers(self.counts), np.append(integers(self.starts), 0)
        first = within(times) * step
        begins = (np.cumsum(counts) - counts)[texts]
        ends = np.minimum(first + size, counts[texts])
        return Spans(
            integers(self.parents)[texts],
            np.where(first > 0, starts[begins + np.minimum(first, counts[texts])], 0),
            np.where(ends < counts[texts], starts[begins + ends], integers(self.lengths)[texts]),
        )


@dataclass
class _Single:
    """Windows that were cut one by one."""

    parents: array[int] = field(default_factory=lambda: array("q"))
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    headers: list[tuple[int, str]] = field(default_factory=list)

    def add(self, parent: int, windows: Sequence[Window]) -> bool:
        """False where a header runs into its row."""
        for window in windows:
            if window.header:
                if chunks_of(f"{window.header}.")[-1] != ".":
                    return False
                self.headers.append((len(self.parents), window.header))
            self.parents.append(parent)
            self.starts.append(window.start)
            self.ends.append(window.end)
        return True

    @property
    def spans(self) -> Spans:
        return Spans(integers(self.parents), integers(self.starts), integers(self.ends), tuple(self.headers))


def _together(first: Spans, second: Spans) -> Spans:
    """In the order of their texts, of which none is in both."""
    if not second.count:
        return first
    parents = np.concatenate((first.parents, second.parents))
    order = np.argsort(parents, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return Spans(
        parents[order],
        np.concatenate((first.starts, second.starts))[order],
        np.concatenate((first.ends, second.ends))[order],
        tuple((int(places[first.count + number]), header) for number, header in second.headers),
    )
