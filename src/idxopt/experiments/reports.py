"""The files that a run leaves: the same tables as text, as JSON and as a page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from idxopt.experiments.kept import writing
from idxopt.experiments.methods import RAW
from idxopt.experiments.page import page
from idxopt.experiments.results import CollectionResult, Setting
from idxopt.experiments.summary import overview
from idxopt.experiments.tables import Grid, grids, sentences

NAMES = ("prime.txt", "prime.json", "prime.html")
_WIDTH = 200


def rich_table(grid: Grid) -> Table:
    """For the terminal."""
    table = Table(title=escape(grid.title), title_justify="left", caption=escape(grid.note), caption_justify="left")
    for number, name in enumerate(grid.header):
        table.add_column(escape(name), justify="right" if number else "left")
    for row in grid.rows:
        table.add_row(*map(escape, row))
    return table


def text_report(results: Sequence[CollectionResult], setting: Setting) -> str:
    """Everything as plain text."""
    out = io.StringIO()
    console = Console(file=out, width=_WIDTH, color_system=None)
    for role, name in setting.models.items():
        console.print(f"{role}: {name}", markup=False, highlight=False)
    for line in (f"engine: {setting.engine}", f"idxopt {setting.idxopt}", *setting.notes):
        console.print(line, markup=False, highlight=False)
    for grid in overview(results):
        console.print(rich_table(grid))
    for result in results:
        console.print(f"\n== {result.name}\nSample: {result.statement}.", markup=False, highlight=False)
        for sentence in sentences(result):
            console.print(f"- {sentence}", markup=False, highlight=False)
        for grid in grids(result):
            console.print(rich_table(grid))
    return out.getvalue()


def json_report(results: Sequence[CollectionResult], setting: Setting) -> dict[str, Any]:
    """Everything as JSON values; figures are not rounded."""
    return {
        "schema": "idxopt-experiment/1",
        "setting": asdict(setting),
        "baseline": RAW,
        "collections": [{**result.to_json(), "sentences": sentences(result)} for result in results],
    }


def write_reports(folder: Path, results: Sequence[CollectionResult], setting: Setting) -> list[Path]:
    """prime.txt, prime.json and prime.html in a folder. Raises SourceError."""
    contents = (
        text_report(results, setting).encode(),
        orjson.dumps(json_report(results, setting), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS),
        page(results, setting).encode(),
    )
    files = [folder / name for name in NAMES]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
    return files
