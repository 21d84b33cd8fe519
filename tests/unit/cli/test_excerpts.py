"""Excerpts show the text that matches, not the title again."""

import pytest

from idxopt.cli.render.excerpts import EXCERPT, excerpt_of, title_of
from idxopt.program.validate import program_from
from tests.e2e.runner import program

PROGRAM = program_from(program(), "p.json")
LONG = "Lorem ipsum dolor sit amet. " * 30
TEXT = f"# Keys\n\n{LONG}\n\nA key is rotated in the **console** every month.\n\n{LONG}"


@pytest.mark.parametrize("query", ["rotate key", "rotation of keys", "console", "CONSOLE!", "how is a key rotated"])
def test_the_text_around_the_terms(query):
    shown = excerpt_of({"title": "Keys", "text": TEXT}, PROGRAM, query)
    assert "rotated in the console" in shown
    assert len(shown) <= EXCERPT
    assert shown.startswith("...")


def test_without_a_term_the_text_begins():
    assert excerpt_of({"title": "Keys", "text": TEXT}, PROGRAM, "zebra").startswith("Keys Lorem ipsum")


@pytest.mark.parametrize("source", [{}, {"text": 5}, {"text": " "}, {"title": "only"}])
def test_without_a_text_there_is_none(source):
    assert excerpt_of(source, PROGRAM, "key") == ""


def test_the_title():
    assert title_of({"title": " A\n title "}, PROGRAM) == "A title"
    assert title_of({}, PROGRAM) == ""
    plain = program(source={"fields": {"body": "text"}}, views={"content": {"lexical": {"fields": {"body": {}}}}})
    assert title_of({"title": "x"}, program_from(plain, "p.json")) is None
