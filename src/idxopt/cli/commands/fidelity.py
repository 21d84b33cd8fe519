"""`idxopt fidelity`: what restructuring kept of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.progress import counting
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.evaluation.restructuring import DocumentAudit


def fidelity(
    settings: Settings,
    program: options.Program,
    source: options.Source = None,
    documents: Annotated[bool, typer.Option("--documents", help="A line a document, too.")] = False,
) -> ExitCode:
    """Show what restructured sections kept of the originals, beside the paper's own audit. Generates nothing.

    Example: idxopt fidelity program.json --source docs/
    """
    from idxopt.cli.render.fidelities import audit_json, audit_lines, audit_table, documents_table
    from idxopt.config.load import cache_dir
    from idxopt.config.models import open_models
    from idxopt.deploy.generation import models_at
    from idxopt.evaluation.restructuring import CorpusAudit, audits, restructurings
    from idxopt.operators.tables import build_tables
    from idxopt.program.validate import load_program
    from idxopt.sources.rejects import Rejects

    wanted = load_program(program)
    if not restructurings(wanted):
        raise UsageError(
            "no view of the program restructures anything",
            place=str(program),
            remedy='add a step {"op": "enrich", "with": "restructure", ...}',
        )
    corpus = CorpusAudit()
    kept: list[DocumentAudit] = []
    with session(settings) as work, counting(settings) as progress, open_models(wanted, work.config) as models:
        place = work.source_place(source)
        if place is None:
            raise UsageError("needs the documents", place="--source", remedy="add --source PLACE")
        read = work.open_source(place, wanted)
        tables = build_tables(wanted, read.documents(Rejects()))
        steps = models_at(wanted, models, cache_dir())
        for number, audit in enumerate(audits(wanted, tables, read.documents(Rejects()), steps), 1):
            corpus.add(audit)
            if documents or settings.json:
                kept.append(audit)
            progress.advance("documents", number, 0)
    if settings.json:
        emit_json(audit_json(corpus, kept))
        return ExitCode.OK
    print_tables(settings, audit_table(corpus), *([documents_table(kept)] if documents else []))
    for line in audit_lines(corpus):
        write(line)
    return ExitCode.OK
