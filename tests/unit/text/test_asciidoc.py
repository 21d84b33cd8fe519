"""AsciiDoc: sections outside delimited blocks, blocks, tables, plain text."""

import pytest

from idxopt.text.structure import blocks, plain_text, structure


def tree(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in structure(text, "asciidoc").headings]


@pytest.mark.parametrize(
    "holder",
    [
        "----\n{}\n----",
        "-----\n{}\n----\n{}\n-----",
        "....\n{}\n....",
        "////\n{}\n////",
        "++++\n{}\n++++",
        "```ruby\n{}\n```",
        "====\n{}\n====",
        "****\n{}\n****",
        "____\n{}\n____",
        "--\n{}\n--",
        "|===\n{}\n|===",
        "====\n----\n{}\n----\n{}\n====",
        "paragraph\n{}",
        "[discrete]\n{}",
        "[float#id]\n{}",
        "// {}",
        "* item\n+\n====\n{}\n====",
    ],
)
def test_no_section_inside(holder: str) -> None:
    text = "= A\n\n" + holder.format("== no", "== no") + "\n\n== B\n"
    assert tree(text) == [(1, "A"), (2, "B")]


def test_unclosed_block_reaches_the_end() -> None:
    assert tree("== A\n\n----\n== no\n\n== no\n") == [(2, "A")]


@pytest.mark.parametrize(
    ("source", "heading"),
    [
        ("== C#", (2, "C#")),
        ("=== a ===", (3, "a")),
        ("=== a ==", (3, "a ==")),
        ("## a", (2, "a")),
        ("==\t`x` *b* [[id]]link:u[l]", (2, "x b l")),
    ],
)
def test_heading_text(source: str, heading: tuple[int, str]) -> None:
    assert tree(f"text\n\n{source}\n\nmore") == [heading]


@pytest.mark.parametrize("source", ["==a", "======= a", " == a", "=="])
def test_no_heading(source: str) -> None:
    assert tree(source) == []


def test_blocks() -> None:
    text = (
        "= Title\nAuthor Name\n:toc:\n\nLead <<x,ref>>.\n\n.Example\n[source,python]\n----\nx = 1\n----\n\n"
        "* one\nmore\n** in\n+\n----\ny\n----\n"
        "* two\n\nterm:: meaning\n\n____\nquoted\n____\n\n literal\n\nNOTE: end\n"
    )
    found = [(block.kind, block.depth, block.text, block.info) for block in blocks(text, "asciidoc")]
    assert found == [
        ("heading", 0, "Title", ""),
        ("paragraph", 0, "Lead ref.", ""),
        ("paragraph", 0, "Example", ""),
        ("code", 0, "x = 1\n", "python"),
        ("list", 0, "", ""),
        ("list_item", 1, "one more", ""),
        ("list_item", 2, "in", ""),
        ("code", 3, "y\n", ""),
        ("list_item", 1, "two", ""),
        ("list_item", 2, "term meaning", ""),
        ("quote", 0, "", ""),
        ("paragraph", 1, "quoted", ""),
        ("code", 0, " literal\n", ""),
        ("paragraph", 0, "NOTE: end", ""),
    ]
    assert "Author" not in plain_text(text, "asciidoc")


@pytest.mark.parametrize(
    ("text", "header", "body"),
    [
        ("|===\n|A |B\n\n|1 |2\n|3\n|4\n|===", [("A", "B")], [("1", "2"), ("3", "4")]),
        ('[cols="1,2"]\n|===\n|1\n|two\nmore\n|===', [], [("1", "two more")]),
        ("[%header,cols=2*]\n|===\n|A\n|B\na|1 2+|x\n|===", [("A", "B")], [("1", "x"), ("",)]),
        ("|===\n2*|x\n|a \\| b |c\n|===", [], [("x", "x"), ("a \\| b", "c")]),
    ],
)
def test_tables(text: str, header: list[tuple[str, ...]], body: list[tuple[str, ...]]) -> None:
    table = blocks(text, "asciidoc")[0].table
    assert table is not None
    assert [row.cells for row in table.header] == header
    assert [row.cells for row in table.body] == body


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("*b* _i_ `m` `+l+` #h# snake_case_name 2*3*4", "b i m l h snake_case_name 2*3*4"),
        ("https://x.y[site] link:u[l] <<a>> image:i.png[alt,20]", "site l a alt"),
        ("image::x.png[]\n\n'''\n\n:attr: v\n\ntext", "text"),
        ("++++\n<b>x</b> y\n++++", "x y"),
        ("....\n*raw*\n....", "*raw*\n"),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text, "asciidoc") == plain
