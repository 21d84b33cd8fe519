"""View 9: what matters. Steps left out, kinds of change, slices, pipelines, failures: each with interval and n."""

from __future__ import annotations

from idxopt.evaluation.pages.charts import forest
from idxopt.evaluation.pages.elements import Child, Html, el, table
from idxopt.evaluation.pages.figures import size_of
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.report.sections import how_many, nothing, section, shown_difference, shown_mean

_FEW = 20
"""Trials of one kind below which its mean says little."""


def matters(record: StudyRecord) -> Html:
    """Five parts, each where the record has it."""
    parts: list[Child] = [
        *_attribution(record),
        *_effects(record),
        *_slices(record),
        *_staged(record),
        *_failures(record),
    ]
    return section(
        "matters",
        "9. What matters",
        "Differences with 95% intervals; a filled mark where the interval leaves out 0.",
        *(parts or [nothing("No step, kind of change or slice can be compared.")]),
    )


def _attribution(record: StudyRecord) -> list[Child]:
    if not record.attribution:
        return []
    metric = record.objective.metric
    rows = [
        (
            one.step,
            shown_difference(one.loss),
            f"{one.rows:+,}",
            el("span", ("+" if one.bytes >= 0 else "") + size_of(one.bytes), data_sort=one.bytes),
            "-" if one.p95_ms is None else f"{one.p95_ms:+.1f} ms",
        )
        for one in record.attribution
    ]
    drawn = [(one.step, one.loss) for one in record.attribution]
    return [
        el("h3", "Each step of the winner"),
        forest("The winner minus the winner without one step", f"{metric} that the step is worth", drawn),
        table("Leave one step out", ("step", f"{metric} it is worth", "rows", "bytes", "p95"), rows, class_="sortable"),
    ]


def _effects(record: StudyRecord) -> list[Child]:
    if not record.effects:
        return []
    fewest = min(one.gain.n for one in record.effects)
    drawn = [(one.kind, one.gain) for one in record.effects]
    rows = [(one.kind, shown_difference(one.gain), f"{one.kept} of {one.gain.n}") for one in record.effects]
    note = "n counts trials, not queries; each was measured on top of another program, so effects are no sum."
    if fewest < _FEW:
        note += f" With n as small as {fewest} an effect is a hint, not a finding."
    return [
        el("h3", "Kinds of change, over all trials"),
        forest("Mean gain of each kind of change", f"mean gain in {record.objective.metric}", drawn),
        table("Kinds of change", ("kind", "mean gain over trials", "kept"), rows, note=note, class_="sortable"),
    ]


def _slices(record: StudyRecord) -> list[Child]:
    if not record.slices:
        return []
    drawn = [(f"{one.name}, {one.set}", one.difference) for one in record.slices]
    rows = [
        (
            [el("strong", "! ", class_="way loss") if one.collapsed else None, one.name],
            one.set,
            shown_mean(one.baseline),
            shown_mean(one.winner),
            shown_difference(one.difference),
        )
        for one in record.slices
    ]
    fallen = sum(one.collapsed for one in record.slices)
    note = (
        f"{how_many(fallen, 'slice loses', 'slices lose')} clearly (marked !)." if fallen else "No slice loses clearly."
    )
    return [
        el("h3", "Slices of the queries"),
        forest("Differences by slice", f"difference of {record.objective.metric}", drawn),
        table(
            "Slices",
            ("slice", "set", "baseline", "winner", "difference"),
            rows,
            note=note,
            texts=(1,),
            class_="sortable",
        ),
    ]


def _staged(record: StudyRecord) -> list[Child]:
    if not record.staged:
        return []
    rows = [
        (
            [one.name, el("small", f" {one.note}", class_="why") if one.note else None],
            one.metric,
            shown_mean(one.baseline),
            shown_mean(one.winner),
            shown_difference(one.difference),
        )
        for one in record.staged
    ]
    return [
        el("h3", "Does the gain survive behind other pipelines?"),
        table("Staged", ("pipeline", "metric", "baseline", "winner", "difference"), rows, texts=(1,)),
    ]


def _failures(record: StudyRecord) -> list[Child]:
    if not record.failures:
        return []
    rows = [
        (one.kind.replace("_", " "), f"{one.before}", f"{one.after}", f"{one.after - one.before:+}")
        for one in record.failures
    ]
    n = sum(one.n for one in record.sets if one.role == "dev")
    return [
        el("h3", "Failing queries by kind"),
        table(
            f"Failing dev queries (n={n}; a query may count under several kinds)",
            ("failure", "baseline", "winner", "change"),
            rows,
            class_="sortable",
        ),
    ]
