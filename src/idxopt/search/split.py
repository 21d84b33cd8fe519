"""Which build of a running canary a query goes to: a stable hash of its key, below the share or not. Pure."""

from __future__ import annotations

import hashlib

from idxopt.builds.canary import Arm, Canary
from idxopt.builds.resolver import CanaryBuild, LiveBuild
from idxopt.errors import BuildError
from idxopt.search.query import SearchQuery
from idxopt.text.identifiers import lowercase

_RANGE = 1 << 64


def arm_of_key(key: str, canary: Canary) -> Arm:
    """The same key goes to the same arm as long as the salt stays; a larger share only adds keys."""
    return "candidate" if _place(key, canary.salt) < canary.share else "incumbent"


def split_key(text: str, session: str | None) -> str:
    """What is hashed: the session, or the query without differences of case and white space."""
    return f"s:{session}" if session else f"q:{lowercase(' '.join(text.split()))}"


def assigned(query: SearchQuery, canary: Canary) -> Arm:
    """The arm of a query."""
    return arm_of_key(split_key(query.text, query.session_key), canary)


def candidate_of(running: CanaryBuild) -> LiveBuild:
    """The candidate's build. Raises BuildError where it cannot be searched."""
    if running.build is None:
        raise BuildError(
            running.trouble,
            place=running.canary.name,
            remedy=f"`idxopt canary stop {running.canary.name}`, then start it again",
        )
    return running.build


def no_canary(name: str) -> BuildError:
    """Somebody asks for the candidate, and there is none."""
    return BuildError(
        "no canary is running",
        place=name,
        remedy=f"start one with `idxopt canary start program.json --share 5%`, name {name}",
    )


def _place(key: str, salt: str) -> float:
    """From 0 to below 1, evenly."""
    value = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.encode()[:64]).digest()
    return int.from_bytes(value, "big") / _RANGE
