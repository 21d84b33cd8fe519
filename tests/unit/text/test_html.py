"""HTML: headings with offsets, blocks, what is hidden, broken markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.text.blocks import BOM
from idxopt.text.html import parse_html, unescape
from idxopt.text.structure import blocks, plain_text, structure


def tree(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in structure(text, "html").headings]


def test_headings_have_the_span_of_their_element() -> None:
    text = 'x<H1 id="a>b">A <em>b</em>&amp;c</H1>y<h2\n>C#</h2 >'
    first, second = structure(text, "html").headings
    assert (first.level, first.text, text[first.start : first.end]) == (
        1,
        "A b&c",
        '<H1 id="a>b">A <em>b</em>&amp;c</H1>',
    )
    assert (second.level, second.text, text[second.start : second.end]) == (2, "C#", "<h2\n>C#</h2 >")


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- {} -->",
        "<script>'{}'</script>",
        "<SCRIPT>{}</SCRIPT >",
        "<style>{}</style>",
        "<template>{}</template>",
        "<head><title>t</title>{}</head>",
        "<svg>{}</svg>",
        "<pre>{}</pre>",
        "<!-- unclosed {}",
        "<script>unclosed {}",
    ],
)
def test_headings_inside_are_none(hidden: str) -> None:
    assert tree("<h1>A</h1>" + hidden.format("<h2>no</h2>")) == [(1, "A")]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("<h1>A<h2>B</h2>", [(1, "A"), (2, "B")]),
        ("<h1>A<p>para", [(1, "A")]),
        ("<h2></h2><h2> \n </h2>x", []),
        ("<h2>a<br>b\n  c</h2>", [(2, "a b c")]),
        ("<div><section><h3>A</h3></section></div>", [(3, "A")]),
        ("<h7>no</h7>", []),
        ("<head><title>t</title><body><h1>A</h1>", [(1, "A")]),
    ],
)
def test_broken_and_nested_headings(text: str, headings: list[tuple[int, str]]) -> None:
    assert tree(text) == headings


def test_blocks() -> None:
    text = (
        '<p>One <a href="u">link</a><div>two</div><ul><li>a<ul><li>in</ul>b<li>c</ul>'
        "<blockquote>q</blockquote>"
        "<pre class='x'><code class=\"language-py\">\nif a &lt; b:\n  <b>x</b></code></pre>end"
    )
    found = [(block.kind, block.depth, block.text, block.linked, block.info) for block in blocks(text, "html")]
    assert found == [
        ("paragraph", 0, "One link", 4, ""),
        ("paragraph", 0, "two", 0, ""),
        ("list", 0, "", 0, ""),
        ("list_item", 1, "a\nb", 0, ""),
        ("list", 2, "", 0, ""),
        ("list_item", 3, "in", 0, ""),
        ("list_item", 1, "c", 0, ""),
        ("quote", 0, "", 0, ""),
        ("paragraph", 1, "q", 0, ""),
        ("code", 0, "if a < b:\n  x", 0, "py"),
        ("paragraph", 0, "end", 0, ""),
    ]


def test_table_rows() -> None:
    text = "<table><tr><th>H1<th>H2<tr><td>1</td><td>2 <b>b</b></td></tr><tr><td>3<p>4<td>5</table>"
    table = blocks(text, "html")[0].table
    assert table is not None
    assert [row.cells for row in table.header] == [("H1", "H2")]
    assert [row.cells for row in table.body] == [("1", "2 b"), ("3 4", "5")]
    assert text[table.body[0].start : table.body[0].end] == "<tr><td>1</td><td>2 <b>b</b></td></tr>"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a<b>b</b>c", "abc"),
        ("a<p>b</p>c", "a\nb\nc"),
        ("a < b and c > d", "a < b and c > d"),
        ("x <y", "x <y"),
        ('x <a href="unclosed> rest', 'x <a href="unclosed> rest'),
        ("&lt;h1&gt; &#65;&#x42; &nbsp;| &bogus; &", "<h1> AB \xa0| &bogus; &"),
        ("<![CDATA[x]]><?php y ?></ bogus>z", "z"),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text, "html") == plain


@given(st.lists(st.sampled_from(["<", ">", "b", "p", "/", "&amp;", "&", "!", "--", " ", "\n", "\x0b", "\u00a0", BOM])))
def test_plain_text_is_that_of_the_blocks(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert plain_text(text, "html") == parse_html(text).plain


def test_references_out_of_range_are_no_failure() -> None:
    assert unescape("&#9999999;&#" + "9" * 10_000 + ";") == "\ufffd\ufffd" + "9" * 9_993 + ";"


def test_deep_nesting_keeps_its_text() -> None:
    assert parse_html("<ul><li>" * 1_000 + "deep").plain == "deep"
