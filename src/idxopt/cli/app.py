"""The application: commands in their help panels, and what every command shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from idxopt import __version__
from idxopt.cli.commands import (
    apply,
    canary,
    compare,
    compiling,
    demo,
    destroy,
    doctor,
    evaluate,
    experiment,
    explain,
    fidelity,
    history,
    optimize,
    plan,
    preset,
    profile,
    queries,
    refresh,
    rollback,
    search,
    serve,
    show,
    status,
    study,
    sweep,
    unlock,
    validate,
)
from idxopt.cli.settings import Settings, command, group
from idxopt.cli.streams import emit_json, write
from idxopt.errors import ExitCode, UsageError

EPILOG = (
    "Exit codes: 0 done; 1 error; 2 changes (plan, rollback --plan, refresh --check, status --check); "
    "3 locked; 4 stale plan; 5 gate refused; 6 budget reached; 64 wrong usage; "
    "130 interrupted; 143 terminated.\n\n"
    "In scripts with set -e: idxopt plan program.json || [ $? -eq 2 ]"
)

_HELP = {"help_option_names": ["-h", "--help"]}
DEPLOY, SEARCH, OPTIMIZE, EVALUATE, TOOLS = "Deploy", "Search", "Optimize", "Evaluate", "Tools"

app = typer.Typer(
    name="idxopt",
    help="Better answers from the search engine you have, by changing what is indexed.",
    epilog=EPILOG,
    context_settings=_HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    invoke_without_command=True,
)


@app.callback()
@group
def idxopt(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Better answers from the search engine you have, by changing what is indexed."""
    settings: Settings = context.obj
    if version:
        emit_json({"version": __version__}) if settings.json else write(f"idxopt {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        _help(context, settings)


def _help(context: typer.Context, settings: Settings) -> None:
    if settings.json:
        raise UsageError("needs a command", place="--json", remedy="name one; `idxopt --help` lists them")
    write(context.get_help())


_COMMANDS = (
    ("plan", plan.plan, DEPLOY),
    ("apply", apply.apply, DEPLOY),
    ("show", show.show, DEPLOY),
    ("refresh", refresh.refresh, DEPLOY),
    ("rollback", rollback.rollback, DEPLOY),
    ("status", status.status, DEPLOY),
    ("history", history.history, DEPLOY),
    ("unlock", unlock.unlock, DEPLOY),
    ("destroy", destroy.destroy, DEPLOY),
    ("doctor", doctor.doctor, DEPLOY),
    ("search", search.search, SEARCH),
    ("explain", explain.explain, SEARCH),
    ("profile", profile.profile, OPTIMIZE),
    ("optimize", optimize.optimize, OPTIMIZE),
    ("sweep", sweep.sweep, OPTIMIZE),
    ("evaluate", evaluate.evaluate, EVALUATE),
    ("compare", compare.compare, EVALUATE),
    ("fidelity", fidelity.fidelity, EVALUATE),
    ("validate", validate.validate, TOOLS),
    ("compile", compiling.compile_program, TOOLS),
    ("demo", demo.demo, TOOLS),
)
for _name, _function, _panel in _COMMANDS:
    app.command(_name, rich_help_panel=_panel, context_settings=_HELP)(command(_function))

_GROUPS: tuple[tuple[str, str, str, dict[str, Callable[..., ExitCode]]], ...] = (
    ("preset", "Programs to start from.", TOOLS, {"list": preset.list_presets, "show": preset.show_preset}),
    (
        "study",
        "Studies of idxopt optimize: list, show, report, export, diagnose.",
        OPTIMIZE,
        {
            "list": study.list_studies,
            "show": study.show_study,
            "report": study.render_report,
            "export": study.export_program,
            "diagnose": study.diagnose_study,
        },
    ),
    (
        "canary",
        "A share of the queries to another build: start, status, stop.",
        SEARCH,
        {"start": canary.start, "status": canary.status, "stop": canary.stop},
    ),
    ("queries", "Judgments for those who have none.", EVALUATE, {"make": queries.make}),
    ("serve", "Servers: models for idxopt and for others.", SEARCH, {"models": serve.serve_models}),
    ("experiment", "Experiments of the papers on collections of your own.", EVALUATE, {"prime": experiment.prime}),
)


@group
def _alone(context: typer.Context) -> None:
    """A group without one of its commands shows its help."""
    if context.invoked_subcommand is None:
        _help(context, context.obj)


for _name, _about, _panel, _members in _GROUPS:
    _group = typer.Typer(
        name=_name, help=_about, context_settings=_HELP, invoke_without_command=True, rich_markup_mode="rich"
    )
    _group.callback(help=_about)(_alone)
    for _member, _run in _members.items():
        _group.command(_member, context_settings=_HELP)(command(_run))
    app.add_typer(_group, rich_help_panel=_panel)
