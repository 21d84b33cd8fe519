"""`idxopt evaluate`: figures of one build or run file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idxopt.cli import options
from idxopt.cli.operands import FORMS, answers, find_operand, load_judgments
from idxopt.cli.outputs import is_run, refuse_foreign
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ExitCode


def evaluate(
    settings: Settings,
    target: Annotated[str, typer.Argument(metavar="TARGET", help=f"{FORMS}.")],
    queries: options.Queries = None,
    qrels: options.Qrels = None,
    dataset: options.Dataset = None,
    split: options.Split = None,
    metric: options.Metrics = None,
    depth: options.Depth = 100,
    run_out: Annotated[
        Path | None, typer.Option("--run-out", metavar="FILE", help="Write the rankings in TREC format.")
    ] = None,
) -> ExitCode:
    """Measure with judged queries: every mean with n and its 95% interval.

    Example: idxopt evaluate handbook --queries queries.jsonl --qrels qrels.tsv
    """
    from idxopt.evaluation.comparison import evaluate_run
    from idxopt.evaluation.metrics import DEFAULT_METRICS, parse_metric
    from idxopt.evaluation.runfiles import write_run
    from idxopt.evaluation.tables import detectable_note, evaluation_json, evaluation_notes, evaluation_table

    metrics = [parse_metric(name) for name in metric or ()] or list(DEFAULT_METRICS)
    if run_out is not None:
        refuse_foreign(run_out, "--run-out", "a run file", is_run, read=[path for path in (queries, qrels) if path])
    with session(settings) as work:
        operand = find_operand(work, target)
        judgments = load_judgments(queries, qrels, dataset, split, texts=operand.run is None)
        run = answers(work, operand, judgments.judged.queries, depth)
    if run_out is not None:
        write_run(run_out, run)
    found = evaluate_run(run, judgments.judged, metrics, label=operand.label)
    if settings.json:
        emit_json({**evaluation_json(found), "split": judgments.split})
        return ExitCode.OK
    print_tables(settings, evaluation_table(found))
    detectable = detectable_note(found)
    for note in (*judgments.notes, *evaluation_notes(found), *([detectable] if detectable else [])):
        write(note)
    return ExitCode.OK
