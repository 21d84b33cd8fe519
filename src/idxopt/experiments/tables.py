"""The tables of an experiment, neutral: the terminal, the text file and the page show the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.costs import PAPER_FEWER_TOKENS, PAPER_FEWER_VECTORS, PAPER_SECTIONS_A_DOCUMENT, cheaper_by
from idxopt.evaluation.density import change
from idxopt.evaluation.pages.figures import figure, number
from idxopt.experiments.methods import (
    BY_NAME,
    CHUNKS,
    COLUMN_NAMES,
    COLUMNS,
    CONTROLS,
    FORMULAS,
    OFFLINE,
    RAW,
    TABLE_1,
    TABLE_2,
    Column,
)
from idxopt.experiments.results import FEWEST, MAIN, Cell, CollectionResult

_MARKS = {"better": "+", "worse": "-", "no clear difference": "=", None: ""}
_TABLE_1_METRICS = ("nDCG@10", "Recall@5", "P@5", "P@1", "Recall@1", "MRR", "Judged@5")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first column is text, the others are figures."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def table_1(result: CollectionResult) -> Grid:
    """The paper's six methods under hybrid + reranker."""
    rows = []
    for name in TABLE_1:
        cell = result.cell(name, "reranked")
        if cell is not None:
            means = [number(cell.means[metric]) for metric in _TABLE_1_METRICS]
            rows.append((BY_NAME[name].label, figure(cell.main), *means, _difference(cell)))
    return Grid(
        f"Table 1: {result.name}, hybrid + reranker",
        ("method", str(MAIN), *_TABLE_1_METRICS, f"{MAIN} - raw"),
        tuple(rows),
        f"n = {result.queries}; 95% BCa intervals",
    )


def table_2(result: CollectionResult) -> Grid:
    """The factorial: five representations, three pipelines; then the controls and baselines under the same three."""
    rows = [_factorial(result, name) for name in (*TABLE_2, *CONTROLS) if result.cell(name, "dense") is not None]
    return Grid(
        f"Table 2: {result.name}, {MAIN}",
        ("representation", *(COLUMN_NAMES[column] for column in COLUMNS)),
        tuple(rows),
        f"n = {result.queries}; 95% BCa intervals; to raw in the same column: + better, - worse, = no clear difference "
        f"(the interval of the paired difference holds 0, or fewer than {FEWEST} queries differ)",
    )


def _factorial(result: CollectionResult, name: str) -> tuple[str, ...]:
    cells = [result.cell(name, column) for column in COLUMNS]
    return (
        BY_NAME[name].label,
        *(f"{figure(cell.main)} {_MARKS[cell.finding]}".rstrip() for cell in cells if cell is not None),
    )


def differences(result: CollectionResult) -> Grid:
    """Paired differences of every method to raw."""
    rows = []
    for name in result.methods:
        if name != RAW:
            cells = [result.cell(name, column) for column in COLUMNS]
            rows.append((BY_NAME[name].label, *(_difference(cell) for cell in cells if cell is not None)))
    return Grid(
        f"Differences to raw: {result.name}, {MAIN}",
        ("representation", *(COLUMN_NAMES[column] for column in COLUMNS)),
        tuple(rows),
        "paired by query, 95% BCa intervals",
    )


def _difference(cell: Cell) -> str:
    if cell.difference is None:
        return ""
    return f"{figure(cell.difference, signed=True)} {_MARKS[cell.finding]}"


def formulas(result: CollectionResult) -> Grid | None:
    """PRIME's terms by the literal formula, against the stop-word list that is the default here."""
    if any(result.cell(name, "dense") is None for name in FORMULAS):
        return None
    names = {FORMULAS[0]: "with a stop-word list (default)", FORMULAS[1]: "literal (stopwords: none)"}
    rows = [(names[name], *_factorial(result, name)[1:]) for name in FORMULAS]
    rows.append(("literal - default", *(_between(result, *FORMULAS, column) for column in COLUMNS)))
    return Grid(
        f"Formula of terms, PRIME (offline): {result.name}, {MAIN}",
        ("terms", *(COLUMN_NAMES[column] for column in COLUMNS)),
        tuple(rows),
    )


def _between(result: CollectionResult, name: str, other: str, column: Column) -> str:
    """The paired difference of two methods."""
    one, two = result.cell(name, column), result.cell(other, column)
    assert one is not None  # checked by the caller
    assert two is not None
    return figure(
        mean_interval([two.per_query[query] - one.per_query[query] for query in sorted(one.per_query)]), signed=True
    )


def costs(result: CollectionResult) -> Grid:
    """Embedded tokens and vectors of every representation."""
    chunks = result.costs.get(CHUNKS)
    rows = []
    for name, cost in result.costs.items():
        ratio = cheaper_by(cost, than=chunks) if chunks is not None else None
        rows.append(
            (
                BY_NAME[name].label,
                f"{cost.tokens:,}",
                f"{cost.vectors:,}",
                f"{cost.tokens_a_document:,.0f}",
                f"{cost.vectors_a_document:.1f}",
                _ratio(ratio.tokens if ratio else None),
                _ratio(ratio.vectors if ratio else None),
                f"{cost.cut:,}",
            )
        )
    return Grid(
        f"Cost: {result.name}",
        (
            "representation",
            "tokens",
            "vectors",
            "tokens a document",
            "vectors a document",
            "times fewer tokens",
            "times fewer vectors",
            "cut",
        ),
        tuple(rows),
        _cost_note(result),
    )


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}x"


def _cost_note(result: CollectionResult) -> str:
    note = (
        f"times fewer than structure-chunks; the paper has {PAPER_FEWER_TOKENS}x and {PAPER_FEWER_VECTORS}x for "
        f"PRIME (offline), with {PAPER_SECTIONS_A_DOCUMENT} sections a document; cut: texts longer than the encoder's "
        "window"
    )
    if result.shape is None:
        return note
    shape = result.shape
    return (
        f"{note}. The ratio of vectors is the chunks a document: here {shape.sections:.1f} sections a document "
        f"({shape.headed:.0%} of the documents have headings), long ones split; the ratio of tokens is the length of a "
        f"body ({shape.body_tokens:,.0f} tokens) over that of its metadata ({shape.metadata_tokens:,.0f})"
    )


def density(result: CollectionResult) -> Grid | None:
    """Table 5, panel A."""
    if not result.density:
        return None
    rows = [
        (one.name, f"{one.raw:.3f}", f"{one.rewritten:.3f}", _percent(change(one.raw, one.rewritten)))
        for one in result.density
    ]
    return Grid(f"Density: {result.name}", ("figure", "D", "D*", "change"), tuple(rows), "IDF of D for both")


def evidence(result: CollectionResult) -> Grid | None:
    """Table 5, panel B."""
    if not result.evidence:
        return None
    rows = [
        (
            one.name,
            f"{one.raw:.3f}",
            f"{one.rewritten:.3f}",
            _percent(change(one.raw, one.rewritten)),
            figure(one.difference, signed=True) if one.difference is not None else "",
        )
        for one in result.evidence
    ]
    header = ("figure", "sections of D", "sections of D*", "change", "difference")
    return Grid(f"Evidence sections: {result.name}", header, tuple(rows), result.evidence_note)


def fidelity(result: CollectionResult) -> Grid | None:
    """Table 6: of what was rewritten and of what is stored."""
    found = result.fidelity
    if not found:
        return None
    rows = []
    for name, paper in found["paper"].items():
        shares = [found[kind][name]["share"] for kind in ("answered", "stored")]
        rows.append((name, *("-" if share is None else f"{share:.3f}" for share in shares), f"{paper:.3f}"))
    sections = ", ".join(f"{count} {what}" for what, count in sorted(found["sections"].items())) or "none"
    lengths = found["characters"]
    size = f"; {lengths['restructured'] / lengths['original']:.0%} of the characters" if lengths["original"] else ""
    header = ("measure", "answered", "stored", "paper")
    return Grid(f"Fidelity of the rewriting: {result.name}", header, tuple(rows), f"sections: {sections}{size}")


def answers(result: CollectionResult) -> Grid | None:
    """Answer-F1: searched corpus to the corpus that is read."""
    if not result.answers:
        return None
    rows = tuple((mode, figure(interval)) for mode, interval in result.answers.items())
    return Grid(f"Answer-F1: {result.name}", ("searched-read", "F1"), rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}%"


def grids(result: CollectionResult) -> list[Grid]:
    """All tables of one collection, in reading order."""
    every = (
        table_2(result),
        differences(result),
        table_1(result),
        formulas(result),
        costs(result),
        density(result),
        evidence(result),
        fidelity(result),
        answers(result),
    )
    return [grid for grid in every if grid is not None and grid.rows]


def sentences(result: CollectionResult) -> list[str]:
    """What the figures say, plainly: gains and where they vanish, losses, and what the profile had predicted."""
    found = [_method_sentence(result, name) for name in result.methods if name != RAW]
    return [*found, _prediction_sentence(result), *result.left_out]


def _method_sentence(result: CollectionResult, name: str) -> str:
    label = BY_NAME[name].label
    cells: dict[Column, Cell] = {
        column: cell for column in COLUMNS if (cell := result.cell(name, column)) is not None and cell.finding
    }
    won = [column for column in COLUMNS if column in cells and cells[column].finding == "better"]
    lost = [column for column in COLUMNS if column in cells and cells[column].finding == "worse"]
    parts = []
    if won:
        parts.append(f"beats raw in {_named(won, cells)}")
        vanished = next((one for one in COLUMNS[COLUMNS.index(won[0]) + 1 :] if one in cells and one not in won), None)
        if vanished is not None:
            parts.append(f"the gain vanishes at {COLUMN_NAMES[vanished]}")
    if lost:
        parts.append(f"LOSES to raw in {_named(lost, cells)}")
        regained = next(
            (one for one in COLUMNS[COLUMNS.index(lost[0]) + 1 :] if one in cells and one not in lost), None
        )
        if regained is not None:
            parts.append(f"the loss is no longer clear at {COLUMN_NAMES[regained]}")
    return f"{label}: {'; '.join(parts) or 'no clear difference to raw in any column'}."


def _named(columns: Sequence[Column], cells: dict[Column, Cell]) -> str:
    named = []
    for column in columns:
        difference = cells[column].difference
        assert difference is not None  # a cell with a finding
        named.append(f"{COLUMN_NAMES[column]} ({figure(difference, signed=True)})")
    return ", ".join(named)


def _prediction_sentence(result: CollectionResult) -> str:
    predicted = result.prediction
    cell = result.cell(OFFLINE, "dense")
    measured = ""
    if cell is not None and cell.difference is not None:
        measured = f"; measured: {figure(cell.difference, signed=True)} ({cell.finding})"
    direction = "gain" if predicted.sign == "+" else "loss"
    return (
        f"Predicted before indexing: {predicted.regime}, a {direction} of offline metadata (dense only), recommended "
        f"{predicted.recommended}{measured}."
    )
