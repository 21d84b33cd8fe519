"""The frozen corpus tables of a name, as planning needs them: read when something depends on them, once each."""

from __future__ import annotations

from idxopt.builds.manifest import TablesRecord
from idxopt.builds.state import StateStore
from idxopt.errors import BuildError
from idxopt.operators.tables import Tables


class FrozenTables:
    """Reads tables by their record. Without a store there are none."""

    def __init__(self, store: StateStore | None = None, name: str = "") -> None:
        self._store = store
        self._name = name
        self._read: dict[str, Tables | None] = {}

    def read(self, record: TablesRecord | None) -> Tables | None:
        """The tables; None where there are none, or where what is stored is lost or damaged."""
        if record is None or self._store is None:
            return None
        if record.digest not in self._read:
            try:
                self._read[record.digest] = Tables.from_json(self._store.tables(self._name, record.digest))
            except BuildError:
                self._read[record.digest] = None
        return self._read[record.digest]
