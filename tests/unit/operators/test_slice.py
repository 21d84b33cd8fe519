"""Slices: no row over the window, every character in a row, tables that stay tables (cases H15, H16)."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.tables import EMPTY_TABLES
from idxopt.operators.windows import Window, windows
from idxopt.text.analysis import standard_spans, standard_tokens
from idxopt.text.sentences import paragraph_spans, sentence_spans
from idxopt.text.structure import blocks
from tests.unit.operators.corpus import document, rows, texts
from tests.unit.program.programs import program


def cut(text: str, size: int, overlap: int = 0, min_size: int = 0) -> list[Window]:
    starts = [start for start, _ in standard_spans(text)]
    return windows(text, starts, [], size=size, overlap=overlap, min_size=min_size)


def check_cover(text: str, found: list[Window]) -> None:
    assert found[0].start == 0
    assert found[-1].end == len(text)
    for before, after in itertools.pairwise(found):
        assert before.start < after.start <= before.end < after.end


@given(
    st.text(st.sampled_from("ab1 .\n\u00e9\u4e2d\U0001f600'-_"), max_size=200),
    st.integers(1, 12),
    st.integers(0, 11),
    st.integers(0, 12),
)
def test_windows_cover_the_text_and_are_never_too_large(text, size, overlap, min_size):
    overlap, min_size = min(overlap, size - 1), min(min_size, size)
    found = cut(text, size, overlap, min_size)
    check_cover(text, found)
    counts = [len(standard_tokens(text[window.start : window.end])) for window in found]
    assert max(counts) <= size
    if len(found) > 1:
        assert counts[-1] >= min_size


HARD = {
    "one early space": "x" * 10 + " " + "a" * 4_989,
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0" * 139,
    "CJK": "\u6f22\u5b57\u304b\u306a\u4ea4\u3058\u308a" * 238,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 200,
}


@pytest.mark.parametrize("name", HARD)
def test_h15_every_pair_of_window_and_overlap_ends_and_loses_nothing(name):
    text = HARD[name]
    starts = [start for start, _ in standard_spans(text)]
    for size in range(1, 65):
        for overlap in range(size):
            found = windows(text, starts, [], size=size, overlap=overlap, min_size=0)
            check_cover(text, found)
            assert len(found) <= len(starts)
    for size in (1, 2, 7, 64):
        for window in windows(text, starts, [], size=size, overlap=size - 1, min_size=0):
            assert len(standard_tokens(text[window.start : window.end])) <= size


@pytest.mark.parametrize("unit", ["words", "sentences", "paragraphs"])
@pytest.mark.parametrize(
    "text", ["x" * 10 + " " + "a" * 5_000_000, "a b. " * 1_000_000, "| a " * 1_250_000], ids=["run", "prose", "bars"]
)
def test_h15_one_line_of_five_megabytes_ends_soon(unit, text):
    start = time.monotonic()
    found = rows({"op": "slice", "unit": unit, "window": 64, "overlap": 8}, text)
    assert time.monotonic() - start < 60
    assert found[0].span is not None
    assert found[-1].span is not None
    assert (found[0].span[0], found[-1].span[1]) == (0, len(text))


TABLE = "| Two rows of header |\n| name | value |\n|---|---|\n" + "".join(f"| row{n} | v{n} |\n" for n in range(40))


def body_rows(piece: str) -> list[str]:
    """The first cells of the one table in a piece, which must have a header."""
    (table,) = [block.table for block in blocks(piece, "markdown") if block.table is not None]
    assert [row.cells for row in table.header] == [("name", "value")]
    return [row.cells[0] for row in table.body]


@pytest.mark.parametrize("around", [("", ""), ("Some words before it.\n\n", "\nAnd some behind.\n")])
def test_h16_each_piece_of_a_table_has_its_header_and_each_row_is_in_one(around):
    text = around[0] + TABLE + around[1]
    pieces = texts({"op": "slice", "unit": "words", "window": 30}, text)
    assert len(pieces) >= 4
    assert all(len(standard_tokens(piece)) <= 30 for piece in pieces)
    found = [row for piece in pieces if "row" in piece.replace("rows", "") for row in body_rows(piece)]
    assert found == [f"row{n}" for n in range(40)]


def test_h16_rows_in_the_overlap_are_whole_too():
    pieces = texts({"op": "slice", "unit": "words", "window": 30, "overlap": 5}, TABLE)
    found = [body_rows(piece) for piece in pieces]
    assert {row for piece in found for row in piece} == {f"row{n}" for n in range(40)}
    assert all(set(before) & set(after) for before, after in itertools.pairwise(found))


def test_a_table_row_larger_than_the_window_is_cut_and_nothing_is_lost():
    text = "| a | b |\n|---|---|\n| " + "word " * 50 + "| x |\n| c | d |\n"
    found = rows({"op": "slice", "unit": "words", "window": 10}, text)
    assert all(len(standard_tokens(row.fields["body"])) <= 10 for row in found)
    spans = [row.span for row in found if row.span]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(before[1] >= after[0] for before, after in itertools.pairwise(spans))


def test_words_by_hand():
    assert texts({"op": "slice", "unit": "words", "window": 2}, "One two, three. Four five") == [
        "One two, ",
        "three. Four ",
        "five",
    ]
    assert texts({"op": "slice", "unit": "words", "window": 3, "overlap": 1}, "a b c d e") == ["a b c ", "c d e"]
    assert texts({"op": "slice", "unit": "words", "window": 4, "min_size": 2}, "a b c d e") == ["a b c ", "d e"]
    assert texts({"op": "slice", "unit": "words", "window": 9}, "...") == ["..."]
    assert texts({"op": "slice", "unit": "words", "window": 9}, "") == [""]


def test_sentences_and_paragraphs_by_hand():
    text = "One is here. Two is there!\n\nThree?"
    assert texts({"op": "slice", "unit": "sentences", "window": 1}, text) == [
        "One is here. ",
        "Two is there!\n\n",
        "Three?",
    ]
    assert texts({"op": "slice", "unit": "paragraphs", "window": 1}, text) == [
        "One is here. Two is there!\n\n",
        "Three?",
    ]


@given(st.text(st.sampled_from("ab. !?\n\r\u3002"), max_size=100), st.integers(1, 5))
def test_sentences_and_paragraphs_cover_the_text(text, size):
    for spans in (sentence_spans, paragraph_spans):
        check_cover(text, windows(text, [start for start, _ in spans(text)], [], size=size, overlap=0, min_size=0))


GUIDE = "Before.\n\n# Guide\n\nText.\n\n## Install\n\nRun it.\n\n### Windows\n\nClick.\n\n## Use\n\nEnjoy.\n"


def test_headings_make_a_row_a_section_with_its_path():
    found = rows({"op": "slice", "unit": "headings", "keep_heading_path": True}, GUIDE)
    assert [(row.path, row.fields["body"]) for row in found] == [
        ((), "Before.\n\n"),
        (("Guide",), "# Guide\n\nText.\n\n"),
        (("Guide", "Install"), "## Install\n\nRun it.\n\n### Windows\n\nClick.\n\n"),
        (("Guide", "Use"), "## Use\n\nEnjoy.\n"),
    ]
    assert [row.fields.get("path") for row in found] == [None, ["Guide"], ["Guide", "Install"], ["Guide", "Use"]]
    assert all(row.span and GUIDE[slice(*row.span)] == row.fields["body"] for row in found)


def test_headings_without_path_and_with_a_smallest_size():
    assert [row.path for row in rows({"op": "slice", "unit": "headings"}, GUIDE)] == [(), (), (), ()]
    step = {"op": "slice", "unit": "headings", "keep_heading_path": True, "min_size": 3}
    assert [(row.path, row.fields["body"].split("\n")[0]) for row in rows(step, GUIDE)] == [
        (("Guide",), "Before."),
        (("Guide", "Install"), "## Install"),
    ]


def test_a_document_without_that_level_is_cut_at_its_most_frequent_one():
    text = "### A\n\na\n\n### B\n\nb\n\n#### C\n\nc\n"
    found = rows({"op": "slice", "unit": "headings", "keep_heading_path": True}, text)
    assert [row.path for row in found] == [("A",), ("B",)]


@pytest.mark.parametrize(
    "text", ["# A\n\na\n", "---\ntitle: x\n---\n# A\n\na\n", "A\n===\n\na\n", "```\n# x\n```\n# A\n"]
)
def test_h14_a_byte_order_mark_changes_no_row(text):
    steps = {"op": "slice", "unit": "headings", "keep_heading_path": True}
    for step in (steps, {"op": "slice", "unit": "words", "window": 100}):
        with_mark = rows(step, "\ufeff" + text)
        without = rows(step, text)
        assert [(row.path, row.fields) for row in with_mark] == [(row.path, row.fields) for row in without]


def test_spans_count_through_nested_slices_and_end_with_a_rewrite():
    headings = {"op": "slice", "unit": "headings"}
    words = {"op": "slice", "unit": "words", "window": 2}
    lower = {"op": "normalize", "scheme": "lowercase"}

    def made(*steps):
        return Interpreter(program(list(steps)), "parts", EMPTY_TABLES).rows(document(GUIDE))

    nested = made(headings, words)
    assert all(row.span and GUIDE[slice(*row.span)] == row.fields["body"] for row in nested)
    assert "".join(row.fields["body"] for row in nested) == GUIDE
    assert {row.span for row in made(lower, words)} == {None}
    assert {row.span for row in made(headings, lower, words)} == {None}
    kept = made(headings, lower)
    assert [row.span for row in kept] == [row.span for row in made(headings)]


def test_a_row_without_the_field_stays():
    interpreter = Interpreter(program([{"op": "slice", "unit": "words", "window": 2}]), "parts", EMPTY_TABLES)
    (row,) = interpreter.rows(Document("x", {"title": "T", "text": None}))
    assert dict(row.fields) == {"title": "T"}


CELLS = st.sampled_from(["a", "b c", "", "one two three four five six seven", "\u4e2d\u6587", "x|y"])
TABLES = st.builds(
    lambda header, rows: (
        f"| {header} | h |\n|---|---|\n" + "".join(f"| {left} | {right} |\n" for left, right in rows) + "\n"
    ),
    CELLS,
    st.lists(st.tuples(CELLS, CELLS), max_size=8),
)
PROSE = st.sampled_from(["Some words stand here.\n\n", "- a list\n- of two\n\n", "# Head\n\n", "| no table\n\n", "\n"])


@given(
    st.lists(st.one_of(TABLES, PROSE), max_size=6).map("".join),
    st.integers(1, 25),
    st.integers(0, 24),
    st.integers(0, 25),
)
def test_texts_with_tables_are_covered_and_bounded_too(text, size, overlap, min_size):
    step = {"op": "slice", "unit": "words", "window": size}
    step |= {"overlap": min(overlap, size - 1), "min_size": min(min_size, size)}
    found = rows(step, text)
    position = 0
    for row in found:
        assert len(standard_tokens(row.fields["body"])) <= size
        assert row.span is not None
        assert row.span[0] <= position <= row.span[1]
        assert row.fields["body"].endswith(text[slice(*row.span)])
        position = row.span[1]
    assert position == len(text)


def sentence_windows(text: str, size: int, overlap: int = 0, min_size: int = 0) -> list[Window]:
    starts = [start for start, _ in standard_spans(text)]
    stops = [start for start, _ in sentence_spans(text)]
    return windows(text, starts, [], size=size, overlap=overlap, min_size=min_size, stops=stops)


def test_windows_end_at_sentence_ends():
    text = 'One two three. "Four five six," he said. Seven eight nine ten eleven twelve. End.'
    found = [text[window.start : window.end] for window in sentence_windows(text, 9)]
    assert found == ['One two three. "Four five six," he said. ', "Seven eight nine ten eleven twelve. End."]


def test_a_sentence_longer_than_a_window_is_cut_inside_and_the_rest_starts_anew():
    text = "Go. " + " ".join(f"W{number}" for number in range(12)) + ". Stop here."
    found = [text[window.start : window.end].strip() for window in sentence_windows(text, 5)]
    assert found == ["Go.", "W0 W1 W2 W3 W4", "W5 W6 W7 W8 W9", "W10 W11. Stop here."]


@given(
    st.text(st.sampled_from('ab1 .!\n"|- '), max_size=200), st.integers(1, 12), st.integers(0, 11), st.integers(0, 12)
)
def test_sentence_windows_cover_the_text_and_are_never_too_large(text, size, overlap, min_size):
    overlap, min_size = min(overlap, size - 1), min(min_size, size)
    found = sentence_windows(text, size, overlap, min_size)
    check_cover(text, found)
    assert max(len(standard_tokens(text[window.start : window.end])) for window in found) <= size


def test_cut_at_sentences_in_a_program():
    step = {"op": "slice", "unit": "words", "window": 4, "cut": "sentences"}
    assert texts(step, "Ab b c. De e f. Gh h.") == ["Ab b c. ", "De e f. ", "Gh h."]
