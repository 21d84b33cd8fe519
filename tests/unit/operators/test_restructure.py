"""Restructured documents: the same headings whatever a model answers, fixed blocks untouched, nothing ever empty."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.models.prompts import TextRequest
from idxopt.operators.restructure import restructured
from idxopt.operators.texts import Kept
from idxopt.text.structure import parse
from tests.unit.operators.generating import LANGUAGE_MODEL, answering, enrich, generating, made_of

LONG = (
    "The service keeps each index on several nodes so that one of them may fail without any loss of data. "
    "It is nice to know and people speak about it often during their long lunch breaks in the garden outside."
)
DOCUMENT = f"""---
lang: en
---
# Title

{LONG}

## First

{LONG}

```
## no heading
limit = 5
```

{LONG}

### Inner

{LONG}

| a | b |
|---|---|
| 1 | 2 |

## Second

Too short to rewrite.
"""


def answers(make, asked=None):
    """Answers every request with what `make` makes of each part."""

    def ask(requests):
        if asked is not None:
            asked.extend(requests)
        return [Kept([make(part) for part in request.options["parts"]]) for request in requests]

    return ask


def outline(text, markup):
    return [(heading.level, heading.text) for heading in parse(text, markup).headings]


def blocks(text, markup="markdown"):
    return [block.text for block in parse(text, markup).blocks if block.kind in ("code", "table")]


def test_one_request_a_section_with_its_path_and_prose():
    asked: list[TextRequest] = []
    made, results = restructured(DOCUMENT, "markdown", answers(lambda part: part, asked), most=10_000)
    assert made == DOCUMENT
    assert [request.options["path"] for request in asked] == [[], ["First"]]
    assert [len(request.options["parts"]) for request in asked] == [1, 3]
    assert not any("limit" in request.text or "| 1" in request.text or "lang:" in request.text for request in asked)
    assert [result.outcome for result in results] == ["rewritten", "rewritten", "kept"]


def test_code_tables_headings_and_front_matter_stay():
    made, _ = restructured(DOCUMENT, "markdown", answers(lambda _: "Each index is on several nodes."), most=10_000)
    assert outline(made, "markdown") == outline(DOCUMENT, "markdown")
    assert blocks(made) == blocks(DOCUMENT)
    assert made.startswith("---\nlang: en\n---\n# Title\n\nEach index is on several nodes.\n")
    assert "lunch" not in made
    assert made.endswith("## Second\n\nToo short to rewrite.\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("## Another heading\n\nEach index is on several nodes.", "headings"),
        ("Each index\n======\n\nis on several nodes.", "headings"),
        ("Each index is on several nodes.\n\n```\nopen fence", "headings"),
        ("Each index is on several nodes.\n\n| a | b |\n|---|---|\n| c | d |", "code or tables"),
        ("", "empty"),
        ("   ", "empty"),
        ("Each index is on 77 nodes.", "spans absent from the source"),
    ],
)
def test_what_harms_the_structure_or_the_facts_is_refused(answer, reason):
    made, results = restructured(DOCUMENT, "markdown", answers(lambda _: answer), most=10_000)
    assert made == DOCUMENT
    assert reason in results[1].reasons
    assert {result.outcome for result in results} == {"refused", "kept"}


def test_a_failed_answer_keeps_the_section_and_says_why():
    def ask(requests):
        return [Kept(None, "no JSON") for _ in requests]

    made, results = restructured(DOCUMENT, "markdown", ask, most=10_000)
    assert made == DOCUMENT
    assert Counter(result.outcome for result in results) == {"failed": 2, "kept": 1}
    assert results[0].reasons == ("no JSON",)


def test_a_section_longer_than_a_request_goes_out_in_several():
    text = "## One\n\n" + "\n\n```\nx\n```\n\n".join([LONG] * 5)
    asked: list[TextRequest] = []
    made, _ = restructured(text, "markdown", answers(lambda part: part, asked), most=450)
    assert made == text
    assert len(asked) == 3
    assert all(len(request.text) <= 450 for request in asked)


def test_a_document_of_no_headings_is_one_section():
    asked: list[TextRequest] = []
    restructured(f"{LONG} " * 3, "text", answers(lambda part: part, asked), most=10_000)
    assert [request.options["path"] for request in asked] == [[]]


def test_html_gets_paragraphs_and_escapes():
    page = f"<h1>A</h1><p>{LONG}</p><h2>B</h2><p>{LONG}</p><pre>x &lt; y</pre><p>{LONG}</p>"
    asked: list[TextRequest] = []
    made, _ = restructured(page, "html", answers(lambda _: "Each index & node is < whole.", asked), most=10_000)
    assert made.count("<p>Each index &amp; node is &lt; whole.</p>") == 3
    assert "<pre>x &lt; y</pre>" in made
    assert outline(made, "html") == outline(page, "html")
    assert "<p>" not in asked[0].text


def test_the_step_reads_the_store(tmp_path):
    program = generating(enrich("restructure"), models=LANGUAGE_MODEL)

    def answer(request):
        return json.dumps({"parts": ["Each index is on several nodes." for _ in request.options["parts"]]})

    models = answering(program, DOCUMENT, tmp_path, answer)
    made = made_of(program, DOCUMENT, models=models)
    assert "Each index is on several nodes." in made
    assert made_of(program, "other words", models=models) == "other words"


PIECES = [
    LONG,
    "# T",
    "## A",
    "## A ##",
    "### C",
    "Head\n----",
    "- item one of this list with some words",
    "~~~",
    "```",
]
PIECES += ["```\ncode\n```", "> quoted", "| a | b |\n|---|---|\n| 1 | 2 |", "", "    indented", "1. one\n2. two", "---"]
MARKED = st.lists(st.sampled_from(PIECES), max_size=12).map("\n\n".join)
HOSTILE = ["", "Each index is on nodes.", "# X", "```", "~~~\nx", "---", "a\n---", "<h2>x</h2>", "| a |\n|---|", "1. x"]
HOSTILE += ["== Y", "    four", "\\", "<!--", "<pre>", "....\n", "Title\n=====", "- a\n\n  # b"]
ANSWERS = st.sampled_from(HOSTILE)


@given(MARKED | st.text(max_size=200), st.sampled_from(["markdown", "html", "rest", "asciidoc", "text"]), ANSWERS)
def test_whatever_the_answer_headings_are_the_same_and_nothing_is_empty(text, markup, answer):
    text = text + "\n\n" + LONG
    made, results = restructured(text, markup, answers(lambda part: answer), most=1_000)
    assert outline(made, markup) == outline(text, markup)
    assert "".join(result.text for result in results) == made
    assert "".join(result.original for result in results) == text
    assert all(result.text.strip() or not result.original.strip() for result in results)


@given(MARKED, st.sampled_from(["markdown", "html", "rest", "asciidoc", "text"]))
def test_extractive_restructuring_keeps_headings_and_passes_its_own_gate(text, markup):
    text = text + "\n\n" + f"{LONG} " * 3
    made = made_of(generating(enrich("restructure"), markup=markup), text)
    assert outline(made, markup) == outline(text, markup)
