"""Generated texts: who agrees to them, and models whose prices a budget can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from idxopt.cli.confirm import confirm
from idxopt.cli.progress import ConsoleProgress
from idxopt.cli.settings import Settings
from idxopt.cli.streams import say

if TYPE_CHECKING:
    from idxopt.config import Config
    from idxopt.deploy.intent import TextsEstimate
    from idxopt.models.opening import Models
    from idxopt.program.schema import Program


def consent(
    settings: Settings, progress: ConsoleProgress, agreed: Callable[[Sequence[TextsEstimate]], bool]
) -> Callable[[Sequence[TextsEstimate]], None]:
    """Shows what generated texts may cost; unless it is `agreed` already, asks at the terminal.

    What is returned raises UsageError where nobody can be asked.
    """
    from idxopt.cli.render.plans import texts_lines

    def ask(estimates: Sequence[TextsEstimate]) -> None:
        progress.close()
        for line in texts_lines(estimates):
            say(settings, line)
        if not agreed(estimates):
            more = ", and on top those of the steps named" if any(one.later for one in estimates) else ""
            confirm(settings, f"Generate these texts{more}?", "yes", remedy="add --yes")

    return ask


def open_priced(program: Program, config: Config, budget: float | None) -> Models:
    """The program's models. Raises ConfigError where the budget could not hold."""
    from idxopt.config.models import check_budget, open_models

    if budget is not None:
        check_budget(program, config)
    return open_models(program, config)
