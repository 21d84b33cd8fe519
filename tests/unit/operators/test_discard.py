"""Every form of `discard` by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.discard import heading_key
from idxopt.operators.phrases import phrase_pattern
from idxopt.operators.tables import build_tables
from tests.unit.operators.corpus import document, field, rows
from tests.unit.program.programs import program


def left(text, markup="markdown", **span):
    return field({"op": "discard", "span": span}, text, markup=markup)


@pytest.mark.parametrize(
    ("span", "text", "expected"),
    [
        ({"phrases": ["see", "see also"]}, "see also this, See, oversees", " this, See, overs"),
        ({"phrases": ["aa", "aab"]}, "aaab aa", "ab "),
        ({"phrases": ["(c)", "[x]*"]}, "a(c)b[x]*c[x]", "abc[x]"),
        ({"regex": r"\[\d+\]"}, "a [1] b [23] c", "a  b  c"),
        ({"heading": ["Notes"]}, "# A\na\n## 2. NOTES:\nn\n### Deep\nd\n## B\nb\n", "# A\na\n## B\nb\n"),
        ({"references": True}, "# A\na\n\n## References\n\n1. x\n", "# A\na\n\n"),
        ({"footers": True}, "# A\na\n\n## Was this page helpful?\n\nyes\n\n# B\n", "# A\na\n\n# B\n"),
    ],
)
def test_by_hand(span, text, expected):
    assert left(text, **span) == expected


def test_navigation_is_what_is_mostly_links():
    text = "- [Home](/)\n- [Docs](/docs)\n\nRead [this](/x) before you go on with that.\n\n[Next page](/next)\n"
    assert left(text, navigation={}).strip() == "Read [this](/x) before you go on with that."
    assert left(text, navigation={"link_density": 0.1}).strip() == ""


def test_repeated_lines_are_those_of_the_table():
    step = {"op": "discard", "span": {"repeated_lines": {"min_docs": 2}}}
    wanted = program([step])
    documents = [
        document(f"# Head\n  Cookie notice \nText {n}\n```\n---\nCookie notice\n", doc_id=str(n)) for n in range(3)
    ]
    tables = build_tables(wanted, documents)
    text = "# Head\nCookie notice\t\nText 1\nText 9\n```\n---\nOther"
    assert field(step, text, tables=tables) == "# Head\nText 1\nText 9\n```\n---\nOther"
    strict = {"op": "discard", "span": {"repeated_lines": {"min_docs": 4}}}
    assert field(strict, text, tables=tables) == text


def test_fields_go_and_the_others_stay():
    (row,) = rows({"op": "discard", "span": {"fields": ["body"]}}, "text")
    assert row.fields == {"title": "Title"}


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("1.2 References:", "references"),
        ("iv) See  Also", "see also"),
        ("*Notes*", "notes"),
        ("Was this helpful?", "was this helpful"),
    ],
)
def test_headings_are_compared_without_numbers_and_punctuation(heading, key):
    assert heading_key(heading) == key


@given(st.lists(st.text("ab.*", min_size=1, max_size=4), min_size=1, max_size=6), st.text("ab.*", max_size=30))
def test_the_longest_phrase_at_the_leftmost_place_wins(phrases, text):
    expected, position = [], 0
    while position < len(text):
        fitting = [phrase for phrase in phrases if text.startswith(phrase, position)]
        if fitting:
            position += max(map(len, fitting))
        else:
            expected.append(text[position])
            position += 1
    assert phrase_pattern(phrases).sub("", text) == "".join(expected)


def test_a_thousand_phrases_cost_no_more_than_one():
    phrases = [f"phrase number {n} of many" for n in range(1_000)]
    assert phrase_pattern(phrases).sub("", "a phrase number 77 of many" * 20_000) == "a " * 20_000
