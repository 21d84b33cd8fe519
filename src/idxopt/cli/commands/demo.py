"""`idxopt demo`: two programs over the standard library's documentation, from plan to explain.

Each step is a command that the user could type, shown before its output.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli.commands.apply import apply
from idxopt.cli.commands.compare import compare
from idxopt.cli.commands.explain import explain
from idxopt.cli.commands.plan import plan
from idxopt.cli.commands.search import search
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import write
from idxopt.demo.programs import BASELINE, BETTER, CONFIG, DOCUMENT, NAME, QUERY
from idxopt.errors import ExitCode, SourceError, UsageError

if TYPE_CHECKING:
    from idxopt.demo.corpus import DemoData

CORPUS, INDEX, CONFIG_FILE = "corpus", "index", "idxopt.toml"
_MARKER = "demo.json"


def demo(
    settings: Settings,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where corpus, configuration and index go.")
    ] = Path("idxopt-demo"),
) -> ExitCode:
    """Build, compare and query an index of Python's own documentation, without any server.

    Example: idxopt demo --folder /tmp/idxopt-demo
    """
    run_demo(settings, folder)
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class Showcase:
    """Where the demo works. All commands name its configuration, so they work from any folder below which it lies."""

    settings: Settings
    folder: Path

    def file(self, name: str) -> Path:
        return self.folder / name

    def shown(self, *words: str | Path) -> str:
        """The command line as the user would type it."""
        given = [*(str(word) for word in words), "--config", str(self.file(CONFIG_FILE))]
        return "idxopt " + " ".join(shlex.quote(word) for word in given)

    def step(self, why: str, words: tuple[str | Path, ...], run: Callable[[], Any]) -> None:
        """One command: a comment, the line, its output."""
        write()
        write(f"# {why}")
        write(f"$ {self.shown(*words)}")
        run()


def run_demo(settings: Settings, folder: Path) -> None:
    """Corpus, baseline, plan, better program, comparison on the test queries, a search and its explanation."""
    if settings.json:
        raise UsageError(
            "the demo prints a story, no document", place="--json", remedy="run its commands with --json instead"
        )
    here = replace(settings, cluster=None, config=str(folder / CONFIG_FILE))
    show = Showcase(here, folder)
    data = prepare(show)
    write(f"{data.documents} pages of Python's own documentation, {data.test} test queries in {data.folder}.")
    write("A query is the first line of a docstring, taken out of its page; that page is the answer.")
    baseline, better = show.file("baseline.json"), show.file("better.json")
    show.step(
        "Every field searched alike: the first build.",
        ("apply", baseline, "--yes", "-m", "baseline"),
        lambda: apply(here, baseline, yes=True, message="baseline"),
    )
    first = live_build(here)
    show.step(
        "What a better program would change: identifiers split, titles at half weight, sections as a second view.",
        ("plan", better),
        lambda: plan(here, better),
    )
    show.step(
        "Built beside the live one, checked, and switched to in one step.",
        ("apply", better, "--yes", "-m", "identifiers and sections"),
        lambda: apply(here, better, yes=True, message="identifiers and sections"),
    )
    old = f"{NAME}@{first}"
    show.step(
        "Is it better? On test queries, which no choice was made by.",
        ("compare", old, NAME, "--dataset", data.folder, "--queries-shown", "3"),
        lambda: compare(here, old, NAME, dataset=data.folder, losers=3),
    )
    show.step("A search.", ("search", NAME, QUERY, "-k", "5"), lambda: search(here, NAME, QUERY, k=5))
    show.step(
        "Why is that page where it is?",
        ("explain", NAME, QUERY, DOCUMENT),
        lambda: explain(here, NAME, QUERY, DOCUMENT),
    )
    write()
    write("# Try next:")
    for words in (
        ("search", NAME, "temporary directory that is removed afterwards"),
        ("status", NAME),
        ("history", NAME),
        ("rollback", NAME),
    ):
        write(show.shown(*words))


def prepare(show: Showcase) -> DemoData:
    """Corpus, configuration and programs in the folder; what an earlier demo left there is replaced.

    Raises SourceError where the folder holds anything else.
    """
    from idxopt.demo.corpus import build_corpus

    folder = show.folder
    marker = show.file(CORPUS) / _MARKER
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not marker.is_file())):
        raise SourceError(
            "exists and was not made by the demo", place=str(folder), remedy="choose another --folder, or an empty one"
        )
    data = build_corpus(show.file(CORPUS))
    try:
        shutil.rmtree(show.file(INDEX), ignore_errors=True)
        show.file(CONFIG_FILE).write_text(CONFIG, encoding="utf-8")
        for name, program in (("baseline.json", BASELINE), ("better.json", BETTER)):
            show.file(name).write_text(json.dumps(program, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot be written ({error.strerror or error})",
            place=str(folder),
            remedy="choose a folder that you may write to",
        ) from error
    return data


def live_build(settings: Settings) -> str:
    """The id of the build that is live now."""
    from idxopt.builds.resolver import Resolver
    from idxopt.search import Searcher

    with session(settings) as work:
        return Searcher(work.engine, Resolver(work.engine, NAME)).live().manifest.build
