"""Sections: they partition any text in any markup; levels, paths, fallback; time and totality of every parser."""

import time
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idxopt.text.blocks import BOM
from idxopt.text.structure import Markup, blocks, parse, plain_text, structure

MARKUPS = get_args(Markup)
PIECES = [
    "# A\n",
    "## B\n",
    "### C\r\n",
    "A\n===\n",
    "B\n---\r",
    "= D\n",
    "== E\n",
    "<h1>F</h1>",
    "<h2>G",
    "</h2>",
    "=====\nH\n=====\n",
    "text ",
    "\n",
    "\r\n",
    "\r",
    "```\n",
    "----\n",
    "....\n",
    "====\n",
    "|===\n",
    "|a |b\n",
    "+--+\n",
    "| a|\n",
    "<pre>",
    "</pre>",
    "<table><tr><td>",
    "<ul><li>",
    "</ul>",
    "<!--",
    "-->",
    "<script>",
    "* i\n",
    "- i\n",
    "1. i\n",
    "  ",
    "    ",
    "::\n\n",
    ".. note::\n",
    BOM,
    "---\na: b\n---\n",
    "\x00",
    "\ud800",
    "[discrete]\n",
    "____\n",
    "--\n",
    "+\n",
    "t:: d\n",
    "> q\n",
    "| a |\n|---|\n",
    "&amp;",
    "\u2028",
]
mixed = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters() | st.characters(categories=["Cs"]), max_size=5), max_size=25
)
markups = st.sampled_from(MARKUPS)


@given(mixed.map("".join), markups)
@example("", "markdown")
@example(BOM, "markdown")
@example("\r", "rest")
def test_sections_partition_any_text(text: str, markup: Markup) -> None:
    found = structure(text, markup)
    for sections in (found.sections, *(found.sections_at(level) for level in (1, 2, 3, 6))):
        assert "".join(text[section.start : section.end] for section in sections) == text
        assert [section.id for section in sections] == list(range(len(sections)))
        assert all(section.start <= section.body_start <= section.end for section in sections)
        assert all(section.start < section.end for section in sections)
    assert all(before.end <= after.start for before, after in pairwise(found.headings))


@given(mixed.map("".join), markups)
def test_blocks_are_inside_the_text_and_ordered(text: str, markup: Markup) -> None:
    found = blocks(text, markup)
    for block in found:
        assert 0 <= block.start <= block.end <= len(text)
        assert 0 <= block.linked <= len(block.text)
        assert (block.table is None) == (block.kind != "table")
        for row in (*block.table.header, *block.table.body) if block.table else ():
            assert block.start <= row.start <= row.end <= block.end
    outer = [block.start for block in found if block.depth == 0]
    assert outer == sorted(outer)


@given(mixed.map("".join), markups)
def test_every_heading_of_the_structure_is_a_block(text: str, markup: Markup) -> None:
    parsed = parse(text, markup)
    found = {(block.start, block.end, block.level, block.text) for block in parsed.blocks if block.kind == "heading"}
    assert {(heading.start, heading.end, heading.level, heading.text) for heading in parsed.headings} <= found


@given(st.text(st.characters(categories=["L", "N", "Zs", "Lo"])), markups)
def test_words_without_markup_survive(text: str, markup: Markup) -> None:
    assert "survivor" in plain_text(f"{'' if markup == 'html' else text}\n\nsurvivor", markup)


DOCUMENT = "intro\n\n# T\n\nlead\n\n## A\n\na\n\n### A1\n\na1\n\n## B\n\nb\n"


def test_sections_and_their_paths() -> None:
    found = [(section.level, section.path, section.heading) for section in structure(DOCUMENT, "markdown").sections]
    assert found == [
        (0, (), None),
        (1, ("T",), "T"),
        (2, ("T", "A"), "A"),
        (3, ("T", "A", "A1"), "A1"),
        (2, ("T", "B"), "B"),
    ]


def test_sections_at_a_level_hold_deeper_headings() -> None:
    found = structure(DOCUMENT, "markdown")
    bodies = [DOCUMENT[section.body_start : section.end].strip() for section in found.sections_at(2)]
    assert bodies == ["intro", "lead", "a\n\n### A1\n\na1", "b"]
    assert found.section_level() == 2


@pytest.mark.parametrize(
    ("text", "level", "cut"),
    [
        ("# T\n### a\n### b\n#### c\n", 3, 3),
        ("# T\n# U\n### a\n", 2, 2),
        ("### a\n#### b\n", 3, 1),
        ("# T\n## a\n## b\n#### c\n", 2, 3),
        ("text", None, 1),
    ],
)
def test_level_where_no_heading_is_of_level_2(text: str, level: int | None, cut: int) -> None:
    found = structure(text, "markdown")
    assert found.section_level() == level
    assert len(found.sections_at()) == cut


def test_absent_level_below_the_most_frequent_one_cuts_above_it() -> None:
    found = structure("# T\n## a\n## b\n#### c\n", "markdown")
    assert found.section_level(3) == 3
    assert [section.heading for section in found.sections_at(3)] == ["T", "a", "b"]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("markdown", "# T\n\nlead\n\n## A\n\na\n"),
        ("html", "<h1>T</h1>\n<p>lead</p>\n<h2>A</h2><p>a</p>"),
        ("rest", "T\n=\n\nlead\n\nA\n-\n\na\n"),
        ("asciidoc", "= T\n\nlead\n\n== A\n\na\n"),
    ],
)
def test_equal_documents_have_equal_sections_in_every_markup(markup: Markup, text: str) -> None:
    found = structure(text, markup)
    assert [(section.level, section.path) for section in found.sections] == [(1, ("T",)), (2, ("T", "A"))]
    assert plain_text(text, markup) == "T\nlead\nA\na"


HOSTILE = {
    "one line": "word " * 1_000_000,
    "no space": "a" * 5_000_000,
    "brackets": "[" * 100_000,
    "closed brackets": "[" * 50_000 + "]" * 50_000,
    "images": "![](" * 25_000,
    "emphasis": "**a " * 50_000,
    "nested quotes": ">" * 100_000 + "a",
    "nested lists": "".join("  " * depth + "- a\n" for depth in range(300)),
    "list items": "* a\n" * 40_000,
    "unclosed tags": "<a " * 100_000,
    "unclosed comments": "<!--" * 100_000,
    "nested tags": "<ul><li><table><tr><td>" * 20_000,
    "backticks": "".join("`" * count + " " for count in range(600)),
    "fences": "```\n" * 100_000,
    "blank lines": "\n" * 500_000,
    "adornments": "==\n" * 100_000,
    "tables": "== ==\n" * 50_000,
    "delimiters": "====\n----\n" * 20_000,
    "NUL and surrogates": "\x00\ud800\udfff# a\n" * 50_000,
    "million": "x. " * 333_334,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("markup", MARKUPS)
def test_hostile_text_ends_in_bounded_time(markup: Markup, text: str) -> None:
    started = time.perf_counter()
    sections = structure(text, markup).sections_at()
    assert sum(section.end - section.start for section in sections) == len(text)
    assert time.perf_counter() - started < 30
