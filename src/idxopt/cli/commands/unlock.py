"""`idxopt unlock`: removes a lock that a dead run left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.confirm import confirm
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.errors import BuildError, ExitCode

if TYPE_CHECKING:
    from idxopt.builds.lockrecord import LockRecord


def unlock(
    settings: Settings,
    lock_id: Annotated[str, typer.Argument(metavar="LOCK_ID", help="The id that the refused run printed.")],
    force: Annotated[
        bool, typer.Option("--force", help="Even where the last heartbeat is younger than one interval.")
    ] = False,
    yes: options.Yes = False,
) -> ExitCode:
    """Remove the lock of a dead run; its holder can then no longer commit.

    Example: idxopt unlock 1a2b3c4d
    """
    from idxopt.builds.lockrecord import unlock as remove

    with session(settings) as work:
        record = _find(work, lock_id)
        confirm(
            settings,
            f"{record.who} runs `{record.operation}` on {record.name} since {record.created}; its last heartbeat was "
            f"{max(record.age_s(), 0):.0f} s ago. Remove its lock?",
            "yes",
            given="yes" if yes else None,
            remedy="add --yes",
        )
        removed = remove(work.engine, record.name, lock_id, force=force)
    if settings.json:
        emit_json({"name": removed.name, "lock": removed.id, "who": removed.who, "operation": removed.operation})
    else:
        write(f"{removed.name}: lock {removed.id} of {removed.who} is removed")
    return ExitCode.OK


def _find(work: Session, lock_id: str) -> LockRecord:
    from idxopt.builds import names
    from idxopt.builds.lockrecord import read_lock

    if work.engine.get_index(names.STATE_INDEX) is not None:
        locks = {"bool": {"filter": [{"term": {"kind": "lock"}}]}}
        for found in work.engine.scan(names.STATE_INDEX, query=locks):
            held = read_lock(work.engine, str(found.source["name"]))
            if held is not None and held[0].id == lock_id:
                return held[0]
    raise BuildError(
        f"there is no lock {lock_id} on this cluster", place=work.cluster, remedy="see `idxopt status NAME`"
    )
