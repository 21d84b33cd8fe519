"""`idxopt destroy`: removes everything of a name that is ours."""

from __future__ import annotations

from idxopt.cli import options
from idxopt.cli.applying import lock_settings
from idxopt.cli.confirm import confirm
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.cli.suggestions import other_name
from idxopt.errors import BuildError, ExitCode


def destroy(
    settings: Settings,
    name: options.Name,
    confirm_name: options.Confirm = None,
    lock_timeout: options.LockTimeout = "0",
) -> ExitCode:
    """Remove the aliases, indices, templates, pipelines and builds of a name. Asks for the name; nothing else will do.

    Example: idxopt destroy handbook --confirm handbook
    """
    from dataclasses import asdict

    from idxopt.cli.render.outcomes import destruction_lines
    from idxopt.deploy.destroy import destroy as remove
    from idxopt.deploy.destroy import destruction
    from idxopt.deploy.observed import observe

    with session(settings) as work:
        plan = destruction(observe(work.engine, name, trust=False))
        if plan.empty:
            raise BuildError("there is nothing of ours under this name", place=name, remedy=other_name(work, name))
        if not settings.json:
            for line in destruction_lines(plan):
                write(line)
        confirm(
            settings,
            f"This removes {name} from {work.cluster} for good.",
            name,
            given=confirm_name,
            remedy=f"add --confirm {name}",
        )
        done = remove(work.engine, name, settings=lock_settings(work, lock_timeout))
    if settings.json:
        emit_json(asdict(done))
    else:
        write(f"{name}: removed from {work.cluster}; its history stays: idxopt history {name}")
    return ExitCode.OK
