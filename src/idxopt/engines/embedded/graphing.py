"""Which segments of an index get a graph, decided before they become searchable."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.engines.embedded import graphs
from idxopt.engines.embedded.mapping import Mapped
from idxopt.engines.embedded.segment import Segment


def write_graphs(segments: Sequence[Segment], mapped: Mapped, least: int, beyond: int) -> None:
    """Makes missing graphs of segments with at least `least` vectors, in fields that have more than `beyond` in all.

    With `least` an eighth of `beyond`, and at most eight segments, what is left without a graph is no more than
    `beyond` rows. Does nothing where the library is not installed.
    """
    for path in mapped.vectors:
        kind = mapped.fields[path].vector
        held = [(segment, vectors) for segment in segments if (vectors := segment.vectors(path)) is not None]
        if kind is None or sum(len(vectors) for _, vectors in held) <= beyond or not graphs.available():
            continue
        for segment, vectors in held:
            place = graphs.graph_path(segment.pack.path, path)
            if len(vectors) >= max(1, least) and not place.exists():
                graphs.write_graph(place, vectors, kind)
