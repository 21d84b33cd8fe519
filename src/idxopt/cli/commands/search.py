"""`idxopt search`: asks the live build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, say, write
from idxopt.cli.suggestions import live_or_suggest
from idxopt.errors import ExitCode, UsageError


def search(
    settings: Settings,
    name: options.Name,
    query: options.Query,
    k: Annotated[int, typer.Option("-k", "--k", min=1, max=10_000, help="Documents of the answer.")] = 10,
    offset: Annotated[int, typer.Option("--offset", min=0, max=10_000, help="Documents to skip.")] = 0,
    filter_text: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help="A filter clause: term, terms, range, exists, ids or bool."),
    ] = None,
    no_rerank: options.NoRerank = False,
    arm: options.ArmChoice = None,
    session_key: Annotated[
        str | None,
        typer.Option("--session", metavar="KEY", help="While a canary runs: whose query it is, for the split."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Append the answer to a run log (queries as hashes).")
    ] = None,
) -> ExitCode:
    """Search the live build; while a canary runs, the build that the query falls to.

    Example: idxopt search handbook "rotate api keys" -k 5
    """
    from idxopt.builds.resolver import Resolver
    from idxopt.cli.render.answers import result_json, result_lines, result_table
    from idxopt.search import Searcher, SearchQuery
    from idxopt.search.runlog import RunLog

    clause, chosen = _filter(filter_text), options.one_arm(arm)
    run_log = RunLog(log) if log is not None else None
    with session(settings) as work:
        resolver = Resolver(work.engine, name)
        live = live_or_suggest(work, resolver)
        searcher = Searcher(
            work.engine,
            resolver,
            models_of=work.models,
            on_leg_failure=work.profile.on_leg_failure,
            on_model_failure=work.profile.on_model_failure,
            log=run_log,
        )
        result = searcher.search(
            SearchQuery(
                query,
                k=k,
                offset=offset,
                filter=clause,
                source=True,
                rerank=not no_rerank,
                session_key=session_key,
                arm=chosen,
            )
        )
        running = resolver.canary()
    if run_log is not None and run_log.failed:
        say(settings, f"warning: the answer could not be written to {log}")
    answered = running.build if running is not None and result.arm == "candidate" else None
    build = answered or live
    if settings.json:
        emit_json(result_json(result, query))
        return ExitCode.OK
    if result.hits:
        print_tables(settings, result_table(result, [leg.key for leg in build.legs], build.program, query, offset))
    for line in result_lines(result):
        write(line)
    return ExitCode.OK


def _filter(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        clause = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"is not valid JSON ({error})", place="--filter", remedy="""write it like '{"term": {"lang": "en"}}'"""
        ) from error
    if not isinstance(clause, dict):
        raise UsageError(
            "is not a JSON object", place="--filter", remedy="""write it like '{"term": {"lang": "en"}}'"""
        )
    return clause
