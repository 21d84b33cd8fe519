"""Markdown: what is a heading (cases H13 and H14), blocks, plain text, and the line scanner beside the parser."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.text import markdown
from idxopt.text.blocks import BOM
from idxopt.text.front_matter import front_matter_end
from idxopt.text.markdown_lines import scan_markdown
from idxopt.text.structure import blocks, parse, plain_text, structure

H13_FENCES = {
    "tildes": "~~~\n# no\n~~~\n",
    "longer closing fence": "```\n# no\n`````\n",
    "indented by 3": "   ```\n# no\n   ```\n",
    "` in a longer fence": "````\n```\n# no\n```\n# no\n````\n",
    "info string with #": '```python title="# x"\n# no\n```\n',
    "tildes with ` info": "~~~ `x`\n# no\n~~~\n",
}
H14_TEXTS = {
    "heading": "# A\n\ntext\n\n## B\nmore\n",
    "front matter": "---\ntitle: x\n# comment\n---\n# A\n\ntext\n",
    "setext": "A\n=\n\ntext\n",
    "fence": "```\n# no\n```\n\n# A\n",
}


def tree(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in structure(text, "markdown").headings]


def rows(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, text[section.body_start : section.end]) for section in structure(text, "markdown").sections]


@pytest.mark.parametrize("fence", H13_FENCES.values(), ids=H13_FENCES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_h13_fenced_code_holds_no_headings(fence: str, newline: str) -> None:
    text = f"# A\n\n{fence}\n## B\n\ntext\n".replace("\n", newline)
    assert tree(text) == [(1, "A"), (2, "B")]
    assert tree_of_lines(text) == [(1, "A"), (2, "B")]


def test_h13_unclosed_fence_reaches_the_end() -> None:
    text = "# A\n\n```\n# no\n\n## no\n"
    assert tree(text) == tree_of_lines(text) == [(1, "A")]
    assert blocks(text, "markdown")[-1].text == "# no\n\n## no\n"


@pytest.mark.parametrize("text", H14_TEXTS.values(), ids=H14_TEXTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_h14_byte_order_mark_changes_nothing(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    assert tree(text)
    assert tree(BOM + text) == tree(text)
    assert rows(BOM + text) == rows(text)
    assert plain_text(BOM + text, "markdown") == plain_text(text, "markdown")


def test_h14_front_matter_is_no_section() -> None:
    text = BOM + H14_TEXTS["front matter"]
    (section,) = structure(text, "markdown").sections
    assert (section.start, section.path) == (0, ("A",))
    assert text[section.body_start :] == "\ntext\n"
    assert "title" not in plain_text(text, "markdown")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("---\na: 1\n---\nx", 13),
        ("---\na: 1\n...\nx", 13),
        ("+++\na = 1\n+++\nx", 14),
        ("---\r\na: 1\r\n---\r\nx", 16),
        ("---\n---\nx", 8),
        ("---\n\na: 1\n---\n", 0),
        ("---\na: 1\n", 0),
        ("---\nA sentence: with a colon.\n---\n", 0),
        ("----\na: 1\n----\n", 0),
        ("\n---\na: 1\n---\n", 0),
    ],
)
def test_front_matter(text: str, end: int) -> None:
    assert front_matter_end(text) == end


@pytest.mark.parametrize(
    ("source", "heading"),
    [
        ("## C#", (2, "C#")),
        ("## a ##", (2, "a")),
        ("## a \\##", (2, "a ##")),
        ("#\ta", (1, "a")),
        ("   ### `x_y` *b* [l](u)", (3, "x_y b l")),
        ("######", (6, "")),
        ("Two\nlines\n---", (2, "Two lines")),
        ("&amp; ![alt](u) <b>x</b>\n===", (1, "& alt x")),
    ],
)
def test_heading_text(source: str, heading: tuple[int, str]) -> None:
    assert tree(source) == [heading]
    assert tree(f"before\n\n{source}\nafter") == [heading]


@pytest.mark.parametrize(
    "source", ["#a", "####### a", "    # a", "\\# a", "- x\n  # a", "> # a", "<div>\n# a\n</div>", "a\n\n---"]
)
def test_no_heading_of_the_document(source: str) -> None:
    assert tree(source) == []


def test_blocks() -> None:
    text = (
        "Intro [link](u) text\n\n- one\n\n  more\n  ```py\n  code\n  ```\n  1. in\n- two\n\n> quoted\n\n"
        "| a | `b` |\n|---|---|\n| 1 | 2 |\n| 3 |\n\n<p>html</p>\n\n    indented\n"
    )
    found = [(block.kind, block.depth, block.text) for block in blocks(text, "markdown")]
    assert found == [
        ("paragraph", 0, "Intro link text"),
        ("list", 0, ""),
        ("list_item", 1, "one\nmore"),
        ("code", 2, "code\n"),
        ("list", 2, ""),
        ("list_item", 3, "in"),
        ("list_item", 1, "two"),
        ("quote", 0, ""),
        ("paragraph", 1, "quoted"),
        ("table", 0, "a b\n1 2\n3 "),
        ("paragraph", 0, "html"),
        ("code", 0, "indented\n"),
    ]
    assert plain_text(text, "markdown") == (
        "Intro link text\none\nmore\ncode\n\nin\ntwo\nquoted\na b\n1 2\n3 \nhtml\nindented\n"
    )


def test_link_text_and_code_info() -> None:
    text = "[four](u) and <https://x.y>\n\n~~~ python hl\nx\n~~~\n"
    paragraph, code = blocks(text, "markdown")
    assert paragraph.linked == 4 + len("https://x.y")
    assert code.info == "python hl"


def test_table_rows_have_spans() -> None:
    text = "x\n\n|a|b|\n|-|-|\n|1|2|\n|3|4|\n"
    table = blocks(text, "markdown")[1].table
    assert table is not None
    assert [(row.cells, text[row.start : row.end]) for row in table.header] == [(("a", "b"), "|a|b|\n")]
    assert [(row.cells, text[row.start : row.end]) for row in table.body] == [
        (("1", "2"), "|1|2|\n"),
        (("3", "4"), "|3|4|\n"),
    ]


def tree_of_lines(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in scan_markdown(text, front_matter_end(text)).headings]


LINES = st.lists(
    st.sampled_from(
        [
            "# a",
            "## b ##",
            "para",
            "para *x*",
            "",
            " ",
            "```",
            "~~~~",
            "```py",
            "===",
            "---",
            "***",
            "#",
            "   # c",
            "| a | b |",
        ]
    ),
    max_size=12,
)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_line_scanner_finds_the_headings_that_the_parser_finds(lines: list[str], newline: str) -> None:
    text = newline.join(lines)
    spans = [(heading.level, heading.start, heading.end) for heading in scan_markdown(text).headings]
    parsed = markdown._Builder(text, 0).build().headings
    assert spans == [(heading.level, heading.start, heading.end) for heading in parsed]


@pytest.mark.parametrize("collection", ["awsdocs_small", "medquad_pages"])
def test_line_scanner_finds_the_headings_of_real_documents(shared: Path, collection: str) -> None:
    with gzip.open(shared / "datasets" / collection / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for number, line in enumerate(lines) if number % 10 == 0]
    count = 0
    for text in texts:
        found = structure(text, "markdown").headings
        scanned = scan_markdown(text, front_matter_end(text)).headings
        assert [(h.level, h.start, h.end) for h in scanned] == [(h.level, h.start, h.end) for h in found]
        count += len(found)
    assert count > len(texts)


def test_long_texts_and_failures_of_the_parser_go_to_the_line_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# A\n\n" + "word " * (markdown.MAX_PARSED // 5) + "\n\n## B\n"
    assert tree(text) == [(1, "A"), (2, "B")]
    assert tree("# A\n" + "a\n" * markdown.MAX_PARSED_LINES + "\n## B\n") == [(1, "A"), (2, "B")]

    def fail(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(markdown._Builder, "build", fail)
    assert tree("# *A*") == [(1, "*A*")]


def test_fallback_keeps_code_and_text() -> None:
    text = "para\nmore\n\n- item\n  # no\n\n    code\n\n    more\n\n<!-- # no\n\n# no -->\n```py\nx\n```\n"
    found = [(block.kind, block.text, block.info) for block in scan_markdown(text).blocks]
    assert found == [
        ("paragraph", "para more", ""),
        ("paragraph", "- item # no", ""),
        ("code", "code\n\nmore\n", ""),
        ("code", "x\n", "py"),
    ]
    assert not scan_markdown(text).headings


@given(st.text("[]()*_`<>!&\\ \na", max_size=200))
def test_dense_inline_markup_is_cut_without_loss(text: str) -> None:
    pieces = markdown._cut(text * 50)
    assert "".join(pieces) == text * 50
    assert parse(text, "markdown").plain is not None


PROSE = [
    "a",
    "B",
    " ",
    "\n",
    "\n\n",
    "1",
    "-",
    "=",
    "|",
    "<",
    ">",
    "&",
    "amp;",
    "[",
    "](",
    "]:",
    ")",
    "!",
    "_",
    "*",
    "`",
    "\\",
]
PROSE += ["http://a.b", "\t", "\r", "\0", "\x0b", "\u00a0", "\x1c", "#", "+"]


@given(st.lists(st.sampled_from(PROSE)) | st.lists(st.sampled_from(["a", "B", " ", "\n", "[", "]", "(", "< ", "& "])))
def test_plain_text_is_what_the_parser_makes(pieces: list[str]) -> None:
    text = "x" + "".join(pieces)
    assert plain_text(text, "markdown") == parse(text, "markdown").plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A [1], p < 0.05 & so on. ", "A [1], p < 0.05 & so on."),
        ("a\nb\n\n\nc\n", "a b\nc"),
        ("a \n b", "a b"),
        ("a\n---\nb", "a\nb"),
        ("a\n- b", "a\nb"),
        ("a [b](c) <i>d</i> &lt; e_f \\*", "a b d < e_f *"),
        ("a\n[b]: c\n\nd [b]", "a [b]: c\nd [b]"),
        ("a\r\rb\0", "a\nb\ufffd"),
    ],
)
def test_plain_text_of_prose(text: str, plain: str) -> None:
    assert plain_text(text, "markdown") == plain


def test_plain_text_of_much_prose() -> None:
    text = "Brackets [ in [1] prose.\nAnd lines. " * 2_000
    assert plain_text(text, "markdown") == parse(text, "markdown").plain


@pytest.mark.parametrize(
    ("metadata", "paragraphs"), [("key: value\n" * 900, 24_700), ("key: value\r\n" * 900, 24_300), ("", 25_001)]
)
def test_plain_text_beyond_the_lines_that_are_parsed(metadata: str, paragraphs: int) -> None:
    """Front matter counts. The line scanner answers, which keeps the space that a parsed paragraph loses."""
    text = (f"---\n{metadata}---\n" if metadata else "") + "foo\u00a0\n\n" * paragraphs
    assert plain_text(text, "markdown") == parse(text, "markdown").plain
    assert plain_text("foo\u00a0\n\n" * 10, "markdown") == "\n".join(["foo"] * 10)
