"""Status, history and doctor as lines and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.render.plans import lacking
from idxopt.cli.units import bytes_text, counted

if TYPE_CHECKING:
    from idxopt.builds.lockrecord import LockRecord
    from idxopt.builds.manifest import Manifest, TablesRecord
    from idxopt.builds.state import Event
    from idxopt.config import Config, Profile
    from idxopt.deploy.doctor import Check
    from idxopt.deploy.status import Status

_SECRET = ("auth.password", "auth.client_key")
_REFERENCES = ("env:", "file:", "keyring:")


def status_lines(status: Status) -> Iterator[str]:
    """What is live, and everything that deserves a look."""
    if status.live is None:
        yield f"{status.name}: nothing is live"
    else:
        yield from _live_lines(status, status.live)
    for note in status.notes:
        yield f"! {note}"
    if status.lock is not None:
        yield f"! locked: {_lock(status.lock)}"
    if status.drifted and status.drift is not None:
        changes = counted(len(status.drift.changes), "change")
        yield f"! changed by somebody ({changes}); apply the program again to mend it:"
        for change in status.drift.changes:
            yield f"  {change.symbol} {change.kind} {change.subject}: {change.what} ({change.why})"
    elif status.live is not None:
        yield "  nothing was changed by others"


def _live_lines(status: Status, live: Manifest) -> Iterator[str]:
    yield f"{status.name}: build {live.build} is live since {live.created}, by {live.by}"
    if live.message:
        yield f"  {live.message}"
    yield f"  from {live.source.place}: {counted(live.source.documents, 'document')}"
    if live.tables is not None:
        yield f"  {tables_text(live.tables)}"
    yield f"  kept beside it: {', '.join(status.kept) or 'no other build'}"
    if status.writes.total:
        yield f"  writes of applications since then: {status.writes}"
    for view, fields in status.lost_on_write.items():
        if fields:
            yield f"! documents written through the alias lack, until the next build: view {view}: {lacking(fields)}"
    for lag in status.lag:
        yield f"! {lag.what}"


def tables_text(record: TablesRecord) -> str:
    """The frozen corpus tables of a build."""
    return (
        f"corpus tables {record.digest[:8]} over {counted(record.documents, 'document')} (N), frozen {record.created}"
    )


def _lock(lock: LockRecord) -> str:
    return (
        f"{lock.who} runs `{lock.operation}` since {lock.created}, last heartbeat {lock.heartbeat}, lock {lock.id}, "
        f"idxopt {lock.version}"
    )


def view_table(status: Status) -> Table:
    """A line a view."""
    table = Table()
    for heading in ("view", "index", "rows", "as built", "deleted", "size", "health"):
        table.add_column(
            heading, justify="left" if heading in ("view", "index", "health") else "right", overflow="fold"
        )
    for view in status.views:
        table.add_row(
            view.view,
            view.index,
            f"{view.rows:,}",
            f"{view.built_rows:,}",
            f"{view.deleted_share:.1%}",
            bytes_text(view.bytes),
            view.health,
        )
    return table


def status_json(status: Status) -> dict[str, Any]:
    """The status as one document."""
    return {
        "name": status.name,
        "live": status.live.model_dump(mode="json", by_alias=True) if status.live else None,
        "views": [
            {
                "view": view.view,
                "index": view.index,
                "rows": view.rows,
                "built_rows": view.built_rows,
                "deleted_share": view.deleted_share,
                "bytes": view.bytes,
                "health": view.health,
            }
            for view in status.views
        ],
        "drifted": status.drifted,
        "drift": [change.model_dump(mode="json") for change in status.drift.changes] if status.drift else [],
        "lag": [lag.what for lag in status.lag],
        "writes": {
            "inserted": status.writes.inserted,
            "updated": status.writes.updated,
            "deleted": status.writes.deleted,
        },
        "lost_on_write": {view: list(fields) for view, fields in status.lost_on_write.items()},
        "kept": list(status.kept),
        "lock": None
        if status.lock is None
        else {
            "id": status.lock.id,
            "who": status.lock.who,
            "operation": status.lock.operation,
            "version": status.lock.version,
            "created": status.lock.created,
            "heartbeat": status.lock.heartbeat,
        },
        "canary": status.canary.model_dump() if status.canary is not None else None,
        "notes": list(status.notes),
    }


def history_table(events: Sequence[Event], current: str | None) -> Table:
    """A line an event, oldest first; the last one that made the live build live is marked."""
    table = Table()
    for heading in ("", "build", "what", "when", "who", "why", "metrics"):
        table.add_column(heading, overflow="fold")
    marked = _current(events, current)
    for number, event in enumerate(events):
        metrics = event.details.get("metrics") or {}
        table.add_row(
            "current" if number == marked else "",
            event.build or "",
            event.what if event.outcome == "done" else f"{event.what} (failed)",
            event.at,
            escape(event.who),
            escape(event.message),
            ", ".join(f"{name} {value:.4f}" for name, value in metrics.items()),
        )
    return table


def history_json(name: str, events: Sequence[Event], current: str | None) -> dict[str, Any]:
    """The history as one document."""
    marked = _current(events, current)
    return {
        "name": name,
        "current": current,
        "events": [
            {**event.model_dump(mode="json"), "current": number == marked} for number, event in enumerate(events)
        ],
    }


def _current(events: Sequence[Event], current: str | None) -> int | None:
    found = (
        number
        for number, event in enumerate(events)
        if current and event.build == current and not event.what.startswith("canary ")
    )
    return max(found, default=None)


def configured(config: Config, cluster: str, profile: Profile) -> list[tuple[str, str, str]]:
    """(name, value, origin) of every setting. A secret that is no reference is not shown."""
    file = str(config.file) if config.file else "default"
    values = [
        ("config", str(config.file or "none"), config.origins.get("config", "")),
        ("cluster", cluster, config.origins.get("cluster", "")),
    ]
    for name in type(profile).model_fields:
        if name == "auth":
            continue
        origin = file if name in profile.model_fields_set else "default"
        value = getattr(profile, name)
        values.append((f"clusters.{cluster}.{name}", "(not set)" if value is None else str(value), origin))
    for name in type(profile.auth).model_fields:
        value = getattr(profile.auth, name)
        if value is not None:
            hidden = f"auth.{name}" in _SECRET and not str(value).startswith(_REFERENCES)
            values.append((f"clusters.{cluster}.auth.{name}", "(not a reference: hidden)" if hidden else value, file))
    return values


def short_names(plugins: str) -> str:
    """Names of plugins without the class names that stand beside them; of a class alone its last part."""
    listed = plugins.split(", ")
    plain = [name for name in listed if "." not in name]
    return ", ".join(plain or sorted({name.rpartition(".")[2] for name in listed}))


def check_table(values: Sequence[tuple[str, str, str]], checks: Sequence[Check]) -> list[Table]:
    """The configuration with its origins, then what was found."""
    settings = Table(title="Configuration", title_justify="left")
    for heading in ("setting", "value", "from"):
        settings.add_column(heading, overflow="fold")
    for row in values:
        settings.add_row(*(escape(cell) for cell in row))
    found = Table(title="Checks", title_justify="left")
    for heading in ("check", "result", "detail", "remedy"):
        found.add_column(heading, overflow="fold")
    for check in checks:
        detail = short_names(check.detail) if check.what == "plugins" else check.detail
        found.add_row(check.what, check.verdict, escape(detail), escape(check.remedy))
    return [settings, found] if checks else [settings]
