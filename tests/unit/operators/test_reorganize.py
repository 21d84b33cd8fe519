"""Every form of `reorganize` by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document, text_of
from idxopt.operators.tables import EMPTY_TABLES
from tests.unit.operators.corpus import document, rows, texts
from tests.unit.program.programs import program


def made(*steps, body):
    return Interpreter(program(list(steps)), "parts", EMPTY_TABLES).rows(document(body))


def test_sections_keep_their_path():
    found = rows({"op": "reorganize", "to": "sections"}, "# A\n\na\n\n## B\n\nb\n")
    assert [(row.path, row.fields["path"], row.fields["body"]) for row in found] == [
        (("A",), ["A"], "# A\n\na\n\n"),
        (("A", "B"), ["A", "B"], "## B\n\nb\n"),
    ]


def test_sections_of_sections_name_the_shared_heading_once():
    body = "# A\n\n## B\n\nb\n\n### C\n\nc\n"
    found = made({"op": "reorganize", "to": "sections"}, {"op": "reorganize", "to": "sections", "level": 3}, body=body)
    assert [row.path for row in found] == [("A",), ("A", "B"), ("A", "B", "C")]
    assert all(row.span and body[slice(*row.span)] == row.fields["body"] for row in found)


TABLE = "Intro.\n\n| name | type |\n|---|---|\n| size | int |\n| label | |\n\nEnd.\n"


def test_table_rows_say_header_and_value():
    assert texts({"op": "reorganize", "to": "table_rows"}, TABLE) == [
        "Intro.\n\n\nEnd.\n",
        "name: size\ntype: int",
        "name: label",
    ]
    found = rows({"op": "reorganize", "to": "table_rows"}, TABLE)
    assert [TABLE[slice(*row.span)].strip() for row in found[1:] if row.span] == ["| size | int |", "| label | |"]


def test_attributes_come_from_tables_with_two_columns():
    assert texts({"op": "reorganize", "to": "attributes"}, TABLE)[1:] == ["size: int", "label"]
    wide = "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n"
    assert texts({"op": "reorganize", "to": "attributes"}, wide) == [wide]


def test_a_text_that_is_all_table_leaves_no_empty_row():
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert texts({"op": "reorganize", "to": "table_rows"}, text) == ["a: 1\nb: 2"]
    assert texts({"op": "reorganize", "to": "table_rows"}, "plain") == ["plain"]
    assert texts({"op": "reorganize", "to": "table_rows"}, "") == [""]


def test_list_items_and_the_lists_inside_them():
    text = "Steps:\n\n- one\n  - inner\n- two\n\nDone.\n"
    assert texts({"op": "reorganize", "to": "list_items"}, text) == [
        "Steps:\n\nDone.\n",
        "- one",
        "- inner",
        "- two",
    ]


def test_questions_and_answers():
    headings = "# FAQ\n\nHello.\n\n## What is it?\n\nA thing.\n\n## Notes\n\nn\n"
    assert texts({"op": "reorganize", "to": "qa_pairs"}, headings) == [
        "# FAQ\n\nHello.\n\n## Notes\n\nn\n",
        "## What is it?\n\nA thing.\n\n",
    ]
    marked = "Before.\n\nQ: One?\nA: Yes.\n\n**Question 2:** Two?\n**Answer:** No.\nQ: unanswered\n"
    assert texts({"op": "reorganize", "to": "qa_pairs"}, marked) == [
        "Before.\n\nQ: unanswered\n",
        "Q: One?\nA: Yes.\n\n",
        "**Question 2:** Two?\n**Answer:** No.\n",
    ]


def test_code_blocks_move_to_their_own_field():
    (row,) = rows({"op": "reorganize", "to": "code_blocks", "into": "code"}, "Run:\n\n```sh\nls -l\n```\n\nDone.\n")
    assert row.fields["body"] == "Run:\n\n\nDone.\n"
    assert [text.strip() for text in row.fields["code"]] == ["ls -l"]
    assert row.changed == {"body", "code"}


def test_short_rows_are_merged():
    body = "# A\n\n## B\n\none two three\n\n## C\n\nx\n"
    found = made(
        {"op": "reorganize", "to": "sections"}, {"op": "reorganize", "to": "merge_short", "min_size": 3}, body=body
    )
    assert [row.fields["body"] for row in found] == [body]
    assert found[0].span == (0, len(body))
    found = made(
        {"op": "slice", "unit": "paragraphs", "window": 1},
        {"op": "normalize", "scheme": "lowercase"},
        {"op": "reorganize", "to": "merge_short", "min_size": 2},
        body="A\n\nB C\n\nD E",
    )
    assert [(row.fields["body"], row.span) for row in found] == [("a\n\n\n\nb c\n\n", (0, 8)), ("d e", (8, 11))]


def test_promote_copies_and_rename_moves():
    (row,) = rows({"op": "reorganize", "to": "promote", "into": "exact"}, "Text")
    assert dict(row.fields) == {"title": "Title", "body": "Text", "exact": "Text"}
    rename = program([{"op": "reorganize", "to": "rename", "field": "title", "into": "name"}], name={})
    (row,) = Interpreter(rename, "parts", EMPTY_TABLES).rows(document("Text"))
    assert dict(row.fields) == {"name": "Title", "body": "Text"}


JOIN = {"op": "reorganize", "to": "join", "field": ["body", "title"], "into": "all"}
VALUES = st.one_of(st.none(), st.text(max_size=5), st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=3))


def joined(fields, *, title, body):
    source = {key: value for key, value in (("title", title), ("text", body)) if value is not ...}
    step = {**JOIN, "field": fields}
    (row,) = Interpreter(program([step], all={}), "parts", EMPTY_TABLES).rows(Document("d", source))
    return row


def test_join_keeps_the_order_that_was_given_and_the_fields():
    row = joined(["body", "title"], title="Title", body="Text")
    assert dict(row.fields) == {"title": "Title", "body": "Text", "all": "Text\nTitle"}
    assert row.changed == {"all"}
    assert joined(["title", "body"], title="Title", body="Text").fields["all"] == "Title\nText"


@pytest.mark.parametrize("nothing", [..., None, "", [], [None], {"a": "b"}])
def test_join_leaves_out_what_is_absent_or_empty(nothing):
    assert joined(["title", "body"], title=nothing, body="Text").fields["all"] == "Text"
    assert joined(["title", "body"], title="Title", body=nothing).fields["all"] == "Title"
    assert "all" not in joined(["title", "body"], title=nothing, body=nothing).fields


def test_join_reads_a_list_as_its_items_and_keeps_white_space():
    assert joined(["title", "body"], title=["a", None, 5], body=" ").fields["all"] == "a\n5\n "


@given(VALUES, VALUES)
def test_join_is_the_texts_that_are_not_empty(title, body):
    expected = "\n".join(filter(None, (text_of(title), text_of(body))))
    assert joined(["title", "body"], title=title, body=body).fields.get("all", "") == expected
