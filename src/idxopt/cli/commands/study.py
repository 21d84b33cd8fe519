"""`idxopt study`: what studies found, read from their folders; a study that runs may be looked at too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli.outputs import is_program, is_report, refuse_foreign
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import BuildError, ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.optimizer.study.looking import Damaged, Study

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of a study.")]


def list_studies(
    settings: Settings,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder that holds studies, at any depth up to three.")
    ] = Path(),
) -> ExitCode:
    """List studies with their best value, its interval and n.

    Example: idxopt study list studies/
    """
    from idxopt.cli.render.studies import listed, listed_damaged, studies_table
    from idxopt.optimizer.study.looking import Damaged, find_studies

    def line(one: Study | Damaged) -> dict[str, Any]:
        plain = settings.json
        return listed_damaged(one, plain=plain) if isinstance(one, Damaged) else listed(one, plain=plain)

    studies = find_studies(folder)
    if settings.json:
        emit_json([line(one) for one in studies])
        return ExitCode.OK
    if not studies:
        write(f"{folder}: there are no studies")
        return ExitCode.OK
    print_tables(settings, studies_table([line(one) for one in studies]))
    for one in studies:
        if isinstance(one, Damaged):
            write(f"! {one.folder.path} is damaged: {one.why}")
    return ExitCode.OK


def show_study(
    settings: Settings,
    study: Folder,
    diff: Annotated[bool, typer.Option("--diff", help="Only the difference of the winner to the baseline.")] = False,
    every: Annotated[bool, typer.Option("--all", help="All programs that were not kept, not only 20.")] = False,
) -> ExitCode:
    """Show the accepted path with gain and interval at each step, what was refused and why, and the program's diff.

    Example: idxopt study show studies/docs
    """
    from idxopt.cli.render.studies import (
        closing_lines,
        finals_table,
        path_table,
        program_diff,
        refused_table,
        running_lines,
        staged_table,
        trials_json,
    )
    from idxopt.optimizer.study.looking import look_at

    found = look_at(study)
    record = found.record
    if record is None:
        if diff:
            raise _unfinished(found)
        if settings.json:
            emit_json({"study": found.name, "state": found.state, "trials": trials_json(found)})
            return ExitCode.OK
        for line in running_lines(found):
            write(line)
        return ExitCode.OK
    if settings.json:
        emit_json(json.loads(record.to_json()))
        return ExitCode.OK
    if diff:
        write(program_diff(record).rstrip("\n") or "the winner is the baseline")
        return ExitCode.OK
    refused = [trial for trial in record.tried if trial.status not in ("kept", "merged")]
    tables = [path_table(record)] if record.path else []
    tables += [refused_table(refused if every else refused[:20], record.objective.metric), finals_table(record)]
    print_tables(settings, *tables, *([staged_table(record)] if record.staged else []))
    if len(refused) > 20 and not every:
        write(f"{len(refused) - 20} more were not kept; --all lists them")
    write(program_diff(record).rstrip("\n") or "the winner is the baseline")
    for line in closing_lines(record, {"report": str(found.folder.report), "program": str(found.folder.program)}):
        write(line)
    return ExitCode.OK


def export_program(
    settings: Settings,
    study: Folder,
    point: Annotated[
        int | None,
        typer.Option("--point", min=0, metavar="N", help="The program of trial N (0: the baseline). Default: winner."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there instead of to stdout.")
    ] = None,
) -> ExitCode:
    """Write one program of a study: the winner, or that of a trial.

    Example: idxopt study export studies/docs --point 12 --out program.json
    """
    from idxopt.optimizer.study.folder import replace_file
    from idxopt.optimizer.study.looking import look_at

    if out is not None:
        refuse_foreign(out, "--out", "a program", is_program)
    program = look_at(study).program(point)
    text = json.dumps(program, ensure_ascii=False, indent=2)
    if out is None:
        emit_json(program)
        return ExitCode.OK
    replace_file(out, f"{text}\n".encode())
    emit_json({"program": str(out)}) if settings.json else write(f"program: {out}")
    return ExitCode.OK


def diagnose_study(
    settings: Settings,
    study: Folder,
    of: Annotated[str, typer.Option("--of", help="winner or baseline.")] = "winner",
    failing: Annotated[int, typer.Option("--queries-shown", min=0, help="Failing queries that are shown.")] = 10,
) -> ExitCode:
    """Why dev queries fail: kinds of failure with counts, and the worst queries with what stands above.

    Example: idxopt study diagnose studies/docs --of baseline
    """
    from idxopt.cli.render.diagnoses import failing_lines, kinds_table, query_kinds_table
    from idxopt.optimizer.study.looking import look_at

    if of not in ("winner", "baseline"):
        raise UsageError(f"{of!r} is not known", place="--of", remedy="use winner or baseline")
    found = look_at(study)
    if found.record is None:
        raise _unfinished(found)
    diagnosis = found.diagnosis(of)
    if settings.json:
        emit_json({"of": of, **diagnosis})
        return ExitCode.OK
    print_tables(settings, kinds_table(diagnosis), query_kinds_table(diagnosis))
    for line in failing_lines(diagnosis, failing):
        write(line)
    return ExitCode.OK


def render_report(
    settings: Settings,
    study: Folder,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write it there. Default: report.html in the study's folder."),
    ] = None,
) -> ExitCode:
    """Write a study's report again from its record; nothing is scored.

    Example: idxopt study report studies/docs --out docs.html
    """
    from idxopt.optimizer.report.page import render
    from idxopt.optimizer.study.folder import replace_file
    from idxopt.optimizer.study.looking import look_at

    if out is not None:
        refuse_foreign(out, "--out", "a report", is_report)
    found = look_at(study)
    if found.record is None:
        raise _unfinished(found)
    place = out or found.folder.report
    replace_file(place, render(found.record).encode())
    emit_json({"report": str(place)}) if settings.json else write(f"report: {place}")
    return ExitCode.OK


def _unfinished(found: Study) -> BuildError:
    return BuildError(
        "the study has no result yet",
        place=str(found.folder.path),
        remedy="run its `idxopt optimize` again: it goes on where it was",
    )
