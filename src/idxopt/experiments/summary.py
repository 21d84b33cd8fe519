"""All collections of a run beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.evaluation.costs import cheaper_by
from idxopt.evaluation.pages.figures import figure
from idxopt.experiments.methods import BY_NAME, CHUNKS, COLUMN_NAMES, COLUMNS, OFFLINE, TABLE_2
from idxopt.experiments.results import MAIN, CollectionResult
from idxopt.experiments.tables import Grid


def overview(results: Sequence[CollectionResult]) -> list[Grid]:
    """Offline metadata against raw in every collection, and the paper's factorial averaged over them."""
    return [grid for grid in (_offline(results), _factorial(results)) if grid.rows]


def _offline(results: Sequence[CollectionResult]) -> Grid:
    rows = []
    for result in results:
        cells = [result.cell(OFFLINE, column) for column in COLUMNS]
        if all(cell is not None and cell.difference is not None for cell in cells):
            figures = [
                f"{figure(cell.difference, signed=True)} {_word(cell.finding)}"
                for cell in cells
                if cell is not None and cell.difference is not None
            ]
            chunks, offline = result.costs.get(CHUNKS), result.costs.get(OFFLINE)
            ratio = cheaper_by(offline, than=chunks) if chunks is not None and offline is not None else None
            fewer = [
                "" if value is None else f"{value:.1f}x"
                for value in ((ratio.tokens, ratio.vectors) if ratio else (None, None))
            ]
            rows.append((result.name, *figures, *fewer))
    return Grid(
        f"PRIME (offline) - raw, {MAIN}",
        ("collection", *(COLUMN_NAMES[column] for column in COLUMNS), "times fewer tokens", "times fewer vectors"),
        tuple(rows),
        "paired by query, 95% BCa intervals; costs against structure-chunks (paper: 45.8x, 22.4x)",
    )


def _word(finding: str | None) -> str:
    return {"better": "wins", "worse": "LOSES"}.get(finding or "", "=")


def _factorial(results: Sequence[CollectionResult]) -> Grid:
    rows = []
    for name in TABLE_2:
        cells = []
        for number, column in enumerate(COLUMNS):
            found = [cell.main.mean for result in results if (cell := result.cell(name, column)) is not None]
            paper = BY_NAME[name].paper
            if found and paper is not None:
                cells.append(f"{sum(found) / len(found):.3f} ({paper[number]:.3f})")
        if cells:
            rows.append((BY_NAME[name].label, *cells))
    return Grid(
        f"{MAIN}, mean over {len(results)} collections (in brackets: the paper's, QASPER)",
        ("representation", *(COLUMN_NAMES[column] for column in COLUMNS)),
        tuple(rows),
        "a mean over collections of different kinds: see each one below",
    )
