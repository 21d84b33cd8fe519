"""`idxopt doctor`: what idxopt sees of the configuration and of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables
from idxopt.errors import ExitCode, IdxoptError

if TYPE_CHECKING:
    from idxopt.deploy.doctor import Check


def doctor(
    settings: Settings,
    config_only: Annotated[
        bool, typer.Option("--config-only", help="Show the configuration with its origins; connect to nothing.")
    ] = False,
) -> ExitCode:
    """Show the configuration and probe the cluster; exit code 1 when a check fails.

    Example: idxopt doctor
    """
    from dataclasses import asdict

    from idxopt.cli.render.states import check_table, configured

    with session(settings) as work:
        values = configured(work.config, work.cluster, work.profile)
        checks = [] if config_only else _probe(work)
    if settings.json:
        emit_json(
            {
                "configuration": [{"name": name, "value": value, "origin": origin} for name, value, origin in values],
                "checks": [asdict(check) for check in checks],
            }
        )
    else:
        print_tables(settings, *check_table(values, checks))
    return ExitCode.ERROR if any(check.verdict == "failed" for check in checks) else ExitCode.OK


def _probe(work: Session) -> list[Check]:
    from idxopt.config.models import model_secret, open_models
    from idxopt.deploy.doctor import Check, examine, examine_live, examine_settings

    models = examine_settings(work.config.models, model_secret)
    try:
        found = [Check("connection", "ok", "connected"), *examine(work.engine), *models]
        if all(check.verdict != "failed" for check in found if check.what == "state"):
            found += examine_live(work.engine, lambda program: open_models(program, work.config))
    except IdxoptError as error:
        place = f"{error.place}: " if error.place else ""
        return [Check("connection", "failed", f"{place}{error.message}", error.remedy or ""), *models]
    return found
