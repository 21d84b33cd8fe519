"""reStructuredText: sections as docutils finds them, blocks, tables, plain text."""

import io

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given
from hypothesis import strategies as st

from idxopt.text.structure import blocks, plain_text, structure

SAMPLES = {
    "underlined": "A\n=\n\ntext\n\nB\n-\n\nC\n~\n\nD\n-\n",
    "overlined": "===\n A\n===\n\nB\n===\n\n---\nC\n---\n",
    "short underline of four": "A long title\n====\n\nB\n----\n",
    "short underline below four": "A long title\n===\n\ntext\n",
    "literal block": "A\n=\n\ncode::\n\n  B\n  =\n\nC\n-\n",
    "quoted literal block": "A\n=\n\n::\n\n> x\n> ====\n\nC\n-\n",
    "directive": "A\n=\n\n.. note::\n\n   B\n   =\n\n.. code-block:: py\n\n   C\n   -\n\nD\n-\n",
    "numbered titles": "1. A\n====\n\ntext\n\n2. B\n====\n",
    "numbered list": "1. A\n2. B\n\nC\n=\n",
    "in a paragraph": "one\ntwo\n===\n\nA\n=\n",
    "transition": "A\n=\n\ntext\n\n------\n\nmore\n",
    "simple table": "A\n=\n\n=== ===\na   b\n=== ===\n1   2\n=== ===\n\nB\n-\n",
    "grid table": "A\n=\n\n+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\nB\n-\n",
    "inline markup": "``a_b`` *c* **d** `e <http://x>`_ f_\n==================================\n\n.. _f: http://x\n",
    "CRLF": "A\r\n=\r\n\r\ntext\r\n\r\nB\r\n-\r\n",
    "wide characters": "\u65e5\u672c\u8a9e\n======\n\ntext\n",
    "comment": ".. A\n   =\n\nB\n=\n",
    "target": ".. _x:\n\nA\n=\n",
}


def tree(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in structure(text, "rest").headings]


def tree_of_docutils(text: str) -> list[tuple[int, str]]:
    settings = {"report_level": 5, "halt_level": 5, "doctitle_xform": False, "warning_stream": io.StringIO()}
    settings |= {"file_insertion_enabled": False, "raw_enabled": False}
    document = publish_doctree(text, settings_overrides=settings)
    found = []
    for title in document.findall(nodes.title):
        level, parent = 0, title.parent
        while isinstance(parent, nodes.section):
            level, parent = level + 1, parent.parent
        if level:
            found.append((level, title.astext()))
    return found


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES)
def test_sections_are_those_of_docutils(text: str) -> None:
    assert tree(text) == tree_of_docutils(text)


TEXT = st.sampled_from(["word", "", "  in", "- item", "literal::"])
TITLE = st.sampled_from(["Alpha\n=====\n", "Beta\n----\n", "Alpha\n=====\n", "=====\nGamma\n=====\n"])


@given(st.lists(TITLE | TEXT, max_size=8).map(lambda parts: "Top\n####\n\n" + "\n\n".join(parts) + "\n"))
def test_titles_between_blocks(text: str) -> None:
    titles = [line for line in text.split("\n") if line in ("Top", "Alpha", "Beta", "Gamma")]
    assert [title for _, title in tree(text)] == titles


def test_blocks() -> None:
    text = (
        "para `link <u>`_\n\n- one\n\n  more\n\n  * in\n- two\n\n1. first\n\n"
        ".. code-block:: python\n   :linenos:\n\n   x = 1\n\n"
        "literal::\n\n  y\n\n.. warning:: care\n\n   body\n\n    quoted\n\n>>> 1\n1\n\n.. comment\n"
    )
    found = [(block.kind, block.depth, block.text, block.info) for block in blocks(text, "rest")]
    assert found == [
        ("paragraph", 0, "para link", ""),
        ("list", 0, "", ""),
        ("list_item", 1, "one\nmore", ""),
        ("list", 2, "", ""),
        ("list_item", 3, "in", ""),
        ("list_item", 1, "two", ""),
        ("list", 0, "", ""),
        ("list_item", 1, "first", ""),
        ("code", 0, "x = 1\n", "python"),
        ("paragraph", 0, "literal:", ""),
        ("code", 0, "y\n", ""),
        ("paragraph", 0, "care", ""),
        ("paragraph", 1, "body", ""),
        ("quote", 1, "", ""),
        ("paragraph", 2, "quoted", ""),
        ("code", 0, ">>> 1\n1\n", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "=== ======\nA   B\n=== ======\n1   two\n    more\n3   4\n=== ======\n",
        "+---+------+\n| A | B |\n+===+======+\n| 1 | two |\n|   | more |\n+---+------+\n| 3 | 4 |\n+---+------+\n",
    ],
)
def test_tables(text: str) -> None:
    (block,) = blocks(text, "rest")
    assert block.table is not None
    assert [row.cells for row in block.table.header] == [("A", "B")]
    assert [row.cells for row in block.table.body] == [("1", "two more"), ("3", "4")]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("``a *b*`` :func:`~x.y` |z| [1]_", "a *b* x.y z "),
        ("snake_case_name stays, ref_ goes", "snake_case_name stays, ref goes"),
        ("\\*no\\* emphasis\\ s", "*no* emphasiss"),
        ("term\n  definition", "term\ndefinition"),
        ("| line\n| block", "line block"),
        (".. [1] a note", "a note"),
        (".. image:: x.png\n   :alt: y", ""),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text, "rest") == plain
