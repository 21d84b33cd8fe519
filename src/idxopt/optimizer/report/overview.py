"""The top of the report: what was found, whether it can be believed, and the accepted path."""

from __future__ import annotations

from idxopt.evaluation.pages.charts import direction, forest
from idxopt.evaluation.pages.elements import Child, Html, el, foreign, table
from idxopt.evaluation.pages.figures import counted, figure, number
from idxopt.optimizer.ports import JUDGED
from idxopt.optimizer.record import Final, Role, StudyRecord
from idxopt.optimizer.report.paired import ROLES, Tally, set_name
from idxopt.optimizer.report.sections import how_many, nothing, section, shown_difference, shown_mean

JUDGED_APART = 0.02
"""Judged@10 of the two sides differs when the means are this far apart, or the interval leaves out 0."""
_ORDER: dict[Role, int] = {"test": 0, "held_out": 1, "dev": 2}


def header(record: StudyRecord) -> Html:
    """Name, banners, the main figure in a sentence, the command to put it live."""
    facts = (record.created, record.engine, how_many(record.documents, "document", "documents"))
    sets = (f"{one.name} {ROLES[one.role]} n={one.n}" for one in record.sets)
    return el(
        "header",
        el("h1", "Study ", foreign(record.study)),
        el("p", " · ".join([*facts, *sets]), class_="note"),
        banners(record),
        el("p", _sentence(record), class_="finding"),
        el("p", f"Objective: {record.objective.metric}{_constraint(record)} ({record.objective.why})."),
        _command(record.plan),
    )


def _constraint(record: StudyRecord) -> str:
    return f", {record.objective.constraint} may not fall" if record.objective.constraint else ""


def banners(record: StudyRecord) -> list[Html]:
    """What must be known before any figure is read."""
    found: list[Html] = []
    named = [one.name for one in record.sets if one.synthetic]
    if record.synthetic or named:
        said = record.synthetic or f"The judgments of {', '.join(dict.fromkeys(named))} were generated."
        found.append(_banner("warning", "Synthetic judgments", f"{said} Nobody judged these documents."))
    if not record.finished:
        found.append(_banner("warning", "Unfinished", "The study has not ended: every figure here may still change."))
    apart = [
        f"{set_name(one.set, one.role)}: baseline {figure(one.baseline)}, winner {figure(one.winner)}, difference "
        f"{counted(one.difference, signed=True)}"
        for one in record.finals
        if judged_apart(one)
    ]
    if apart:
        said = "unjudged documents count as irrelevant, so the side that has more of them looks worse than it is."
        listed = el("ul", *(el("li", one) for one in apart))
        found.append(_banner("warning", f"{JUDGED} differs", said, listed))
    for one in record.notes:
        examples = [el("li", foreign(example)) for example in one.examples]
        found.append(_banner("note", one.kind.replace("_", " "), one.text, el("ul", examples) if examples else None))
    return found


def judged_apart(one: Final) -> bool:
    """Whether coverage differs so much between the sides that their figures are hard to compare."""
    if one.metric != str(JUDGED):
        return False
    return abs(one.difference.mean) >= JUDGED_APART or direction(one.difference) != "unclear"


def _banner(kind: str, title: str, *children: Child) -> Html:
    return el("div", el("strong", f"{title}: "), *children, class_=f"banner {kind}", role="note")


def _sentence(record: StudyRecord) -> str:
    main = [one for one in record.finals if one.metric == record.objective.metric]
    if not main:
        return "There are no final figures yet."
    best = min(main, key=lambda one: _ORDER[one.role])
    way = {"gain": "better than", "loss": "worse than", "unclear": "not clearly different from"}
    return (
        f"On {set_name(best.set, best.role)} the winner is {way[direction(best.difference)]} the baseline: "
        f"{best.metric} {number(best.baseline.mean)} to {number(best.winner.mean)}, difference "
        f"{counted(best.difference, signed=True)}."
    )


def _command(command: str) -> Html | None:
    if not command:
        return None
    button = el("button", "copy", type="button", class_="copy", data_copy=command)
    return el("p", "To put it live: ", el("code", command), " ", button, class_="command")


def finals(record: StudyRecord) -> Html:
    """Winner against baseline on every set, every metric; Judged@10 among them."""
    title = "Winner against baseline"
    if not record.finals:
        return section("finals", title, "What was gained.", nothing("There are no final figures yet."))
    ordered = sorted(record.finals, key=lambda one: _ORDER[one.role])
    rows = [
        (
            set_name(one.set, one.role),
            one.metric,
            shown_mean(one.baseline),
            shown_mean(one.winner),
            shown_difference(one.difference),
            f"{Tally(one.wins, one.ties, one.losses)}",
        )
        for one in ordered
    ]
    return section(
        "finals",
        title,
        "Paired by query, 95% BCa intervals. Dev queries were searched on, so their gain is too good; the test and "
        "held-out queries were not.",
        table(
            "Final figures",
            ("set", "metric", "baseline", "winner", "difference", "wins / ties / losses"),
            rows,
            texts=(1,),
        ),
    )


def path(record: StudyRecord) -> Html:
    """Every accepted change with its gain over the program before."""
    title, metric = "Accepted path", record.objective.metric
    if not record.path:
        said = record.without_change
        return section("path", title, "What was kept.", nothing(f"{said[0].upper()}{said[1:]}."))
    rows = [
        (
            f"{number_}",
            [el("strong", one.kind), " ", el("small", one.why, class_="why")],
            el("a", f"trial {one.trial}", href=f"#trial-{one.trial}"),
            [f"{one.metric} " if one.metric else "", shown_difference(one.gain)],
            f"{one.confidence:.3f}",
            shown_difference(one.held_out),
            "cut by the held-out queries" if one.cut else "kept",
        )
        for number_, one in enumerate(record.path, 1)
    ]
    drawn = [
        (f"{place} {one.kind}{f', {one.metric}' if one.metric else ''}{' (cut)' if one.cut else ''}", one.gain)
        for place, one in enumerate(record.path, 1)
    ]
    heads = ("step", "change", "trial", "gain on dev", "confidence", f"held-out {metric} to baseline", "")
    return section(
        "path",
        title,
        "Gain: paired difference to the program before, over all dev queries, in the metric that the step passed on, "
        "which is named. Held-out: difference to the baseline, "
        "read once, at the end.",
        forest("Gain of each accepted change", "gain in the metric of the step", drawn),
        table("Accepted changes", heads, rows, texts=(1, 2, 6)),
    )
