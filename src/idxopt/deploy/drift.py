"""How a served index differs from what was compiled, and the step that mends each difference. Pure.

Only what we emitted counts: settings, fields and aliases that somebody added outside our namespace are listed as notes
and are no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from idxopt.builds.effective import Difference, compare_effective, flat_settings
from idxopt.compiler.lowered import CompiledView
from idxopt.deploy.changes import Change, Cost
from idxopt.deploy.observed import Observed
from idxopt.deploy.steps import RestoreMeta, RestoreSettings, Step
from idxopt.engines.port import IndexState

_META = "mappings._meta."
_OWN_META = "mappings._meta.idxopt"
_OWN_FIELDS = "mappings.properties.idxopt."
_FIXED = ("settings.index.similarity.", "settings.index.analysis.")
"""Settings that only a closed index takes: changed like a mapping, mended by a new index."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Differences of an existing index. `mapping`: the first that cannot be changed back (of the mapping, a similarity,
    the analysis), None when equal.

    `settings`: those to set back. `meta`: our mark is missing or changed. `notes`: what others added.
    """

    mapping: str | None
    settings: tuple[Difference, ...]
    meta: bool
    notes: tuple[str, ...]

    def repairs(self, view: CompiledView, *, foreign: bool) -> Iterator[tuple[Change, Step]]:
        """A change and its step for each difference that can be mended in place."""
        wanted = served_settings(view)
        for difference in self.settings:
            name = difference.path.removeprefix("settings.")
            yield (
                Change(
                    symbol="~",
                    kind="setting",
                    subject=f"{view.index} {name}",
                    view=view.view,
                    what=f"{'restore' if foreign else 'set'} {difference.effective} -> {difference.compiled}",
                    cost=Cost.UPDATE_IN_PLACE,
                    why="the setting differs from the compiled one",
                    foreign=foreign,
                ),
                RestoreSettings(index=view.index, settings={name: wanted[name]}),
            )
        if self.meta:
            yield (
                Change(
                    symbol="~",
                    kind="meta",
                    subject=view.index,
                    view=view.view,
                    what="write our mark back",
                    cost=Cost.METADATA,
                    why="_meta.idxopt was changed or removed",
                    foreign=foreign,
                ),
                RestoreMeta(view=view.view, index=view.index),
            )


def served_settings(view: CompiledView) -> dict[str, str]:
    """The flat settings of an index that readers use: as created, then as set after the load."""
    return {**flat_settings(view.index_body["settings"]), **flat_settings(view.served_settings)}


def drift_of(observed: Observed, view: CompiledView) -> Drift:
    """Differences of an observed index from its compiled form as served."""
    return index_drift(observed.indices[view.index], view)


def index_drift(state: IndexState, view: CompiledView) -> Drift:
    """The same, for one index. Its aliases are compared with those of the whole build, not here."""
    found = compare_effective(view.index_body, state, served=view.served_settings, aliases=list(state.aliases))
    mapping = [item for item in found if _is_mapping(item)]
    notes = [
        f"{view.index}: {item.path} was added by somebody and is left as it is" for item in found if _is_note(item)
    ]
    return Drift(
        mapping=str(mapping[0]).removeprefix("mappings.properties.") if mapping else None,
        settings=tuple(
            item for item in found if item.path.startswith("settings.") and not item.added and not _is_mapping(item)
        ),
        meta=any(item.path.startswith(_OWN_META) for item in found),
        notes=tuple(notes),
    )


def _is_mapping(item: Difference) -> bool:
    if item.path.startswith(_FIXED):
        return not item.added
    if not item.path.startswith("mappings.") or item.path.startswith(_META) or item.path == _META.rstrip("."):
        return False
    return not item.added or item.path.startswith(_OWN_FIELDS)


def _is_setting(item: Difference) -> bool:
    return item.path.startswith("settings.") and not item.added and not _is_mapping(item)


def _is_note(item: Difference) -> bool:
    return item.added and not _is_mapping(item) and not item.path.startswith(_OWN_META)
