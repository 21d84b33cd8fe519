"""The nearest name for one under which nothing is live."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from idxopt.cli.session import Session
from idxopt.errors import BuildError

if TYPE_CHECKING:
    from idxopt.builds.resolver import LiveBuild, Resolver

_LISTED = 10


def live_or_suggest(work: Session, resolver: Resolver) -> LiveBuild:
    """The live build. Raises BuildError with the nearest name that has one."""
    live = resolver.live()
    if live is None:
        raise BuildError("there is no live build", place=resolver.name, remedy=other_name(work, resolver.name))
    return live


def other_name(work: Session, name: str) -> str:
    """A remedy: the live name most like this one, or those that there are, and how to make one live."""
    from idxopt.builds.resolver import marked_builds
    from idxopt.builds.state import StateStore

    apply = "put one live with `idxopt apply program.json`"
    live = [known for known in StateStore(work.engine).names() if known != name and marked_builds(work.engine, known)]
    close = difflib.get_close_matches(name, live, n=1)
    if close:
        return f'did you mean "{close[0]}"? If not, {apply}'
    listed = ", ".join(live[:_LISTED]) + (f" and {len(live) - _LISTED} more" if len(live) > _LISTED else "")
    return f"live here: {listed}; or {apply}" if live else apply
