"""`idxopt queries make`: queries and judgments for those who have none, always marked synthetic."""

from __future__ import annotations

import random
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.asking import questions_about
from idxopt.cli.mapping import mapped_program
from idxopt.cli.progress import ConsoleProgress, counting
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.errors import ConfigError, ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from idxopt.evaluation.synthetic.clicks import Shown
    from idxopt.evaluation.synthetic.folder import Making
    from idxopt.evaluation.synthetic.known_items import Kind
    from idxopt.evaluation.synthetic.making import Collection
    from idxopt.program.schema import Program

QUERIES, SEED = 200, 20_240_229
MODEL, CLICKS = "From a language model", "From clicks"
_KINDS: dict[str, Kind] = {"titles": "title", "headings": "heading", "sentences": "sentence"}
_DEFAULT = ("headings", "sentences")
_OTHERS = ("llm", "clicks", "ubi")


def make(
    settings: Settings,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Documents: a file, a folder, or index:NAME.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where queries, judgments and documents go.")],
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="WHAT",
            help="headings, sentences (repeatable; default: both), titles; or llm, clicks, ubi.",
        ),
    ] = None,
    queries: Annotated[
        int | None, typer.Option("--queries", min=1, help=f"At most so many. Default: {QUERIES}; from clicks: all.")
    ] = None,
    per_document: Annotated[int, typer.Option("--per-document", min=1, help="At most so many of one document.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Decides what is drawn.")] = SEED,
    program: Annotated[
        Path | None, typer.Option("--program", metavar="FILE", help="Read documents as this program does.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="FIELD=PATH", help="Fields (repeatable). Default: title=title and body=text."),
    ] = None,
    doc_id: options.DocumentId = "_id",
    markup: options.Markup = "markdown",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="ID", rich_help_panel=MODEL, help="Id of a generator in idxopt.toml, or extractive."
        ),
    ] = None,
    budget: options.Budget = None,
    yes: options.Yes = False,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", metavar="FILE", rich_help_panel=CLICKS, help="CSV with query, document, position, clicks."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="ROLE=NAME", rich_help_panel=CLICKS, help="A column of the log (repeatable)."),
    ] = None,
    ubi_queries: Annotated[str, typer.Option("--ubi-queries", metavar="INDEX", rich_help_panel=CLICKS)] = "ubi_queries",
    ubi_events: Annotated[str, typer.Option("--ubi-events", metavar="INDEX", rich_help_panel=CLICKS)] = "ubi_events",
    click: Annotated[
        list[str] | None,
        typer.Option("--click", metavar="ACTION", rich_help_panel=CLICKS, help="What UBI events call a click."),
    ] = None,
    impression: Annotated[
        list[str] | None,
        typer.Option("--impression", metavar="ACTION", rich_help_panel=CLICKS, help="What they call a showing."),
    ] = None,
    least_shown: Annotated[
        int, typer.Option("--least-shown", min=1, rich_help_panel=CLICKS, help="Showings that a judgment needs.")
    ] = 10,
    smoothing: Annotated[
        float, typer.Option("--smoothing", min=0.001, max=1e6, rich_help_panel=CLICKS, help="Pseudo clicks.")
    ] = 1.0,
    most_clicks: Annotated[
        int, typer.Option("--most-clicks", min=1, rich_help_panel=CLICKS, help="More in a session: a robot.")
    ] = 100,
) -> ExitCode:
    """Make queries with judgments from documents, a language model or clicks; reports always call them synthetic.

    Example: idxopt queries make docs/ --from headings --out judged
    """
    from idxopt.evaluation.synthetic.clicks import ClickModel
    from idxopt.evaluation.synthetic.folder import write_folder
    from idxopt.evaluation.synthetic.making import from_clicks, from_questions, known_items
    from idxopt.evaluation.synthetic.selection import Settings as Drawn

    what = _what(origin)
    _check_options(what, model, log)
    _check_out(out, source)
    wanted = _program(program, field, doc_id, markup)
    drawn = Drawn(queries or QUERIES, per_document, seed)
    with session(settings) as work, counting(settings) as progress:
        collection = _collection(work, source, wanted, progress)
        if what[0] == "llm":
            assert model is not None
            asked = _drawn_documents(collection, drawn)
            questions = questions_about(
                work, progress, asked, collection.source, _known_model(work, model), budget=budget, yes=yes
            )
            making = from_questions(collection, questions, model, drawn, _told(progress))
        elif what[0] in _OTHERS:
            shown, name = _log(work, what[0], log, column, (ubi_queries, ubi_events), click, impression)
            clicks = ClickModel(least_shown, smoothing, most_clicks)
            making = from_clicks(collection, shown, name, clicks, queries, seed)
        else:
            making = known_items(collection, [_KINDS[name] for name in what], drawn, _told(progress))
        progress.check()
        write_folder(out, making, collection.documents, collection.source)
    if settings.json:
        emit_json(_json(out, making))
        return ExitCode.OK
    for line in _lines(out, making, wanted):
        write(line)
    return ExitCode.OK


def _what(origin: Sequence[str] | None) -> list[str]:
    """What queries are made of; known items may be mixed, the others stand alone. Raises UsageError."""
    wanted = list(dict.fromkeys(origin or _DEFAULT))
    for name in wanted:
        if name not in (*_KINDS, *_OTHERS):
            raise UsageError(
                f"{name!r} is nothing that queries are made of",
                place="--from",
                remedy=f"use {', '.join((*_KINDS, *_OTHERS))}",
            )
        if name in _OTHERS and len(wanted) > 1:
            raise UsageError(f"{name} cannot be mixed with others", place="--from", remedy="make a folder of each")
    return wanted


def _check_options(what: Sequence[str], model: str | None, log: Path | None) -> None:
    for name, given, option in (("llm", model, "--model"), ("clicks", log, "--log")):
        if (what[0] == name) != (given is not None):
            verb = "needs" if what[0] == name else "alone takes"
            raise UsageError(
                f"--from {name} {verb} {option}",
                place=option,
                remedy=f"add {option}" if verb == "needs" else f"add --from {name}, or leave {option} out",
            )


def _check_out(out: Path, source: str) -> None:
    from idxopt.evaluation.synthetic.folder import is_free

    remedy = "choose another folder, or move that one away first"
    place = Path(source)
    if place.exists() and out.exists() and (place.samefile(out) or place.resolve().is_relative_to(out.resolve())):
        raise UsageError(f"{out} holds the documents that this command reads", place="--out", remedy=remedy)
    if not is_free(out):
        raise UsageError(f"{out} holds other files than those of `queries make`", place="--out", remedy=remedy)


def _program(program: Path | None, field: list[str] | None, doc_id: str, markup: str) -> Program:
    from idxopt.program.validate import load_program

    if program is None:
        return mapped_program("queries", field, doc_id, markup, command="queries make")
    if field:
        raise UsageError("the program says where the fields are", place="--field", remedy="give one of the two")
    return load_program(program)


def _collection(work: Session, place: str, program: Program, progress: ConsoleProgress) -> Collection:
    from idxopt.evaluation.synthetic.making import Collection
    from idxopt.sources.rejects import Rejects

    rejects = Rejects()
    documents = {}
    source = work.open_source(place, program)
    estimate = source.estimate().documents or 0
    for number, document in enumerate(source.documents(rejects), 1):
        documents[document.id] = document
        progress.advance("reading documents", number, estimate)
    return Collection(place, program.source, documents, rejects.count)


def _drawn_documents(collection: Collection, drawn: Any) -> list[Any]:
    """As many as the queries need, at `per_document` of each."""
    count = min(len(collection.documents), -(-drawn.queries // drawn.per_document))
    ids = random.Random(drawn.seed).sample(sorted(collection.documents), count)
    return [collection.documents[id_] for id_ in sorted(ids)]


def _known_model(work: Session, model: str) -> str:
    from idxopt.program.model_checks import EXTRACTIVE

    if model != EXTRACTIVE and model not in work.config.models:
        known = ", ".join(sorted(work.config.models)) or "none"
        raise ConfigError(
            f'idxopt.toml has no model "{model}"',
            place="--model",
            remedy=f"name one of it (known: {known}), or extractive",
        )
    return model


def _log(
    work: Session,
    what: str,
    log: Path | None,
    column: Sequence[str] | None,
    indices: tuple[str, str],
    click: Sequence[str] | None,
    impression: Sequence[str] | None,
) -> tuple[Iterator[Shown], str]:
    """The log, and what the mark calls it."""
    from idxopt.evaluation.synthetic.click_tables import named_columns, read_click_table
    from idxopt.evaluation.synthetic.ubi import CLICK, IMPRESSION, Ubi, read_ubi

    if what == "ubi":
        ubi = Ubi(*indices, clicks=tuple(click or (CLICK,)), impressions=tuple(impression or (IMPRESSION,)))
        return read_ubi(work.engine, ubi), f"(UBI, {indices[1]})"
    assert log is not None
    return read_click_table(log, named_columns(column or ())), f"({log.name})"


def _told(progress: ConsoleProgress) -> Any:
    return lambda done, wanted: progress.advance("choosing queries", done, wanted)


def _json(out: Path, making: Making) -> dict[str, Any]:
    return {
        "folder": str(out),
        "synthetic": making.mark,
        "queries": len(making.made),
        "changed_documents": len(making.cuts),
        **making.facts,
    }


def _lines(out: Path, making: Making, program: Program) -> Iterator[str]:
    facts = making.facts
    yield f"{len(making.made)} queries in {out}: synthetic judgments ({making.mark})"
    read = f"{facts['read_documents']} documents read"
    looked = (
        f", {facts['candidates_looked_at']} of {facts['candidates']} candidates looked at"
        if "candidates" in facts
        else ""
    )
    yield f"{read}{looked}"
    dropped = ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in facts["dropped"].items())
    yield f"left out: {dropped or 'nothing'}"
    if facts.get("wanted_queries", 0) > len(making.made):
        yield f"! fewer than the {facts['wanted_queries']} that were wanted: {_shortage(facts)}"
    if "title" in facts.get("made", {}):
        yield "! titles were removed: programs that search titles look worse than they are, here"
    if making.cuts:
        yield (
            f"The texts of the queries were removed from {len(making.cuts)} documents: the judgments are good only for "
            f"{out / 'corpus.jsonl'}, not for the documents as they were."
        )
        place = shlex.quote(str(out))
        yield f"Next: idxopt optimize {place} --name NAME{_mapping(program)} --out studies/NAME"
        yield f"Or: idxopt apply PROGRAM --source {place}, then idxopt evaluate NAME --dataset {place}"
        return
    yield f"Next: idxopt evaluate NAME --dataset {out}"


def _shortage(facts: Mapping[str, Any]) -> str:
    """Why there are no more queries."""
    left, limit = facts["candidates"] - facts["candidates_looked_at"], facts["per_document"]
    if not left:
        return "no more candidates are left"
    return (
        f"at most {limit} of one document {'is' if limit == 1 else 'are'} taken, so {left} candidates were not looked"
        f" at; --per-document {limit + 1} allows more"
    )


def _mapping(program: Program) -> str:
    """The options with which `optimize` reads the documents as `program` does; empty for its defaults."""
    source = program.source
    options = [] if source.id == "_id" else ["--id", source.id]
    if dict(source.fields) != {"title": "title", "body": "text"}:
        options += [word for name, path in source.fields.items() for word in ("--field", f"{name}={path}")]
    if source.markup != "markdown":
        options += ["--markup", source.markup]
    return "".join(f" {shlex.quote(word)}" for word in options)
