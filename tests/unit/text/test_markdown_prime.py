"""Markdown as PRIME's steps read it: every rule of the module by an example, and against the parser on real texts."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.markup import plain_of
from idxopt.operators.streams import prime_tokens
from idxopt.text.markdown import parse_markdown
from idxopt.text.markdown_prime import _by_rules, prime_markdown, strip_inline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\* \_ \[a\](b) \\ \x", r"* _ [a](b) \ \x"),
        ("`a *b* <c>` ``d ` e`` `open", "a *b* <c> d ` e `open"),
        ("a<!-- b -->c <!-- open", "ac <!-- open"),
        ('H<sub>2</sub>O a<br/>b <a href="x">c</a> <x>', "H2O a b c "),
        ("2 < 3 <3 <https://x.y> <a", "2 < 3 <3 <https://x.y> <a"),
        (
            "&lt;b&gt; &amp;amp; &#65;&#x42; &copy; &#0;&#55296;&#x110000; &nbsp;",
            "<b> &amp; AB &copy; \ufffd\ufffd\ufffd \xa0",
        ),
        ('[a](b) [c](d "e") [f]( <g h> ) [i](j(k)l) [m](n o)', "a c f i [m](n o)"),
        ("![alt](x) [![b](c)](d) [e][f] [g] h]", "alt b e [g] h]"),
        ("*a* **b** _c_ __d__ SQL*Plus max_size a * b _ c", "a b c d SQL*Plus max_size a * b _ c"),
        ("| a | b|c |", "  a   b c  "),
    ],
)
def test_inline_markup(text: str, expected: str) -> None:
    assert strip_inline(text, cells=True) == expected


def test_bars_stay_in_headings() -> None:
    assert strip_inline("a | b", cells=False) == "a | b"
    assert [heading.text for heading in prime_markdown("## a |  b\n").headings] == ["a | b"]


def test_the_text_of_each_kind_of_block() -> None:
    text = (
        "\ufeff---\ntitle: x\n---\n# *Title*\n\n[l]: http://x\n[m]: <y> 'z'\nrest of it\n\n> - 1. quoted **item**\n"
        "  2) two\n\n``` python\n*code* <b>\n```\n\n    indented\n\n<div>shown <b>text</b></div>\n\n"
        "<!-- hidden -->\n<script>\nhidden\n</script>\nSetext\n heading\n---\nlast"
    )
    parsed = prime_markdown(text)
    assert parsed.plain == (
        "Title\nrest of it\n quoted item\n two\n*code* <b>\nindented\n\n shown text \nSetext heading\nlast"
    )
    assert [(heading.level, heading.text) for heading in parsed.headings] == [(1, "Title"), (2, "Setext heading")]
    assert [text[heading.start : heading.end] for heading in parsed.headings] == [
        "# *Title*\n",
        "Setext\n heading\n---\n",
    ]
    assert text[parsed.body_start :].startswith("# *Title*")


H13 = [
    "~~~\n# x\n~~~\n# y",
    "```\n# x\n`````\n# y",
    "   ```\n# x\n   ```\n# y",
    "# y\n```\n# x",
    "````\n```\n# x\n```\n````\n# y",
    '``` python title="# x"\n# x\n```\n# y',
]


@pytest.mark.parametrize("text", H13)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_h13_the_tree_holds_only_real_headings(text: str, newline: str) -> None:
    assert [heading.text for heading in prime_markdown(text.replace("\n", newline)).headings] == ["y"]


@pytest.mark.parametrize("text", ["# A", "---\nt: x\n---\n# A", "A\n===\n", "```\n# x\n```\n# A"])
def test_h14_a_byte_order_mark_changes_no_heading_and_no_text(text: str) -> None:
    with_mark, without = prime_markdown("\ufeff" + text), prime_markdown(text)
    assert [heading.text for heading in without.headings] == ["A"]
    assert [(h.level, h.text, h.start - 1) for h in with_mark.headings] == [
        (h.level, h.text, h.start) for h in without.headings
    ]
    assert with_mark.plain == without.plain


@given(st.text("ab[]()<>*_`&;#\\!|\"' \n-1.", max_size=60))
def test_any_text_is_read(text: str) -> None:
    parsed = prime_markdown(text)
    assert all(0 <= h.start < h.end <= len(text) for h in parsed.headings)


@pytest.mark.parametrize("unit", ["](", "[", "<!--", "`", "` ``", "<a ", "&", "*", "[a](b ", "[a](<", "- ", "[l]: ("])
def test_time_is_near_linear(unit: str) -> None:
    prime_markdown(unit * (400_000 // len(unit)))


@pytest.mark.parametrize(
    ("name", "headings", "tokens"), [("awsdocs_small", 0.001, 0.002), ("medquad_pages", 0.001, 0.001)]
)
def test_real_documents_read_as_the_parser_reads_them(shared: Path, name: str, headings: float, tokens: float) -> None:
    with gzip.open(shared / "datasets" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for number, line in enumerate(lines) if number % 10 == 0]
    all_headings = other_headings = all_tokens = other_tokens = 0
    for text in texts:
        ours, theirs = prime_markdown(text), parse_markdown(text)
        mine = Counter((h.level, h.text, h.start, h.end) for h in ours.headings)
        parsed = Counter((h.level, " ".join(h.text.split()), h.start, h.end) for h in theirs.headings)
        all_headings += parsed.total()
        other_headings += ((mine - parsed) | (parsed - mine)).total()
        one, other = Counter(prime_tokens(ours.plain)), Counter(prime_tokens(theirs.plain))
        all_tokens += other.total()
        other_tokens += ((one - other) | (other - one)).total()
    assert all_headings > len(texts)
    assert other_headings <= headings * all_headings
    assert other_tokens <= tokens * all_tokens


@given(st.text("aZ1 .,!?-+=>#|~:\t\n\r<&[]()*_`\\\ufeff\u00a0\u2028\x0c\x1c", max_size=40))
def test_a_line_of_text_is_what_the_rules_make_of_it(text):
    for line in (text, f"A{text}", f"Plain words {text}z"):
        assert prime_markdown(line) == _by_rules(line)
        assert plain_of(line, "markdown") == parse_markdown(line).plain
