"""The catalogue on disk: read without a lock, changed under one, replaced by a rename."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from idxopt.engines.embedded import durable, sealed
from idxopt.engines.embedded.catalogue import Catalogue, IndexEntry
from idxopt.engines.embedded.locks import exclusive
from idxopt.errors import EngineError

_NAME = "catalogue.json"


class CatalogueFile:
    """The catalogue of one folder. Reading an absent folder gives an empty catalogue and writes nothing."""

    def __init__(self, folder: Path) -> None:
        """EngineError when the place is a file, or a folder with something else in it."""
        self.folder = folder
        self.path = folder / _NAME
        self._lock = threading.Lock()
        self._known: tuple[bytes | None, Catalogue] = (None, Catalogue())
        with durable.disk_errors(folder):
            if folder.exists() and not folder.is_dir():
                raise EngineError(
                    "this is not a folder", place=str(folder), remedy="name a folder for the local engine"
                )
            if not self.path.exists() and folder.is_dir() and any(not _ours(entry) for entry in folder.iterdir()):
                raise EngineError(
                    "this folder holds other files and no idxopt indices",
                    place=str(folder),
                    remedy="name an empty or a new folder for the local engine",
                )

    @property
    def identity(self) -> str:
        """Stands for a cluster's uuid: it depends on the place alone, so that reading needs no write."""
        return hashlib.blake2b(str(self.folder.resolve()).encode("utf-8", "surrogatepass"), digest_size=11).hexdigest()

    def read(self) -> Catalogue:
        """The present catalogue."""
        with self._lock, durable.disk_errors(self.folder):
            present = sealed.stamp(self.path)
            if present != self._known[0]:
                self._known = (present, Catalogue() if present is None else _from_json(sealed.read(self.path)))
            return self._known[1]

    def change(self, decide: Callable[[Catalogue], Catalogue]) -> Catalogue:
        """Replaces the catalogue by what `decide` makes of it, with no other change in between."""
        with durable.disk_errors(self.folder):
            durable.make_folder(self.folder)
            with exclusive(self.folder / "catalogue.lock"):
                old = self.read()
                new = decide(old)
                if new is not old:
                    clean(self.folder)
                    sealed.write(self.path, _to_json(new, old.version + 1))
        return self.read()


def clean(folder: Path) -> None:
    """Deletes unfinished files of processes that died. Only for the holder of the folder's lock."""
    for path in folder.glob(f".*{durable.TEMPORARY}"):
        durable.remove(path)


def _ours(path: Path) -> bool:
    return path.name in {"catalogue.lock", "indices"} or path.name.endswith(durable.TEMPORARY)


def _to_json(catalogue: Catalogue, version: int) -> dict[str, Any]:
    return {
        "version": version,
        "indices": {
            name: {"uuid": entry.uuid, "settings": entry.settings, "mappings": entry.mappings}
            for name, entry in catalogue.indices.items()
        },
        "aliases": catalogue.aliases,
        "templates": catalogue.templates,
    }


def _from_json(value: Any) -> Catalogue:
    return Catalogue(
        version=value["version"],
        indices={name: IndexEntry(name, **entry) for name, entry in value["indices"].items()},
        aliases=value["aliases"],
        templates=value["templates"],
    )
