"""View 10: what it takes to believe the figures and to get them again."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from idxopt.evaluation.pages.elements import Child, Html, el, foreign, table
from idxopt.evaluation.pages.figures import duration
from idxopt.optimizer.record import Cost, Sampled, StudyRecord
from idxopt.optimizer.report.paired import ROLES
from idxopt.optimizer.report.sections import nothing, opened, pairs_table, section, shown_difference

_LINE_CLASSES = {"+": "added", "-": "removed", "@": "place"}


def run_record(record: StudyRecord) -> Html:
    """Program, data, settings, cost, events."""
    facts: list[tuple[str, Child]] = [
        ("study", foreign(record.study)),
        ("created", record.created),
        ("engine", record.engine),
        ("documents", f"{record.documents:,}"),
        *((f"set {one.name}", f"{ROLES[one.role]}, n={one.n}{_made(one.synthetic)}") for one in record.sets),
    ]
    parts: list[Child] = [
        el("h3", "The program: baseline (-) to winner (+)"),
        program_diff(record.baseline, record.winner),
        opened("The winner as JSON", el("pre", _pretty(record.winner))),
        pairs_table("Study", facts),
    ]
    named = (
        ("Digests", record.digests),
        ("Versions", record.versions),
        ("Seeds", record.seeds),
        ("Settings", record.settings),
    )
    parts += [
        pairs_table(caption, [(key, _plain(one)) for key, one in held.items()]) for caption, held in named if held
    ]
    if record.cost is not None:
        parts += _cost(record.cost)
    if record.sampled is not None:
        parts.append(_sampled(record.sampled))
    if record.events:
        rows = [(duration(one.seconds), one.kind, foreign(one.text)) for one in record.events]
        parts.append(table("Events", ("after", "what", ""), rows, texts=(1, 2), class_="wrapped"))
    return section("run", "10. Run record", "With the same data, settings and seeds the study ends the same.", *parts)


def _made(synthetic: bool) -> str:
    return ", synthetic judgments" if synthetic else ""


def _plain(value: Any) -> Html:
    return el("code", foreign(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def _pretty(program: Mapping[str, Any]) -> str:
    return json.dumps(program, indent=2, ensure_ascii=False, sort_keys=True)


def program_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> Html:
    """Changed lines of the JSON with three lines around them, marked by sign and colour."""
    lines = list(_diff_lines(before, after))
    if not lines:
        return nothing("The winner is the baseline: nothing that was tried was kept.")
    return el("pre", lines, class_="diff")


def _diff_lines(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Html]:
    found = difflib.unified_diff(_pretty(before).split("\n"), _pretty(after).split("\n"), lineterm="")
    for number, line in enumerate(found):
        if number > 1:  # after the two lines that name the files
            yield el("span", f"{line}\n", class_=_LINE_CLASSES.get(line[:1]))


def _cost(cost: Cost) -> list[Child]:
    facts: list[tuple[str, Child]] = [
        ("time", duration(cost.seconds)),
        ("programs scored", f"{cost.evaluations:,}"),
        ("programs found in the store", f"{cost.cache_hits:,}"),
        ("money", f"{cost.money:.4f} {cost.currency}"),
    ]
    parts: list[Child] = [pairs_table("Cost", facts)]
    if cost.models:
        rows = [
            (
                foreign(one.model),
                f"{one.calls:,}",
                f"{one.input_tokens:,}",
                f"{one.output_tokens:,}",
                "no price is known" if one.money is None else f"{one.money:.4f} {cost.currency}",
                one.priced_on or "-",
            )
            for one in cost.models
        ]
        header = ("model", "calls", "input tokens", "output tokens", "money", "prices of")
        parts.append(table("Models", header, rows))
    return parts


def _sampled(sampled: Sampled) -> Html:
    rows = [(one.metric, shown_difference(one.sample), shown_difference(one.full)) for one in sampled.rows]
    return table(
        "Winner - baseline: on the sample that was searched on, and on everything",
        ("metric", f"sample of {sampled.sample_documents:,} documents", f"all {sampled.documents:,} documents"),
        rows,
    )
