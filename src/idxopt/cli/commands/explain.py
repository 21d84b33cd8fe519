"""`idxopt explain`: why a document is where it is."""

from __future__ import annotations

from typing import Annotated

import typer

from idxopt.cli import options
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.cli.suggestions import live_or_suggest
from idxopt.errors import BuildError, ExitCode


def explain(
    settings: Settings,
    name: options.Name,
    query: options.Query,
    doc_id: Annotated[str, typer.Argument(metavar="DOC_ID", help="Id of the document.")],
    no_rerank: options.NoRerank = False,
    arm: options.ArmChoice = None,
) -> ExitCode:
    """Show rank and score of a document in every leg, and the terms that matched.

    Example: idxopt explain handbook "rotate api keys" security/keys.md
    """
    from idxopt.builds.resolver import Resolver
    from idxopt.cli.render.answers import explanation_json, explanation_lines, explanation_table
    from idxopt.search.explain import explain as explain_document
    from idxopt.search.split import candidate_of, no_canary

    chosen = options.one_arm(arm)
    with session(settings) as work:
        resolver = Resolver(work.engine, name)
        live = live_or_suggest(work, resolver)
        if chosen == "candidate":
            running = resolver.canary()
            if running is None:
                raise no_canary(name)
            live = candidate_of(running)
        if work.engine.get_document(live.manifest.views[live.manifest.primary].index, doc_id) is None:
            raise BuildError(
                f"has no document {doc_id!r}", place=name, remedy="copy the id from `idxopt search`, exactly as shown"
            )
        found = explain_document(
            work.engine, live, query, doc_id, models=work.models(live.program), rerank=not no_rerank
        )
    if settings.json:
        emit_json(explanation_json(found, query))
        return ExitCode.OK
    for line in explanation_lines(found):
        write(line)
    print_tables(settings, explanation_table(found))
    return ExitCode.OK
