"""An existing index or alias as a source. It is only read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from idxopt.engines.port import Reader
from idxopt.errors import SourceError
from idxopt.sources.identity import OWN_FIELD
from idxopt.sources.rejects import Reject
from idxopt.sources.source import Estimate, Kind, Record


class IndexReader:
    """All documents of an index, or of the indices behind an alias (with the alias's filter), at one point in time
    each.

    What idxopt derived earlier (`idxopt.*`) is left out, so that a build can be the source of the next.
    """

    kind: Kind = "index"

    def __init__(self, name: str, place: str, engine: Reader) -> None:
        self.place = place
        self._engine = engine
        self._name = name
        self._targets = self._resolve()

    def records(self) -> Iterator[Record | Reject]:
        for index, query in self._targets.items():
            for found in self._engine.scan(index, query=query):
                source = {key: value for key, value in found.source.items() if key != OWN_FIELD}
                yield Record(f"{index}/{found.id}", source, id=found.id)

    def marks(self) -> dict[str, Any]:
        """uuid and checkpoint of every primary shard, by index."""
        marks: dict[str, Any] = {}
        for index in self._targets:
            state = self._engine.get_index(index)
            if state is None:
                raise self._gone()
            checkpoints = self._engine.stats(index).checkpoints
            marks[index] = {
                "uuid": state.uuid,
                "checkpoints": {str(shard): value for shard, value in sorted(checkpoints.items())},
            }
        return {"indices": marks}

    def estimate(self) -> Estimate:
        """The engine's own counts; not exact behind a filtered alias."""
        stats = [self._engine.stats(index) for index in self._targets]
        exact = all(query is None for query in self._targets.values())
        return Estimate(sum(one.documents for one in stats), sum(one.bytes for one in stats), exact=exact)

    def _resolve(self) -> dict[str, Any]:
        if any(character in self._name for character in "*?,"):
            raise SourceError(
                "a source is one index or one alias, no pattern",
                remedy="name one index, or put an alias on several",
                place=self.place,
            )
        if self._engine.get_index(self._name) is not None:
            return {self._name: None}
        behind = self._engine.aliases(self._name).get(self._name, {})
        if not behind:
            raise self._gone()
        return {index: behind[index].get("filter") for index in sorted(behind)}

    def _gone(self) -> SourceError:
        return SourceError(
            f"there is no index or alias {self._name}",
            remedy="check the name; `index:NAME` names one on the cluster",
            place=self.place,
        )
