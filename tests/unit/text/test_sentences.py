"""Sentences and paragraphs partition any text; the rules on prose."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.text.sentences import paragraph_spans, sentence_spans

ANY = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(" .!?\n\r\t\"'A1-\u3002\u2026"))


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four\u2026 Five", ["One.", "Two!", "Three?", "Four\u2026", "Five"]),
        ("Dr. Smith et al. (2020) agree. Yes.", ["Dr. Smith et al. (2020) agree.", "Yes."]),
        ("It is 3.14 m, e.g. here. Next.", ["It is 3.14 m, e.g. here.", "Next."]),
        ("By J. R. Smith. It works.", ["By J. R. Smith.", "It works."]),
        ("See Fig. 3 and No. 5. No. It is not.", ["See Fig. 3 and No. 5.", "No.", "It is not."]),
        ('He said "Stop." Then left.', ['He said "Stop."', "Then left."]),
        ("Apples, pears, etc. Then more.", ["Apples, pears, etc.", "Then more."]),
        ("Wait... what? ok", ["Wait... what? ok"]),
        (
            "\u4f60\u597d\u3002\u518d\u89c1\uff01\u300d\u672b",
            ["\u4f60\u597d\u3002", "\u518d\u89c1\uff01\u300d", "\u672b"],
        ),
        ("A title\n\nlower case body.\n\nMore", ["A title", "lower case body.", "More"]),
        ("Steps:\n- one\n- two\n1. three. Four", ["Steps:", "- one", "- two", "1. three.", "Four"]),
        ("a line\nbroken in two. End", ["a line\nbroken in two.", "End"]),
        ("no end. here.. or?! \n here.\u00a0x. \u00e9 End.", ["no end. here.. or?! \n here.\u00a0x. \u00e9 End."]),
        ('An end.\n\nhere. \r\rand "here."\u2028Then', ["An end.", "here.", 'and "here."', "Then"]),
        ("messrs. A, amessrs. B", ["messrs. A, amessrs.", "B"]),
        ("(e.g. A) x-jan. A. 5. B\n5. C, A5. D", ["(e.g. A) x-jan. A. 5.", "B", "5. C, A5.", "D"]),
        ("Is it? no! No. 5 is.\u2026 5.5.A .B", ["Is it? no!", "No. 5 is.\u2026", "5.5.A .B"]),
        ("a.\n- b, e.g.\n- c", ["a.", "- b, e.g.\n- c"]),
        ("a.\u3002b?\uff01 c", ["a.\u3002", "b?\uff01", "c"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", ["a\nb\n\n", "c"]),
        ("a\r\n \t\r\n\r\nb", ["a\r\n \t\r\n\r\n", "b"]),
        ("a\r\rb\n", ["a\r\r", "b\n"]),
        ("\n\na\n\n", ["\n\na\n\n"]),
        ("", []),
    ],
)
def test_paragraphs(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in paragraph_spans(text)] == expected


@pytest.mark.parametrize("spans", [sentence_spans, paragraph_spans])
@given(text=ANY)
def test_spans_partition_any_text(spans, text: str) -> None:
    found = spans(text)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(start < end for start, end in found)
    if text.strip():
        assert all(text[start:end].strip() for start, end in found)


@pytest.mark.parametrize("unit", [".", ". ", "a. ", "\n", "\n ", "\u3002", '"', "- a\n", " ", ".!", '."', "\r"])
def test_time_is_linear(unit: str) -> None:
    started = time.perf_counter()
    for end in ("", "a"):
        sentence_spans(unit * (1_000_000 // len(unit)) + end)
        paragraph_spans(unit * (1_000_000 // len(unit)) + end)
    assert time.perf_counter() - started < 20


@given(st.text("ab. \t\n-1!", max_size=30))
def test_lines_that_end_in_cr_lf_are_those_that_end_in_lf(text):
    """A single line break is no blank line, however it is written."""

    def cut(spans: list[tuple[int, int]], of: str) -> list[str]:
        return [of[start:end].replace("\r\n", "\n") for start, end in spans]

    windows = text.replace("\n", "\r\n")
    assert cut(sentence_spans(windows), windows) == cut(sentence_spans(text), text)
    assert cut(paragraph_spans(windows), windows) == cut(paragraph_spans(text), text)
