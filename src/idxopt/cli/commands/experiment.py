"""`idxopt experiment prime`: PRIME's tables on the user's own collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.commands.preset import MODELS, model_options
from idxopt.cli.generating import consent, open_priced
from idxopt.cli.mapping import mapped_program
from idxopt.cli.progress import counting
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, say, write
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.engines.port import Engine
    from idxopt.experiments.prime import Encoders
    from idxopt.experiments.running import Collection
    from idxopt.models.opening import Models
    from idxopt.program.presets import PresetOptions
    from idxopt.program.schema import Program, Source

SAMPLE = "Sample"


def prime(
    settings: Settings,
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="BEIR folders; or one place of documents with --queries.")
    ],
    queries: options.Queries = None,
    qrels: options.Qrels = None,
    split: options.Split = None,
    work: Annotated[
        Path, typer.Option("--work", metavar="FOLDER", help="Where indices, finished parts and reports go.")
    ] = Path("idxopt-experiment"),
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Only this method, beside raw (repeatable). Default: all."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="FIELD=PATH", help="Fields (repeatable). Default: title=title and body=text."),
    ] = None,
    doc_id: options.DocumentId = "_id",
    markup: Annotated[
        str, typer.Option("--markup", help="markdown, html, rest, asciidoc, text; auto looks for Markdown headings.")
    ] = "auto",
    max_queries: Annotated[int, typer.Option("--max-queries", min=1, rich_help_panel=SAMPLE)] = 100,
    max_documents: Annotated[int, typer.Option("--max-documents", min=1, rich_help_panel=SAMPLE)] = 1_000,
    max_characters: Annotated[
        int,
        typer.Option("--max-characters", min=1, rich_help_panel=SAMPLE, help="Of all bodies; judged ones are kept."),
    ] = 1_500_000,
    seed: Annotated[int | None, typer.Option("--seed", rich_help_panel=SAMPLE)] = None,
    long: Annotated[
        bool, typer.Option("--long", rich_help_panel=SAMPLE, help="Every query and every document; takes hours.")
    ] = False,
    profile: Annotated[str, typer.Option("--profile", rich_help_panel=MODELS, help="default or paper.")] = "default",
    model: Annotated[
        str | None, typer.Option("--model", metavar="ID", rich_help_panel=MODELS, help="The encoder.")
    ] = None,
    dimension: Annotated[int | None, typer.Option("--dimension", min=1, rich_help_panel=MODELS)] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=8, rich_help_panel=MODELS)] = None,
    reranker: Annotated[str | None, typer.Option("--reranker", metavar="ID", rich_help_panel=MODELS)] = None,
    generator: Annotated[
        str | None,
        typer.Option("--generator", metavar="ID", rich_help_panel=MODELS, help="A language model for SR."),
    ] = None,
    second_model: Annotated[
        str | None,
        typer.Option(
            "--second-model", metavar="ID", rich_help_panel=MODELS, help="A stronger encoder, for one more row of raw."
        ),
    ] = None,
    second_dimension: Annotated[int | None, typer.Option("--second-dimension", min=1, rich_help_panel=MODELS)] = None,
    second_max_tokens: Annotated[int | None, typer.Option("--second-max-tokens", min=8, rich_help_panel=MODELS)] = None,
    budget: options.Budget = None,
    yes: options.Yes = False,
) -> ExitCode:
    """Compare PRIME's representations under dense, hybrid and reranked search; a killed run goes on where it stopped.

    Example: idxopt experiment prime collections/scifact --work out
    """
    from idxopt.config.load import cache_dir
    from idxopt.deploy.options import TextOptions
    from idxopt.experiments.building import Workplace
    from idxopt.experiments.reports import NAMES, json_report, rich_table
    from idxopt.experiments.running import PrimeExperiment
    from idxopt.experiments.sampling import EVERYTHING, SEED, Limits
    from idxopt.experiments.summary import overview
    from idxopt.experiments.tables import sentences
    from idxopt.operators.heap import map_large_blocks

    map_large_blocks()
    limits = replace(
        EVERYTHING if long else Limits(max_queries, max_documents, max_characters), seed=SEED if seed is None else seed
    )
    chosen = model_options(profile, model, dimension, max_tokens, reranker, generator)
    if chosen.reranker is None:
        raise UsageError("a column of the tables is reranked", place="--reranker", remedy="name a reranker")
    source, known = _source(field, doc_id, markup)
    experiment = PrimeExperiment(
        source=source,
        markup=known,
        limits=limits,
        encoders=_encoders(chosen, second_model, second_dimension, second_max_tokens),
        methods=tuple(method or ()),
    )
    collections = _collections(sources, queries, qrels, split)
    results = []
    with session(settings) as opened, counting(settings) as progress, _engine(opened, work) as engine:
        texts = TextOptions(budget=budget, consent=consent(settings, progress, lambda _: yes))
        place = Workplace(engine, work, cache_dir(), progress, texts, opened.profile.workers)

        def models(program: Program) -> Models:
            return open_priced(program, opened.config, budget)

        for result in experiment.results(collections, place, models):
            results.append(result)
            say(settings, f"{result.name}: {result.statement}; {result.seconds:.0f} s")
        setting = experiment.setting(place)
    if settings.json:
        emit_json(json_report(results, setting))
        return ExitCode.OK
    print_tables(settings, *map(rich_table, overview(results)))
    for result in results:
        write(f"{result.name}: {result.statement}.")
        for sentence in sentences(result):
            write(f"- {sentence}")
    write(f"All tables: {', '.join(str(work / name) for name in NAMES)}")
    return ExitCode.OK


def _source(field: list[str] | None, doc_id: str, markup: str) -> tuple[Source, Any]:
    """The source mapping, and the markup, None where it is to be guessed. Raises ProgramError and UsageError."""
    known = "text" if markup == "auto" else markup
    source = mapped_program("experiment", field, doc_id, known, command="experiment").source
    return source, None if markup == "auto" else source.markup


def _encoders(chosen: PresetOptions, model: str | None, dimension: int | None, max_tokens: int | None) -> Encoders:
    from idxopt.experiments.prime import Encoders

    if model is None:
        if dimension is not None or max_tokens is not None:
            raise UsageError("belongs to a second encoder", place="--second-dimension", remedy="add --second-model ID")
        return Encoders(chosen)
    if dimension is None:
        raise UsageError(
            f"the length of the vectors of {model} is not known",
            place="--second-model",
            remedy="add --second-dimension N",
        )
    strong = replace(chosen, model=model, dimension=dimension, query_prefix="", passage_prefix="")
    return Encoders(chosen, replace(strong, max_tokens=max_tokens or chosen.max_tokens))


def _collections(
    sources: Sequence[str], queries: Path | None, qrels: Path | None, split: str | None
) -> list[Collection]:
    """Raises UsageError where it is not clear which judgments belong to which documents."""
    from idxopt.cli.operands import load_judgments
    from idxopt.evaluation.datasets import load_dataset_folder
    from idxopt.experiments.running import Collection, named

    if queries is not None or qrels is not None:
        if len(sources) > 1:
            raise UsageError(
                "belong to one collection, and several are given",
                place="--queries, --qrels",
                remedy="give BEIR folders, or one SOURCE",
            )
        return [
            Collection(
                named(sources[0]),
                sources[0],
                lambda: load_judgments(queries, qrels, None, split, texts=True).judged,
            )
        ]
    for place in sources:
        if not Path(place).is_dir():
            raise UsageError(
                f"{place} is no BEIR folder, so its queries are not known",
                place="SOURCE",
                remedy="add --queries FILE --qrels FILE",
            )
    return [Collection(named(place), place, partial(load_dataset_folder, Path(place), split)) for place in sources]


@contextmanager
def _engine(opened: Session, work: Path) -> Iterator[Engine]:
    """The cluster that was named, else the embedded engine in the work folder."""
    import os

    from idxopt.engines.embedded import EmbeddedEngine

    if opened.settings.cluster or os.environ.get("IDXOPT_CLUSTER"):
        yield opened.engine
        return
    engine = EmbeddedEngine(work / "engine")
    try:
        yield engine
    finally:
        engine.close()
