"""The one place that asks."""

from __future__ import annotations

import sys

from idxopt.cli.settings import Settings
from idxopt.errors import IdxoptError, UsageError


class Declined(IdxoptError):
    """The user did not say yes."""

    code = "declined"


def can_ask(settings: Settings) -> bool:
    """True at a terminal, unless `--no-input`, IDXOPT_NO_INPUT or `--json` say never to ask."""
    return settings.asks and sys.stdin is not None and sys.stdin.isatty()


def confirm(settings: Settings, question: str, *words: str, given: str | None = None, remedy: str) -> str:
    """The word that the user agreed with: the option's (`given`), or what was typed at a terminal.

    Where nobody can be asked stdin is never read: UsageError with `remedy`. Any other answer, and the end of input,
    raise Declined. So does an option that names another word.
    """
    if given is not None:
        if given not in words:
            raise Declined(f"{given} is not {' or '.join(words)}; nothing was changed", remedy=remedy)
        return given
    if not can_ask(settings):
        raise UsageError(f"{question} Nobody can be asked here", remedy=remedy)
    sys.stdout.flush()
    sys.stderr.write(f"{question} Type {' or '.join(words)} to go on: ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if answer not in words:
        raise Declined("not confirmed; nothing was changed", remedy=f"type {' or '.join(words)}, or {remedy}")
    return answer
