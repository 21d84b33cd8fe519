"""Corpus profiles: counts by hand on small corpora, and what holds for any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.profile import WINDOW_WORDS, is_false_heading, is_id, profile
from idxopt.evaluation.representations import Text

FILLER = " ".join(["the gasket of a pump wears out when oil is low"] * 4)  # 44 words
PUMPS = Text("pumps", "Pump care", f"# Pump care\n\n## Leaks\n\n{FILLER}\n\n## Noise\n\n{FILLER}\n")
VALVES = Text("valves", "Valve care", f"## Leaks\n\n{FILLER}\n\n## Rust\n\nbrush it\n")
NOTES = Text("notes", "", FILLER)
PIPES = Text("pipes", "Pump care", f"### Leaks\n\n{FILLER}\n\n### x = f(y)\n\n{FILLER}\n")
EMPTY = Text("empty", "Nothing", " ")


def test_a_small_corpus_counted_by_hand():
    found = profile([PUMPS, VALVES, NOTES, PIPES, EMPTY], "markdown")
    assert (found.documents, found.empty) == (5, 1)
    headings, titles = found.headings, found.titles
    assert headings.coverage == 3 / 4
    assert headings.sections == (3 + 2 + 1 + 2) / 4  # the title's own section, two of pumps; two; the whole; two
    assert headings.median_sections == 2
    assert headings.fallback == 1 / 3  # pipes has sections at level 3
    assert headings.one_line == 1 / 6  # under Rust
    assert headings.false == 1 / 6  # the formula
    assert headings.repeated == 3 / 6  # Leaks stands in three documents
    assert titles.share == 3 / 4
    assert titles.distinct == pytest.approx(2 / 3)
    assert titles.words == 2
    assert titles.id_like == 0
    # pump stands in pumps and pipes, care in pumps alone (its first heading)
    assert titles.in_body == pytest.approx((2 / 2 + 0 / 2 + 1 / 2) / 3)
    # the filler's five words (gasket, pump, wears, oil, low) are the main terms of each body: pump is, care is not
    assert titles.named == pytest.approx((1 / 2 + 0 / 2 + 1 / 2) / 3)
    assert titles.quality == pytest.approx(3 / 4 * 2 / 3)
    assert found.lengths.beyond_window == 0
    assert found.unread_markdown == 0


def test_lengths_are_in_words_and_windows():
    found = profile([Text("a", "", "word " * 400), Text("b", "", "word " * 100)], "text")
    assert (found.lengths.mean, found.lengths.median, found.lengths.p10, found.lengths.p90) == (250, 250, 100, 400)
    assert found.lengths.beyond_window == 0.5
    assert found.lengths.windows == pytest.approx(250 / WINDOW_WORDS)


def test_a_title_repeated_as_the_only_heading_is_no_section():
    found = profile([Text("a", "Pump care", f"# Pump care\n\n{FILLER}"), NOTES], "markdown")
    assert found.headings.coverage == 0


def test_markdown_that_is_read_as_text_is_noticed():
    found = profile([PUMPS, NOTES], "text")
    assert found.headings.coverage == 0
    assert found.unread_markdown == 0.5


@pytest.mark.parametrize(
    ("heading", "false"),
    [
        ("Getting started", False),
        ("Step 2: install Windows", False),
        ("C++ and C#", False),
        ("x = f(y)", True),
        ("return value;", True),
        ("$\\alpha$", True),
        ("std::vector", False),
        ("ZipFile.open()", False),
        ("\u5b89\u88c5", False),
        ("1.2.3", True),
        ("---", True),
        ("We then prove that the lemma holds for all n.", True),
        ("What is it?", False),
        (" ".join(["word"] * 16), True),
    ],
)
def test_what_a_false_heading_is(heading, false):
    assert is_false_heading(heading) is false


@pytest.mark.parametrize(
    ("title", "id_"),
    [
        ("Pump care", False),
        ("BatchGetItem", False),
        ("HIV/AIDS", False),
        ("Node.js", False),
        ("\u7b2c2\u7ae0 \u5b89\u88c5\u6307\u5357", False),
        ("docs/guide/install", True),
        ("00123", True),
        ("guide/install.md", True),
        ("C:\\docs", True),
        ("install.html", True),
        ("DOC-4711", True),
        ("max_result_window", False),
        ("", False),
    ],
)
def test_what_an_id_is(title, id_):
    assert is_id(title) is id_


def test_a_corpus_without_text_is_an_error():
    with pytest.raises(EvaluationError, match="none of the 1 documents"):
        profile([EMPTY], "markdown")


LINES = st.sampled_from(["## Leaks", "# A", "x = 1", "the pump", "", "### deep", "- item", "```"])
BODIES = st.lists(LINES, max_size=12).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["", "Pump", "a.md", "Valve care"]), BODIES), min_size=1, max_size=6))
def test_shares_are_shares_for_any_corpus(pairs):
    texts = [Text(str(number), title, body) for number, (title, body) in enumerate(pairs)]
    if not any(text.body.strip() for text in texts):
        return
    found = profile(texts, "markdown")
    headings, titles = found.headings, found.titles
    shares = [headings.coverage, headings.fallback, headings.one_line, headings.false, headings.repeated]
    shares += [titles.share, titles.distinct, titles.in_body, titles.id_like, titles.quality]
    assert all(0 <= share <= 1 for share in [*shares, found.lengths.beyond_window])
    assert headings.sections >= 1
    assert profile(list(reversed(texts)), "markdown").titles == titles
