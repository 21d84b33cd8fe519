"""Sections for a reranker: cut as the heading tree cuts them, in pieces that fit, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from idxopt.search.sections import PAIR_TOKENS, Cutter, Unit, matching, text_at, units

PAGE = "# Page\n\nAbout keys.\n\n## Install\n\nUnpack *it*.\n\n### Windows\n\nClick.\n\n## Use\n\n## Empty\n\n \n"


class Words:
    """A tokenizer whose tokens are words between white space."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self.spans(text)) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


def test_sections_are_those_of_the_heading_tree() -> None:
    found = units(PAGE, "markdown", "section", 2)
    assert [(unit.path, PAGE[unit.start : unit.end].strip()[:12]) for unit in found] == [
        ((), "# Page\n\nAbou"),
        (("Install",), "## Install\n\n"),
        (("Use",), "## Use"),
        (("Empty",), "## Empty"),
    ]
    assert found[1].plain.split() == ["Install", "Unpack", "it.", "Windows", "Click."]


def test_other_levels_and_whole_documents() -> None:
    assert [unit.path for unit in units(PAGE, "markdown", "section", 3)] == [(), ("Windows",)]
    assert [unit.path for unit in units(PAGE, "markdown", "section", 1)] == [("Page",)]
    assert [unit.path for unit in units("## A\n\nx\n\n## B\n\ny\n", "markdown", "section", 4)] == [("A",), ("B",)]
    [whole] = units(PAGE, "markdown", "document", 2)
    assert (whole.start, whole.end) == (0, len(PAGE))
    assert units("", "markdown", "section", 2) == ()
    assert units(" \n", "text", "document", 2) == ()


def test_a_text_that_fits_is_one_piece() -> None:
    text = "one two three"
    [unit] = units(text, "text", "document", 2)
    for cutter in (Cutter("q", None, None, "text"), Cutter("q", 50, Words(), "text"), Cutter("q", 50, None, "text")):
        assert [piece.text for piece in cutter.pieces(text, unit)] == [text]


@given(
    st.lists(st.sampled_from(["a", "bb", "ccc", "\n", "dé", "x" * 40]), min_size=1, max_size=300), st.integers(21, 60)
)
def test_pieces_fit_and_lose_nothing(words: list[str], most: int) -> None:
    text = "  " + " ".join(words)
    size = most - PAIR_TOKENS - 1
    for unit in units(text, "text", "document", 2):
        pieces = Cutter("query", most, Words(), "text").pieces(text, unit)
        assert all(len(piece.text.split()) <= size for piece in pieces)
        covered = {n for piece in pieces for n in range(piece.start, piece.end)}
        assert all(n in covered or text[n].isspace() for n in range(len(text)))
        assert all(text[piece.start : piece.end].split() == piece.text.split() for piece in pieces)


@given(st.text(alphabet="ab\n # -", max_size=200))
def test_any_text_is_cut(text: str) -> None:
    for unit in units(text, "markdown", "section", 2):
        for piece in Cutter("query", 24, None, "markdown").pieces(text, unit):
            assert unit.start <= piece.start < piece.end <= unit.end


def test_context_is_matched_by_headings_then_by_place() -> None:
    def named(*names: str) -> list[Unit]:
        return [Unit((name,), n, n + 1, name) for n, name in enumerate(names)]

    own, other = named("A", "B", "A"), named("B", "A", "X", "A")
    assert [matching(own, n, other) for n in range(3)] == [other[1], other[0], other[3]]
    assert matching(named("A", "A"), 1, named("A")) is None


def test_text_of_stored_rows_is_found_where_the_engines_find_it() -> None:
    parts = {"parts": [{"text": "one"}, {"other": 1}, {"text": "two"}], "a.b": {"c": "inside a dotted key"}}
    assert text_at(parts, "parts.text") == "one\ntwo"
    assert text_at(parts, "a.b.c") == "inside a dotted key"


def test_text_of_stored_rows() -> None:
    source = {"a.b": "dotted", "c": {"d": ["x", "y"]}, "n": None, "idxopt": {"e": 3}}
    assert [text_at(source, path) for path in ("a.b", "c.d", "n", "idxopt.e", "idxopt.f.g", "zz")] == [
        "dotted",
        "x\ny",
        "",
        "3",
        "",
        "",
    ]
