"""`idxopt optimize`: searches for a better program on documents and judged queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.interruption import Stopped, stopped_by
from idxopt.cli.progress import stoppable
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.staging import StagedOptions, staged_by
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.cli.studies import (
    DEFAULT_NAME,
    DOCUMENTS_PER_S,
    EMBEDDED,
    QUERIES_PER_S,
    JudgmentOptions,
    LivePace,
    engine_choice,
    judged_sets,
    proposing_model,
    start_program,
    texts_removed,
)
from idxopt.cli.units import parse_seconds
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.optimizer.study.run import StudyResult

JUDGED, PROGRAM, SEARCH, LIMITS = "Judged queries", "Program to start from", "Search", "Limits"
STAGED = "Behind dense retrieval and reranking"
SEARCHERS = ("autoindex",)
LATENCY_S = 20.0


def optimize(
    settings: Settings,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Documents: a file, a folder, a BEIR folder, or index:NAME.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="Folder of the study. Given again, the study goes on."),
    ],
    searcher: Annotated[str, typer.Option("--searcher", help="autoindex.")] = "autoindex",
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            "--dev",
            "--judgments",
            metavar="FOLDER",
            rich_help_panel=JUDGED,
            help="Judged queries to search with (repeatable: a change may lose on none). Default: those in SOURCE.",
        ),
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(
            "--test", metavar="FOLDER", rich_help_panel=JUDGED, help="Judged queries that the search never sees."
        ),
    ] = None,
    queries: options.Queries = None,
    qrels: options.Qrels = None,
    dataset: options.Dataset = None,
    split: options.Split = None,
    held_out: Annotated[
        float,
        typer.Option("--held-out", min=0.0, max=0.9, rich_help_panel=JUDGED, help="Share that is read at the end."),
    ] = 0.2,
    test_share: Annotated[
        float,
        typer.Option("--test-share", min=0.0, max=0.9, rich_help_panel=JUDGED, help="Share that is kept for the test."),
    ] = 0.0,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", rich_help_panel=JUDGED, help="Judged documents may be missing.")
    ] = False,
    program: Annotated[
        Path | None,
        typer.Option(
            "--program", metavar="PROGRAM", rich_help_panel=PROGRAM, help="Default: BM25 over all fields in one."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            rich_help_panel=PROGRAM,
            help=f"Public name of the winner. Default: that of --program, or {DEFAULT_NAME}.",
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="FIELD=PATH",
            rich_help_panel=PROGRAM,
            help="Fields (repeatable). Default: title=title and body=text.",
        ),
    ] = None,
    doc_id: options.DocumentId = "_id",
    markup: Annotated[
        str,
        typer.Option(
            "--markup", rich_help_panel=PROGRAM, help="markdown, html, rest, asciidoc, text; auto looks for headings."
        ),
    ] = "auto",
    proposer: Annotated[
        str, typer.Option("--proposer", rich_help_panel=SEARCH, help="heuristic, llm, random or mixed.")
    ] = "heuristic",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID", rich_help_panel=SEARCH, help="The language model of llm, or of mixed."),
    ] = None,
    consensus: Annotated[
        int,
        typer.Option("--consensus", min=1, max=9, rich_help_panel=SEARCH, help="Answers asked of the model a round."),
    ] = 1,
    retry_failed_answers: Annotated[
        bool,
        typer.Option(
            "--retry-failed-answers",
            rich_help_panel=SEARCH,
            help="Ask again what the model did not answer in earlier runs of this study (time-outs, failures).",
        ),
    ] = False,
    rule: Annotated[
        str, typer.Option("--rule", rich_help_panel=SEARCH, help="guarded (asks for evidence) or paper (any gain).")
    ] = "guarded",
    objective: Annotated[
        str, typer.Option("--objective", rich_help_panel=SEARCH, help="auto, recall or ndcg.")
    ] = "auto",
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=20, rich_help_panel=SEARCH, help="K.")] = 20,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, max=100, rich_help_panel=SEARCH, help="Programs of a round (n).")
    ] = 4,
    patience: Annotated[
        int, typer.Option("--patience", min=1, rich_help_panel=SEARCH, help="Rounds without gain before it ends.")
    ] = 5,
    no_merge: Annotated[
        bool, typer.Option("--no-merge", rich_help_panel=SEARCH, help="Keep only the best change of a round.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, rich_help_panel=SEARCH, help="Of split and search.")] = 0,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            metavar="N",
            min=2,
            rich_help_panel=SEARCH,
            help="Search on N documents: all judged ones and the hardest others; then measure on all.",
        ),
    ] = None,
    control: Annotated[
        int,
        typer.Option(
            "--control",
            metavar="N",
            min=0,
            max=1_000,
            rich_help_panel=SEARCH,
            help="Also score N random changes of the baseline, for comparison in the report; the budget is not used.",
        ),
    ] = 0,
    staged: Annotated[
        bool,
        typer.Option(
            "--staged",
            rich_help_panel=STAGED,
            help="At the end score baseline and winner behind a dense leg and a reranker too.",
        ),
    ] = False,
    embedder: Annotated[
        str | None, typer.Option("--embedder", metavar="ID", rich_help_panel=STAGED, help="Default: all-MiniLM-L6-v2.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option("--dimension", min=1, rich_help_panel=STAGED, help="Length of the embedder's vectors.")
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            "--reranker", metavar="ID", rich_help_panel=STAGED, help="none leaves it out. Default: as PRIME's presets."
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="Where programs are scored: embedded, or a cluster profile (trial indices, deleted at the end).",
        ),
    ] = EMBEDDED,
    documents_per_second: Annotated[
        float,
        typer.Option(
            "--documents-per-second", min=0.0, rich_help_panel=LIMITS, help="Most that a cluster is sent; 0: no limit."
        ),
    ] = DOCUMENTS_PER_S,
    queries_per_second: Annotated[
        float,
        typer.Option(
            "--queries-per-second", min=0.0, rich_help_panel=LIMITS, help="Most that a cluster is asked; 0: no limit."
        ),
    ] = QUERIES_PER_S,
    evaluations: Annotated[
        int | None, typer.Option("--evaluations", min=1, rich_help_panel=LIMITS, help="Programs scored at most.")
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option("--time-limit", metavar="TIME", rich_help_panel=LIMITS, help="Of this run: 90s, 10m, 2h."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="MONEY",
            min=0.0,
            max=1_000_000.0,
            rich_help_panel=LIMITS,
            help="Most to spend on the language model over all runs of this study.",
        ),
    ] = None,
    max_views: Annotated[int | None, typer.Option("--max-views", min=1, rich_help_panel=LIMITS)] = None,
    max_rows: Annotated[int | None, typer.Option("--max-rows", min=1, rich_help_panel=LIMITS)] = None,
    max_bytes: Annotated[int | None, typer.Option("--max-bytes", min=1, rich_help_panel=LIMITS)] = None,
    max_p95: Annotated[
        str | None,
        typer.Option("--max-p95", metavar="TIME", rich_help_panel=LIMITS, help="95% of queries are as fast: 50ms."),
    ] = None,
    no_latency: Annotated[
        bool,
        typer.Option(
            "--no-latency", rich_help_panel=LIMITS, help=f"Measure no latency at the end (at most {LATENCY_S:g} s)."
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=2, rich_help_panel=LIMITS, help="Processes; the result is the same.")
    ] = 1,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FILE",
            rich_help_panel=LIMITS,
            help="A store of scores that several studies share. Default: one in the study's folder.",
        ),
    ] = None,
) -> ExitCode:
    """Search for the representation program that a corpus deserves, with a frozen retriever.

    Killed or stopped, the same command goes on where it was. Ends with the `idxopt plan` line of the winner.

    Example: idxopt optimize docs/ --dev judged/ --out studies/docs
    """
    from idxopt.optimizer.autoindex.settings import SearchSettings
    from idxopt.optimizer.study.inputs import RunLimits, StudyInputs, StudySettings
    from idxopt.optimizer.study.proposers import proposer_choice
    from idxopt.optimizer.study.run import run_study

    if searcher not in SEARCHERS:
        raise UsageError(f"there is no searcher {searcher!r}", place="--searcher", remedy=f"use {SEARCHERS[0]}")
    _one_of(rule, ("guarded", "paper"), "--rule")
    _one_of(objective, ("auto", "recall", "ndcg"), "--objective")
    search: dict[str, Any] = {
        "rounds": rounds,
        "candidates": candidates,
        "evaluations": evaluations,
        "patience": patience,
        "rule": rule,
        "objective": objective,
        "merge": not no_merge,
        "max_views": max_views,
        "max_rows": max_rows,
        "max_bytes": max_bytes,
        "seed": seed,
    }
    study_settings = StudySettings(
        SearchSettings(**search),
        held_out=held_out,
        test=test_share,
        sample=sample,
        max_p95_ms=None if max_p95 is None else 1_000 * parse_seconds(max_p95, "--max-p95", like="50ms"),
        allow_missing=allow_missing,
    )
    limits = RunLimits(
        time_s=None if time_limit is None else parse_seconds(time_limit, "--time-limit"),
        workers=workers,
        budget=budget,
        scores=scores,
        controls=control,
        retry_failed_answers=retry_failed_answers,
        latency_s=0.0 if no_latency else LATENCY_S,
    )
    sets = judged_sets(source, JudgmentOptions(queries, qrels, dataset, split, dev or (), test or (), test_share))
    changed = texts_removed(source, sets)
    with session(settings) as work, proposing_model(work, model, budget) as (generator, currency):
        baseline = start_program(work, source, name, program, field, doc_id, markup)
        inputs = StudyInputs(
            name=out.resolve().name,
            source=work.open_source(source, baseline),
            baseline=baseline,
            sets=sets,
            proposer=proposer_choice(proposer, seed=seed, generator=generator, samples=consensus, currency=currency),
            engine=engine_choice(work, engine, out, LivePace(documents_per_second, queries_per_second)),
            settings=study_settings,
            limits=limits,
            plan_options=_plan_options(work, source if changed is None else changed.source),
            staged=staged_by(work, StagedOptions(staged, embedder, dimension, reranker)),
        )
        with stoppable(settings) as progress, _kept():
            result = run_study(inputs, out, progress)
    _show(settings, result, None if changed is None else changed.source)
    return ExitCode.OK if result.stopped is None else ExitCode.BUDGET


@contextmanager
def _kept() -> Iterator[None]:
    """A signal ends the command with what is there to go on with."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        kept = "what was scored is kept"
        raise Stopped(stopped_by(interrupt), kept, "run the same command again: it goes on where it was") from None


def _one_of(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        raise UsageError(f"{value!r} is not known", place=option, remedy=f"use {', '.join(allowed)}")


def _plan_options(work: Session, source: str) -> str:
    """What `idxopt plan` needs beside the program to put it where this command works."""
    import shlex

    cluster = f" --cluster {work.cluster}" if work.cluster else ""
    return f"--source {shlex.quote(source)}{cluster}"


def _show(settings: Settings, result: StudyResult, whole: str | None) -> None:
    """`whole`: where the documents are as they were, if the study read them without the texts of its queries."""
    from idxopt.cli.render.studies import closing_lines, ending_json, finals_table, path_table, staged_table

    record, folder = result.record, result.folder
    files = {"report": str(folder.report), "program": str(folder.program), "study": str(folder.path)}
    if settings.json:
        emit_json(ending_json(record, files, result.stopped))
        return
    tables = [path_table(record)] if record.path else []
    tables += [finals_table(record), *([staged_table(record)] if record.staged else [])]
    print_tables(settings, *tables)
    for line in closing_lines(record, files):
        write(line)
    if result.stopped is not None:
        write(f"! stopped early: {result.stopped}; run the same command again to go on")
    if whole is not None:
        write(f"! the documents of this study have texts removed; they are whole in {whole}")
    if not result.improved:
        write(record.without_change)
        return
    write(f"to see what it would change: {record.plan}")
    write(f"to put it live: {record.plan.replace('idxopt plan', 'idxopt apply', 1)}")
