"""A plan as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from idxopt.cli.units import bytes_text, counted, seconds_text, shortened

if TYPE_CHECKING:
    from idxopt.compiler.lowered import Placement
    from idxopt.deploy.changes import Change, ProgramChange
    from idxopt.deploy.intent import Plan, TextsEstimate

VALUE_WIDTH = 60
LEGEND = "+ build   ~ change in place or at query time   +/- rebuild beside, then switch   = reused   ! warning"


def plan_lines(
    plan: Plan, *, full: bool = False, placements: Mapping[str, Sequence[Placement]] | None = None
) -> Iterator[str]:
    """The whole plan; the last line has the totals."""
    live = f"build {plan.live} is live" if plan.live else "nothing is live yet"
    yield f"{plan.name} on {plan.cluster}: {live}"
    if plan.program_changes:
        yield ""
        yield "Program:"
        for change in plan.program_changes:
            yield from _program_change(change, full=full)
    if plan.changes:
        yield ""
        yield f"Changes ({LEGEND}):"
        yield from _changes(plan)
    yield from _placements(placements or {})
    warnings = list(warning_lines(plan))
    if warnings:
        yield ""
        yield from warnings
    yield ""
    yield totals(plan)


def warning_lines(plan: Plan) -> Iterator[str]:
    """Notes, what later writes will lack, and how old the data is."""
    for note in plan.notes:
        yield note if note.startswith("! ") else f"! {note}"
    for view, fields in plan.lost_on_write.items():
        if fields:
            yield (
                f"! documents written through the alias later will lack, until the next build: view {view}: "
                f"{lacking(fields)}"
            )
    if plan.estimate is not None:
        yield from texts_lines(plan.estimate.generated, "about ")
    for lag in plan.lag:
        yield f"! {lag.what}"
    if plan.builds and plan.source is None:
        yield "! no documents were named, so there is no estimate; apply needs --source"
    if plan.intent.only and plan.builds:
        yield "! --view limits what is built; all aliases still move together, or not at all"


def lacking(fields: Sequence[str]) -> str:
    """Names of fields that a document lacks; a vector is told with what it means."""
    return ", ".join("vector (the dense leg does not find them)" if name == "vector" else name for name in fields)


def texts_lines(estimates: Sequence[TextsEstimate], about: str = "") -> Iterator[str]:
    """What generated texts may cost, a line a generator."""
    for one in estimates:
        money = f", at most {about}{one.money:,.4g} {one.currency}".rstrip() if one.money else ", no price is set"
        yield (
            f"! {about}{counted(one.texts, 'text')} to generate by {one.model} ({one.id}): {about}{one.tokens_in:,} "
            f"tokens in, at most {about}{one.tokens_out:,} out{money}"
        )
        if one.later:
            yield (
                f"! on top come the texts of {', '.join(one.later)}: what they cost is known only once those by "
                f"{one.model} are made; `--budget` bounds them all"
            )


def totals(plan: Plan) -> str:
    """The last line."""
    if plan.empty:
        return f"No changes: {plan.name} is as the program says."
    parts = [f"Plan: {counted(len(plan.builds), 'index', 'indices')} to build"]
    in_place = sum(change.symbol == "~" for change in plan.changes)
    parts.append(f"{in_place} to change")
    parts.append("readers move" if plan.switches else "readers stay")
    line = ", ".join(parts)
    if plan.estimate is None:
        return f"{line}."
    size = plan.estimate
    about = "" if size.documents_exact else "about "
    vectors = f" and the time to embed {counted(size.vectors, 'row')}" if size.vectors else ""
    return (
        f"{line}; {about}{counted(size.documents, 'document')}, {counted(size.rows, 'row')}, "
        f"{bytes_text(size.bytes)}, {counted(size.shards, 'shard')}, {seconds_text(size.seconds)}{vectors} "
        f"(from {counted(size.sampled, 'sampled document')})."
    )


def _program_change(change: ProgramChange, *, full: bool) -> Iterator[str]:
    symbol = "+" if change.old is None else "-" if change.new is None else "~"
    if change.old is None:
        shown = _value(change.new, full)
    elif change.new is None:
        shown = f"{_value(change.old, full)} removed"
    else:
        shown = f"{_value(change.old, full)} -> {_value(change.new, full)}"
    yield f"  {symbol} {change.path}: {shown}"
    yield f"      {change.cost}: {change.why}"


def _value(value: Any, full: bool) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if full else shortened(text, VALUE_WIDTH)


def _changes(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        yield f"  {change.symbol:<3} {_subject(change)}"
        by = " by somebody else" if change.foreign else ""
        yield f"      {change.what}; {change.cost}: {change.why}{by}"
    touched = {change.view for change in plan.changes} | {step.view for step in plan.builds}
    if not plan.target:
        for view in plan.generations:
            if view not in touched and not plan.intent.only:
                yield f"  =   view {view}"
                yield "      its index is reused"


def _subject(change: Change) -> str:
    return f"{change.kind} {change.subject}"


def _placements(placements: Mapping[str, Sequence[Placement]]) -> Iterator[str]:
    for view, steps in placements.items():
        yield ""
        yield f"Steps of view {view}:" if steps else f"View {view} has no steps."
        for step in steps:
            yield f"  {step.number} {step.operator}: {step.place} ({step.why})"


def plan_json(plan: Plan, placements: Mapping[str, Sequence[Placement]] | None = None) -> dict[str, Any]:
    """The plan as one document; `changes` says whether there are any, so that nobody needs the exit code."""
    document: dict[str, Any] = {
        "changes": not plan.empty,
        "summary": totals(plan),
        "warnings": list(warning_lines(plan)),
        "plan": plan.model_dump(mode="json", by_alias=True),
    }
    if placements is not None:
        document["placements"] = {
            view: [
                {"number": step.number, "operator": step.operator, "place": step.place, "why": step.why}
                for step in steps
            ]
            for view, steps in placements.items()
        }
    return document
