"""`idxopt compare`: two builds or run files, query by query."""

from __future__ import annotations

from typing import Annotated

import typer

from idxopt.cli import options
from idxopt.cli.operands import FORMS, answers, find_operand, load_judgments
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ExitCode


def compare(
    settings: Settings,
    a: Annotated[str, typer.Argument(metavar="A", help=f"{FORMS}.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same; figures are those of B against A.")],
    queries: options.Queries = None,
    qrels: options.Qrels = None,
    dataset: options.Dataset = None,
    split: options.Split = None,
    metric: options.Metrics = None,
    depth: options.Depth = 100,
    losers: Annotated[int, typer.Option("--queries-shown", min=0, help="Queries with the largest differences.")] = 10,
) -> ExitCode:
    """Compare B with A on the same judged queries: paired differences, 95% intervals, wins and losses.

    Example: idxopt compare handbook@1a2b3c4d handbook --queries queries.jsonl --qrels qrels.tsv
    """
    from idxopt.evaluation.comparison import compare as compare_evaluations
    from idxopt.evaluation.comparison import evaluate_run
    from idxopt.evaluation.metrics import DEFAULT_METRICS, parse_metric
    from idxopt.evaluation.tables import (
        BAR_HEADING,
        comparison_json,
        comparison_notes,
        comparison_table,
        evaluation_notes,
        query_table,
    )

    metrics = [parse_metric(name) for name in metric or ()] or list(DEFAULT_METRICS)
    with session(settings) as work:
        sides = [find_operand(work, a), find_operand(work, b)]
        asked = any(side.run is None for side in sides)
        judgments = load_judgments(queries, qrels, dataset, split, texts=asked)
        runs = [answers(work, side, judgments.judged.queries, depth) for side in sides]
    first, second = (
        evaluate_run(run, judgments.judged, metrics, label=side.label) for run, side in zip(runs, sides, strict=True)
    )
    found = compare_evaluations(first, second)
    same = sides[0].build_id is not None and sides[0].build_id == sides[1].build_id
    if settings.json:
        emit_json({**comparison_json(found), "split": judgments.split, "same_build": same})
        return ExitCode.OK
    tables = [comparison_table(found)]
    if losers and any(query.difference for query in found.metrics[0].queries):
        tables.append(query_table(found.metrics[0], losers))
    print_tables(settings, *tables, spare=(BAR_HEADING,))
    for note in judgments.notes:
        write(note)
    for evaluation in (first, second):
        for note in evaluation_notes(evaluation):
            write(f"{evaluation.label}: {note}")
    if same:
        write(f"! A and B are the same build ({sides[0].build_id}): every difference is 0")
    for note in comparison_notes(found):
        write(f"! {note}")
    return ExitCode.OK
