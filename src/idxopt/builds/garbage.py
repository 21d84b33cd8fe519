"""Which indices and tables are still needed. Pure: deciding when to delete is the caller's business."""

from __future__ import annotations

from collections.abc import Iterable

from idxopt.builds.manifest import Manifest


def references(manifests: Iterable[Manifest]) -> dict[str, set[str]]:
    """Physical index to the builds that name it."""
    found: dict[str, set[str]] = {}
    for manifest in manifests:
        for view in manifest.views.values():
            found.setdefault(view.index, set()).add(manifest.build)
    return found


def tables_in_use(manifests: Iterable[Manifest]) -> set[str]:
    """Digests of the corpus tables that the builds name."""
    return {manifest.tables.digest for manifest in manifests if manifest.tables is not None}
