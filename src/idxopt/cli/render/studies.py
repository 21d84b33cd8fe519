"""Studies as lines and tables: how one ended, its path, its trials, a list of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.render.diffs import unified
from idxopt.cli.units import counted, seconds_text, shortened

if TYPE_CHECKING:
    from idxopt.evaluation.bootstrap import Interval
    from idxopt.optimizer.record import Final, StudyRecord, Trial
    from idxopt.optimizer.study.looking import Damaged, Study

ROLES = {"dev": "dev", "held_out": "held-out", "test": "test"}


def finals_table(record: StudyRecord) -> Table:
    """Baseline and winner on every set: means, the paired difference with its interval, wins, ties and losses."""
    table = Table(title="Winner against baseline, 95% intervals (BCa bootstrap)", title_justify="left")
    table.add_column("queries")
    table.add_column("metric")
    for heading in ("n", "baseline", "winner", "winner - baseline\n[95% interval]", "wins / ties /\nlosses"):
        table.add_column(heading, justify="right")
    for final in record.finals:
        table.add_row(
            escape(f"{final.set} ({ROLES[final.role]})"),
            final.metric,
            str(final.difference.n),
            f"{final.baseline.mean:.3f}",
            f"{final.winner.mean:.3f}",
            figure(final.difference, signed=True),
            f"{final.wins} / {final.ties} / {final.losses}",
        )
    return table


def staged_table(record: StudyRecord) -> Table:
    """Baseline and winner behind each pipeline, over all queries."""
    table = Table(title="Behind dense retrieval and reranking, all queries", title_justify="left")
    for heading in ("pipeline", "metric"):
        table.add_column(heading)
    for heading in ("n", "baseline", "winner", "winner - baseline\n[95% interval]"):
        table.add_column(heading, justify="right")
    for stage in record.staged:
        means = (f"{one.mean:.3f}" for one in (stage.baseline, stage.winner))
        table.add_row(
            escape(stage.name), stage.metric, str(stage.difference.n), *means, figure(stage.difference, signed=True)
        )
    return table


def path_table(record: StudyRecord) -> Table:
    """The accepted changes in their order, with the gain of each in the metric that it passed on."""
    table = Table(title="Accepted changes", title_justify="left")
    for heading in ("step", "trial", "change"):
        table.add_column(heading)
    for heading in (
        "gain on dev\n[95% interval]",
        "confidence",
        f"held-out {record.objective.metric}\nagainst the baseline",
    ):
        table.add_column(heading, justify="right")
    table.add_column("why", overflow="fold")
    for number, step in enumerate(record.path, 1):
        table.add_row(
            f"{number}{' (cut)' if step.cut else ''}",
            str(step.trial),
            escape(step.kind),
            _named(step.metric, figure(step.gain, signed=True)),
            f"{step.confidence:.3f}",
            "-" if step.held_out is None else figure(step.held_out, signed=True),
            escape(step.why),
        )
    return table


def _named(metric: str | None, shown: str) -> str:
    return f"{metric}\n{shown}" if metric else shown


def refused_table(trials: Sequence[Trial], metric: str) -> Table:
    """The candidates that were not kept, with the reason of each. `metric`: the one that their gains are of."""
    table = Table(title="Not kept", title_justify="left")
    for heading in ("trial", "round", "change", "status"):
        table.add_column(heading)
    table.add_column("gain on dev\n[95% interval]", justify="right")
    table.add_column("reason", overflow="fold")
    for trial in trials:
        gain = "-" if trial.gain is None else _named(metric, figure(trial.gain, signed=True))
        reason = escape(shortened(" ".join((trial.reason or "").split()), 200))
        table.add_row(str(trial.number), str(trial.round), escape(trial.kind), trial.status, gain, reason)
    return table


def closing_lines(record: StudyRecord, files: Mapping[str, str]) -> Iterator[str]:
    """What to know beside the tables: objective, warnings, sample against full, cost, files."""
    constraint = f"; {record.objective.constraint} may not fall" if record.objective.constraint else ""
    yield f"the objective is {record.objective.metric}{constraint} ({record.objective.why})"
    yield f"{counted(len(record.tried), 'program')} tried, {_kept(record)} kept; {record.settings.get('ended', '')}"
    if left := len(record.trials) - len(record.tried):
        yield f"! {counted(left, 'program')} of an unfinished round {'waits' if left == 1 else 'wait'} for the next run"
    if record.synthetic:
        yield f"! {record.synthetic}"
    for note in record.notes:
        examples = f" (for example {'; '.join(note.examples[:2])})" if note.examples else ""
        yield f"! {note.text}{examples}"
    for one in record.slices:
        if one.collapsed:
            yield f"! {one.name} of {one.set} loses: {one.metric} {figure(one.difference, signed=True)}"
    p95 = {one.label: one.p95_ms for one in record.columns if one.p95_ms is not None}
    if p95.keys() >= {*_SIDES}:
        yield f"95% of queries take up to {p95['baseline']:.1f} ms (baseline), {p95['winner']:.1f} ms (winner)"
    if record.sampled is not None:
        sampled = record.sampled
        yield f"on {sampled.sample_documents:,} of {sampled.documents:,} documents, then on all of them (dev queries):"
        for row in sampled.rows:
            sides = f"{figure(row.sample, signed=True)} on the sample, {figure(row.full, signed=True)} on all"
            yield f"  {row.metric}: {sides}"
    if record.cost is not None:
        cost = record.cost
        yield (
            f"{counted(cost.evaluations, 'evaluation')} ({cost.cache_hits} more from the store),"
            f" {seconds_text(cost.seconds)} of scoring" + (f", {cost.money:.4f} {cost.currency}" if cost.money else "")
        )
    for what, path in files.items():
        yield f"{what}: {path}"


def program_diff(record: StudyRecord) -> str:
    """What the winner changes, as a unified diff; empty where it changes nothing."""
    return unified(record.baseline, record.winner, str(record.winner.get("name", "program")), sides=_SIDES)


def studies_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line a study with its best value and the interval of it."""
    table = Table()
    for heading in ("study", "state", "metric"):
        table.add_column(heading, overflow="fold")
    for heading in ("n", "baseline", "best on dev\n[95% interval]", "difference\n[95% interval]", "tried", "kept"):
        table.add_column(heading, justify="right")
    table.add_column("begun")
    for row in rows:
        made = "\n(synthetic judgments)" if row["synthetic"] else ""
        table.add_row(*(f"{row[key]}{made if key == 'metric' else ''}" for key in _LISTED))
    return table


_SIDES = ("baseline", "winner")
_LISTED = ("study", "state", "metric", "n", "baseline", "best", "difference", "tried", "kept", "created")


def listed_damaged(study: Damaged, *, plain: bool = False) -> dict[str, Any]:
    """A study that cannot be read, as a line of the list. `plain`: with what is wrong, nothing else."""
    found: dict[str, Any] = {"study": str(study.folder.path), "state": "damaged"}
    return {**found, "problem": study.why} if plain else {**dict.fromkeys(_LISTED, "-"), "synthetic": (), **found}


def listed(study: Study, *, plain: bool = False) -> dict[str, Any]:
    """A study as a line of the list. `plain`: figures as numbers."""
    record = study.record
    final = None if record is None else dev_final(record)
    shown: dict[str, Any] = {
        "study": str(study.folder.path),
        "state": study.state,
        "metric": final.metric if final else "-",
        "n": final.winner.n if final else "-",
        "baseline": f"{final.baseline.mean:.3f}" if final else "-",
        "best": figure(final.winner) if final else "-",
        "difference": figure(final.difference, signed=True) if final else "-",
        "tried": max(0, len(study.trials) - 1) if record is None else len(record.tried),
        "kept": _kept(record) if record else "-",
        "created": study.manifest.created,
        "synthetic": [each.name for each in study.manifest.sets if each.synthetic],
    }
    if not plain:
        return shown
    figures = {name: asdict(getattr(final, field)) if final else None for name, field in _FIGURES.items()}
    return {**{key: None if value == "-" else value for key, value in shown.items()}, **figures}


_FIGURES = {"baseline": "baseline", "best": "winner", "difference": "difference"}


def running_lines(study: Study) -> Iterator[str]:
    """A study without a result: its trials so far."""
    yield f"{study.name}: {study.state}, {counted(max(0, len(study.trials) - 1), 'program')} tried; no result yet"
    if made := [each.name for each in study.manifest.sets if each.synthetic]:
        yield f"! synthetic judgments: {', '.join(made)}"
    for trial in study.trials[1:]:
        kind = trial.proposal.kind if trial.proposal else ""
        gain = "" if trial.gain is None else f" {trial.metric or 'gain'} {trial.gain:+.4f}"
        reason = f" ({shortened(' '.join(trial.reason.split()), 120)})" if trial.reason else ""
        yield f"  {trial.number:>3} round {trial.round} {trial.status:<8} {kind}{gain}{reason}"


def ending_json(record: StudyRecord, files: Mapping[str, str], stopped: str | None) -> dict[str, Any]:
    """How a study ended, as JSON; the whole record is in its folder."""
    return {
        "study": record.study,
        "finished": record.finished,
        "stopped": stopped,
        "ended": record.settings.get("ended"),
        "objective": asdict(record.objective),
        "synthetic": record.synthetic,
        "path": [asdict(step) for step in record.path],
        "finals": [asdict(final) for final in record.finals],
        "staged": [asdict(stage) for stage in record.staged],
        "notes": [asdict(note) for note in record.notes],
        "sampled": None if record.sampled is None else asdict(record.sampled),
        "cost": None if record.cost is None else asdict(record.cost),
        "digests": dict(record.digests),
        "winner": dict(record.winner),
        "files": dict(files),
        "plan": record.plan,
    }


def trials_json(study: Study) -> list[dict[str, Any]]:
    """The trials of a study that has no result yet."""
    return [
        {
            "number": one.number,
            "round": one.round,
            "hash": one.hash,
            "status": one.status,
            "kind": one.proposal.kind if one.proposal else None,
            "metric": one.metric,
            "gain": one.gain,
            "confidence": one.confidence,
            "reason": one.reason,
        }
        for one in study.trials
    ]


def figure(interval: Interval, *, signed: bool = False) -> str:
    """`+0.031 [0.010, 0.052]`; without an interval where there is none."""
    sign = "+" if signed else ""
    mean = f"{interval.mean:{sign}.3f}"
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def dev_final(record: StudyRecord) -> Final | None:
    """The line of the objective on the first dev set."""
    wanted = (one for one in record.finals if one.role == "dev" and one.metric == record.objective.metric)
    return next(wanted, None)


def _kept(record: StudyRecord) -> int:
    return sum(not step.cut for step in record.path)
