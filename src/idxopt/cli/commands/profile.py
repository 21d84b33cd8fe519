"""`idxopt profile`: what a corpus is like, and what that means for its representation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.mapping import mapped_program
from idxopt.cli.outputs import is_program
from idxopt.cli.progress import ConsoleProgress, counting
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ConfigError, ExitCode, SourceError, UsageError

if TYPE_CHECKING:
    from idxopt.evaluation.representations import Text
    from idxopt.evaluation.self_retrieval import SelfRetrieval
    from idxopt.models.ports import Embedder
    from idxopt.program.schema import Program
    from idxopt.sources import Source

SAMPLE_SEED = 20_240_229
_NAME = "profile"


def profile(
    settings: Settings,
    what: Annotated[str, typer.Argument(metavar="SOURCE|PROGRAM", help="Documents, or a program.json.")],
    source: options.Source = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="FIELD=PATH",
            help="Where title and body are, without a program (repeatable). Default: title=title and body=text.",
        ),
    ] = None,
    doc_id: options.DocumentId = "_id",
    markup: options.Markup = "markdown",
    sample: Annotated[int, typer.Option("--sample", min=2, help="Documents that are read, drawn by chance.")] = 1_000,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="An embedder of the program, or the id of one in idxopt.toml: does metadata find its own document?",
        ),
    ] = None,
) -> ExitCode:
    """Profile a corpus before anything is indexed: structure, titles, density, and the representation to use.

    Example: idxopt profile docs/ --markup markdown
    """
    from idxopt.cli.render.profiles import profile_json, profile_lines, profile_table
    from idxopt.evaluation.profile import profile as measure
    from idxopt.evaluation.regimes import predict

    with session(settings) as work, counting(settings) as progress:
        program, place = _wanted(work, what, source, field, doc_id, markup)
        with _named_fields(program):
            texts, seen, bad = _sampled(work.open_source(place, program), program, sample, progress)
        found = measure(texts, program.source.markup)
        own: SelfRetrieval | None = None
        if model is not None:
            with _embedder(work, program, model) as embedder:
                own = _self_retrieval(texts, program, embedder, progress)
    prediction = predict(found)
    if settings.json:
        emit_json({"source": place, "documents": seen, "rejected": bad, **profile_json(found, prediction, own)})
        return ExitCode.OK
    print_tables(settings, profile_table(found, own))
    for line in profile_lines(found, prediction, read=len(texts), seen=seen, rejected=bad):
        write(line)
    return ExitCode.OK


def _wanted(
    work: Session, what: str, source: str | None, field: list[str] | None, doc_id: str, markup: str
) -> tuple[Program, str]:
    """The program whose fields are read, and the place of the documents."""
    from idxopt.program.validate import load_program

    path = Path(what)
    if path.suffix == ".json" and path.is_file() and is_program(path):
        program = load_program(path)
        place = work.source_place(source)
        if place is None:
            raise UsageError("nothing says where the documents are", place="--source", remedy="add --source PLACE")
        return program, place
    if source is not None:
        raise UsageError(
            f"{what} is no program, so --source names a second place of documents",
            place="--source",
            remedy="give one of the two",
        )
    return mapped_program(_NAME, field, doc_id, markup, command="profile"), what


@contextmanager
def _named_fields(program: Program) -> Iterator[None]:
    """Where there is no program to correct, an error about a field says which option to use."""
    try:
        yield
    except SourceError as error:
        if program.name != _NAME or "source." not in (error.remedy or ""):
            raise
        remedy = f"say what there is with --field FIELD=PATH, --id PATH; {str(error.remedy).rpartition('; ')[2]}"
        raise SourceError(error.message, remedy=remedy, place=error.place) from error


def _sampled(source: Source, program: Program, size: int, progress: ConsoleProgress) -> tuple[list[Text], int, int]:
    """A sample drawn by chance in one pass (all where there are fewer), the documents seen, and those refused."""
    from idxopt.evaluation.profile import texts_of
    from idxopt.sources.rejects import Rejects

    if "body" not in program.source.fields:
        raise UsageError(
            "the program maps no field `body`, and the profile reads `title` and `body`",
            place="source.fields",
            remedy='map it: "fields": {"body": "PATH", ...}',
        )
    chance = random.Random(SAMPLE_SEED)
    rejects = Rejects()
    kept: list[tuple[int, Text]] = []
    seen = 0
    estimate = source.estimate().documents or 0
    for number, text in enumerate(texts_of(program, source.documents(rejects))):
        seen = number + 1
        if seen % 256 == 0:
            progress.advance("reading documents", seen, estimate)
        if len(kept) < size:
            kept.append((number, text))
        elif (slot := chance.randrange(seen)) < size:
            kept[slot] = (number, text)
    return [text for _, text in sorted(kept, key=lambda pair: pair[0])], seen, rejects.count


@contextmanager
def _embedder(work: Session, program: Program, name: str) -> Iterator[Embedder]:
    """An embedder of the program, or one that only idxopt.toml knows."""
    from idxopt.config.models import open_models
    from idxopt.program.schema import ModelSpec

    if name not in program.models:
        if name not in work.config.models:
            known = ", ".join(sorted({*program.models, *work.config.models})) or "none"
            raise ConfigError(
                f'no model "{name}" in the program or in idxopt.toml',
                place="--model",
                remedy=f"name one that is there (known: {known})",
            )
        spec = ModelSpec(kind="embedder", id=name)
        program = program.model_copy(update={"models": {name: spec}})
    with open_models(program, work.config) as models:
        yield models.embedder(name)


def _self_retrieval(
    texts: list[Text], program: Program, embedder: Embedder, progress: ConsoleProgress
) -> SelfRetrieval:
    from idxopt.evaluation.self_retrieval import self_retrieval

    return self_retrieval(
        texts,
        program.source.markup,
        embedder,
        on_progress=lambda done, every: progress.advance("embedding", done, every),
    )
