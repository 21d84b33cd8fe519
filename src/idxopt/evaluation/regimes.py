"""From a corpus profile to PRIME's regimes: whether metadata will help, harm or change nothing, and what to use.

Regimes
- `fragmented`: headings that are code, formulas or sentences, or sections of one line. They cut arguments apart, so
  structure is left off.
- `saturated`: no headings to speak of, or documents that fit an encoder's window. Nothing is missing from the vector of
  the text itself, and replacing it can only lose.
- `deficit-bridging`: text that an encoder reads badly (few function words: code, tables, signatures) with titles or
  headings that say in words what it is; or entries about one thing whose windows speak of other things too.
- `structure-exploiting`: true headings in documents longer than a window.

The predicted sign is that of `offline - raw` in a dense index: one vector of title, terms and headings, against the
best window of the body. A window holds what the metadata leaves out, so metadata loses by what it fails to tell.
`told`, 0 to 1, is .7 for titles that tell the documents apart and .3 for headings that name their parts; the strength
of a loss is what is missing to 1. Metadata can win only where windows are bad at saying which document they are from,
and it is not: entries about one thing that the title names (`named`), each of several windows, with no heading tree
that drowns the name. The thresholds are reasoned, but for NAMED, which lies between medquad_pages (.90) and the next of
the collections scifact, cranfield and medquad_pages (.24): see `benchmarks/regimes.py` for the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from idxopt.evaluation.profile import Headings, Profile, Titles

Regime = Literal["deficit-bridging", "structure-exploiting", "saturated", "fragmented"]
Sign = Literal["+", "-"]

HEADING_FREE = 0.1
"""Below this share of documents with headings a corpus counts as one without any."""
COVERED = 0.5
"""At least this share of documents has headings where structure is worth indexing."""
FALSE_HEADINGS = 0.3
ONE_LINE_SECTIONS = 0.5
FITS_WINDOW = 1.5
"""Windows of an average document up to which one vector of the text misses next to nothing."""
PROSE = 0.25
"""Stop words a token of text that is read as prose; English prose has .35 to .45, code and tables below .2."""
GOOD_TITLES = 0.5
LEAST_STRENGTH = 0.05
NAMED = 0.7
"""Share of the titles' words among the main terms of their bodies from which documents are entries about a thing."""
GOOD_NAMES = 0.8
SEVERAL_WINDOWS = 2.0


ENTRIES = "documents are entries about the thing that their title names, and their windows speak of other things too"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a profile says before anything is indexed.

    `recommended` names a representation (`idxopt preset list`). `sign` is that of `offline - raw` in a dense index,
    with a `strength` of 0 to 1 (0: a coin). `heading_free`: then there is always a warning.
    """

    regime: Regime
    recommended: str
    sign: Sign
    strength: float
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    heading_free: bool


def predict(found: Profile) -> Prediction:
    """The regime, what to use, and why. Pure: no query, no model."""
    regime, why = _regime(found)
    sign, strength, because = _sign(found, regime)
    recommended, advice = _recommended(found, regime)
    return Prediction(
        regime=regime,
        recommended=recommended,
        sign=sign,
        strength=strength,
        reasons=(why, *because, advice),
        warnings=tuple(_warnings(found)),
        heading_free=found.headings.coverage < HEADING_FREE,
    )


def _regime(found: Profile) -> tuple[Regime, str]:
    headings, lengths = found.headings, found.lengths
    if headings.coverage >= HEADING_FREE and headings.false >= FALSE_HEADINGS:
        return "fragmented", f"{headings.false:.0%} of the headings are code, formulas or sentences"
    if headings.coverage >= HEADING_FREE and headings.one_line >= ONE_LINE_SECTIONS:
        return "fragmented", f"{headings.one_line:.0%} of the sections hold less than a line of text"
    if found.density.mean.stop_ratio < PROSE and max(found.titles.quality, headings.coverage) >= GOOD_TITLES:
        return "deficit-bridging", (
            f"only {found.density.mean.stop_ratio:.0%} of the tokens are function words: code or tables, which an "
            "encoder reads badly, under titles or headings in words"
        )
    if _entries(found) and headings.coverage < COVERED:
        return "deficit-bridging", ENTRIES
    if headings.coverage < HEADING_FREE:
        return "saturated", "there are no headings, so metadata is the title and five terms"
    if headings.coverage < COVERED:
        return "saturated", f"only {headings.coverage:.0%} of the documents have headings"
    if lengths.windows <= FITS_WINDOW:
        return "saturated", f"a document has {lengths.mean:.0f} words, about one window of an encoder"
    return "structure-exploiting", (
        f"{headings.coverage:.0%} of the documents have headings, and one fills {lengths.windows:.1f} windows"
    )


def told(titles: Titles, headings: Headings) -> float:
    """How much of what documents are about their metadata says, 0 to 1."""
    named = headings.coverage * (1 - headings.false) * (1 - headings.one_line) * (1 - headings.repeated)
    return 0.7 * titles.quality + 0.3 * named


def _entries(found: Profile) -> bool:
    """Whether documents are entries about the thing that their title names, each of several windows."""
    named = found.titles.named >= NAMED and found.titles.quality >= GOOD_NAMES
    return named and found.lengths.windows >= SEVERAL_WINDOWS


def _sign(found: Profile, regime: Regime) -> tuple[Sign, float, list[str]]:
    share = told(found.titles, found.headings)
    if _entries(found):
        if regime == "deficit-bridging":
            return (
                "+",
                found.titles.named * found.titles.quality / 2,
                ["a title names its document better than windows"],
            )
        return "-", LEAST_STRENGTH, [ENTRIES, "the heading tree drowns the name, though"]
    if regime == "deficit-bridging":
        return "+", max(LEAST_STRENGTH, share - 0.5), ["titles and headings speak for text that an encoder misreads"]
    missing = min(1.0, max(LEAST_STRENGTH, 1 - share))
    return "-", missing, [f"titles and headings tell {share:.2f} of 1 (titles .7, headings .3): windows hold the rest"]


def _recommended(found: Profile, regime: Regime) -> tuple[str, str]:
    match regime:
        case "fragmented":
            return "raw", "leave structure off: windows keep an argument together"
        case _ if _entries(found):
            return (
                "title",
                "embed the title alone, beside BM25 over the full text: queries ask for the thing by its name",
            )
        case "saturated":
            return "raw", "index the text itself; terms-beside-text limits the harm of metadata without helping"
        case "deficit-bridging":
            return "offline", "metadata gives the encoder words to hold on to, at one vector a document"
        case "structure-exploiting":
            return "structure-chunks", (
                "embed sections; offline costs a fraction of it and is for hybrid search with a reranker, where BM25 "
                "over the full text makes up for what metadata leaves out"
            )


def _warnings(found: Profile) -> Iterator[str]:
    headings, titles = found.headings, found.titles
    if headings.coverage < HEADING_FREE:
        yield (
            "there are no headings: metadata in place of the text harms dense retrieval (the paper: -19.5% on NFCorpus)"
        )
        if found.unread_markdown >= HEADING_FREE:
            yield f"{found.unread_markdown:.0%} of the texts have lines like Markdown headings; is the markup right?"
    elif headings.coverage < COVERED:
        yield f"{1 - headings.coverage:.0%} of the documents have no headings: to them metadata is title and terms only"
    if headings.coverage >= HEADING_FREE and headings.false >= FALSE_HEADINGS:
        yield "false headings cut arguments apart: structure off"
    if titles.share < COVERED:
        yield f"{1 - titles.share:.0%} of the documents have no title"
    elif titles.quality < GOOD_TITLES:
        what = "are ids or file names" if titles.id_like > 1 - titles.distinct else "are shared by several documents"
        yield f"titles tell documents apart badly: many {what}"
    if found.empty:
        yield f"{found.empty:,} documents have no text and were left out"
