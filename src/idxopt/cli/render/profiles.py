"""Corpus profiles as a table, sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from idxopt.cli.units import counted

if TYPE_CHECKING:
    from idxopt.evaluation.profile import Profile
    from idxopt.evaluation.regimes import Prediction
    from idxopt.evaluation.self_retrieval import SelfRetrieval


def profile_table(found: Profile, own: SelfRetrieval | None) -> Table:
    """A line a figure, with what it is of."""
    table = Table()
    for heading in ("", "figure", "value"):
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    group = ""
    for name, figure, value in _rows(found, own):
        table.add_row("" if name == group else name, figure, value)
        group = name
    return table


def _rows(found: Profile, own: SelfRetrieval | None) -> Iterator[tuple[str, str, str]]:
    lengths, headings, titles, density = found.lengths, found.headings, found.titles, found.density.mean
    yield (
        "length",
        "words (mean; 10%, median, 90%)",
        (f"{lengths.mean:,.0f}; {lengths.p10:,.0f}, {lengths.median:,.0f}, {lengths.p90:,.0f}"),
    )
    yield "length", "documents beyond an encoder's window", f"{lengths.beyond_window:.0%}"
    yield "headings", "documents with headings", f"{headings.coverage:.0%}"
    yield "headings", "sections a document", f"{headings.sections:.1f}"
    if headings.coverage:
        yield "headings", "documents whose sections are not level 2", f"{headings.fallback:.0%}"
        yield "headings", "sections of less than a line", f"{headings.one_line:.0%}"
        yield "headings", "that are code, formulas or sentences", f"{headings.false:.0%}"
        yield "headings", "that stand in three documents or more", f"{headings.repeated:.0%}"
        yield "headings", "words of the heading tree", f"{headings.tree_words:.0f}"
    yield "titles", "documents with a title", f"{titles.share:.0%}"
    if titles.share:
        yield "titles", "distinct", f"{titles.distinct:.0%}"
        yield "titles", "words", f"{titles.words:.1f}"
        yield "titles", "of their words found in the body", f"{titles.in_body:.0%}"
        yield "titles", "of their words among the body's five main terms", f"{titles.named:.0%}"
        yield "titles", "that look like an id or a file name", f"{titles.id_like:.0%}"
    yield "density", "stop words", f"{density.stop_ratio:.0%}"
    yield "density", "mean IDF", f"{density.mean_idf:.2f}"
    yield "density", "technical terms per 100 words", f"{density.technical:.1f}"
    yield "density", "semantic density", f"{density.semantic:.2f}"
    if own is not None:
        yield "metadata vector", f"its own document is first (of {own.documents})", f"{own.metadata_first:.0%}"
        yield "metadata vector", "mean reciprocal rank", f"{own.reciprocal_rank:.2f}"
        if own.title_first is not None:
            yield "metadata vector", "with the title alone", f"{own.title_first:.0%}"


def profile_lines(found: Profile, prediction: Prediction, *, read: int, seen: int, rejected: int) -> Iterator[str]:
    """What the figures mean: regime, recommendation, reasons, warnings."""
    drawn = "all of them" if read == seen else f"{read:,} drawn by chance"
    yield f"{counted(seen, 'document')}, {drawn}; markup {found.markup}"
    if rejected:
        yield f"! {counted(rejected, 'document')} could not be read and took no part"
    yield ""
    yield f"regime: {prediction.regime}; recommended: {prediction.recommended}"
    for reason in prediction.reasons:
        yield f"  - {reason}"
    verb = "beat" if prediction.sign == "+" else "lose to"
    yield (
        f"metadata (offline) is expected to {verb} raw windows in a dense index, strength {prediction.strength:.2f} "
        "of 1; that is a prediction: measure it with your queries"
    )
    for warning in prediction.warnings:
        yield f"! {warning}"


def profile_json(found: Profile, prediction: Prediction, own: SelfRetrieval | None) -> dict[str, Any]:
    """Profile, prediction and self-retrieval as one document."""
    density = found.density
    return {
        "profile": {
            "read": found.documents,
            "empty": found.empty,
            "markup": found.markup,
            "lengths": asdict(found.lengths),
            "headings": asdict(found.headings),
            "titles": {**asdict(found.titles), "quality": found.titles.quality},
            "density": asdict(density.mean),
            "unread_markdown": found.unread_markdown,
        },
        "prediction": {
            "regime": prediction.regime,
            "recommended": prediction.recommended,
            "offline_minus_raw": prediction.sign,
            "strength": prediction.strength,
            "reasons": list(prediction.reasons),
            "warnings": list(prediction.warnings),
            "heading_free": prediction.heading_free,
        },
        "self_retrieval": None if own is None else asdict(own),
    }
