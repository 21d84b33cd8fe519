"""Windows over the units of a text: none is too large, nothing is lost, tables stay whole.

Units (words, sentences...) partition the text: each reaches to the start of the next. A cut inside a table moves back
to the start of a row, and a window that starts among the rows of a table repeats its header, which counts as its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a text, in code points: its header lines end where `rows` begin; `rows` are starts of body rows."""

    start: int
    rows: Sequence[int]
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """One window: its span in the text, and the header that is repeated before it (empty: none)."""

    start: int
    end: int
    header: str = ""


@dataclass(frozen=True, slots=True)
class _Zone:
    """A table by unit numbers; `rows` are the first units of its body rows."""

    start: int
    rows: Sequence[int]
    end: int
    header: str

    @property
    def body(self) -> int:
        return self.rows[0]


def windows(
    text: str,
    starts: Sequence[int],
    tables: Sequence[Table],
    *,
    size: int,
    overlap: int,
    min_size: int,
    stops: Sequence[int] = (),
) -> list[Window]:
    """Windows of at most `size` units, each but the first beginning `overlap` units before the end of the one before.

    `starts` are the starts of the units. A last window below `min_size` units takes from the one before it. Inside
    tables windows may be smaller and overlap less, so that rows stay whole; only a row larger than a window is cut.
    `stops`: starts of sentences, ascending; outside tables a window ends before one where it holds one.
    """
    if len(starts) <= size:
        return [Window(0, len(text))]
    if not tables and not stops and not min_size:
        return _even(len(text), starts, size, overlap)
    return _Cutter(text, starts, tables, stops, size).windows(overlap, min_size)


def _even(length: int, starts: Sequence[int], size: int, overlap: int) -> list[Window]:
    """What `_Cutter` does where nothing is in the way."""
    count, step = len(starts), max(size - overlap, 1)
    firsts = range(0, count - size + step, step)
    begins = [0, *starts[step::step]][: len(firsts)]
    ends = [*starts[size::step], length]
    return [*map(Window, begins, ends)]


class _Cutter:
    def __init__(
        self, text: str, starts: Sequence[int], tables: Sequence[Table], stops: Sequence[int], size: int
    ) -> None:
        self._text = text
        self._size = size
        self._count = len(starts)
        self._positions = [0, *starts[1:], len(text)]
        self._zones = [zone for zone in (self._zone(table, starts) for table in tables) if zone is not None]
        self._zone_starts = [zone.start for zone in self._zones]
        self._stops = sorted({self._boundary(place, starts) for place in stops})

    def _zone(self, table: Table, starts: Sequence[int]) -> _Zone | None:
        """The table in units. Its rows begin at their own first character, not only at their first unit."""
        rows = [self._boundary(place, starts) for place in (table.start, *table.rows, table.end)]
        body = sorted({unit for unit in rows[1:-1] if unit < rows[-1]})
        if not body or body[0] == rows[0]:
            return None
        header = self._text[table.start : table.rows[0]]
        return _Zone(rows[0], body, rows[-1], header)

    def _boundary(self, place: int, starts: Sequence[int]) -> int:
        """The first unit from `place` on, which from now on begins there: signs before it go with it."""
        unit = bisect_left(starts, place)
        if 0 < unit < self._count and self._positions[unit - 1] < place < self._positions[unit]:
            self._positions[unit] = place
        return unit

    def windows(self, overlap: int, min_size: int) -> list[Window]:
        pieces = [self._piece(0)]
        while (before := pieces[-1])[1] < self._count:
            piece = self._piece(self._next_start(before[0], before[1], overlap))
            if piece[1] <= before[1]:
                piece = self._piece(before[1])
            pieces.append(piece)
        return [
            Window(self._positions[start], self._positions[end], header)
            for start, end, header in self._balanced(pieces, overlap, min_size)
        ]

    def _piece(self, start: int) -> tuple[int, int, str]:
        header, room = self._header(start)
        return start, self._end(start, room), header

    def _around(self, unit: int) -> _Zone | None:
        """The table that holds the boundary before `unit` strictly inside itself."""
        number = bisect_right(self._zone_starts, unit) - 1
        if number >= 0 and self._zones[number].start < unit < self._zones[number].end:
            return self._zones[number]
        return None

    def _header(self, start: int) -> tuple[str, int]:
        """The header that a window from `start` repeats, and the units left for its own."""
        zone = self._around(start)
        if zone is None or start not in zone.rows:
            return "", self._size
        room = self._size - (zone.body - zone.start)
        return (zone.header, room) if room > 0 else ("", self._size)

    def _end(self, start: int, room: int) -> int:
        end = min(start + room, self._count)
        zone = self._around(end) if end < self._count else None
        if zone is None:
            return end if end >= self._count else self._sentence_end(start, end)
        whole = zone.start if end <= zone.body else zone.rows[bisect_right(zone.rows, end) - 1]
        return whole if whole > start else end

    def _sentence_end(self, start: int, end: int) -> int:
        """The last boundary of sentences up to `end`, where there is one behind `start`."""
        number = bisect_right(self._stops, end) - 1
        return self._stops[number] if number >= 0 and self._stops[number] > start else end

    def _next_start(self, start: int, end: int, overlap: int) -> int:
        following = max(end - overlap, start + 1)
        zone = self._around(following)
        if zone is None or following == end:
            return following
        number = bisect_left(zone.rows, following)
        return min(end, zone.rows[number] if number < len(zone.rows) else end)

    def _balanced(self, pieces: list[tuple[int, int, str]], overlap: int, min_size: int) -> list[tuple[int, int, str]]:
        """The pieces, the last of at least `min_size` units where no table is in the way."""
        (start, end, header), *_ = reversed(pieces)
        if end - start >= min_size or len(pieces) == 1 or header:
            return pieces
        before, before_end, before_header = pieces[-2]
        wanted = end - min_size
        if wanted <= before:
            return [*pieces[:-2], (before, end, before_header)] if not before_header else pieces
        if self._around(wanted) is not None:
            return pieces
        return [*pieces[:-2], (before, min(before_end, wanted + overlap), before_header), (wanted, end, "")]
