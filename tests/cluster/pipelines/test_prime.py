"""PRIME's terms and heading tree in the ingest pipeline: those of the interpreter, on every text."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idxopt.compiler.lower import lower
from idxopt.compiler.pipelines import TEXT_LIMIT
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.operators.row import Document
from tests.cluster.pipelines.both import TARGET, Both, all_steps, collection, documents, program, texts
from tests.unit.operators import prime_golden as golden

LINES = [
    *(
        "# A",
        "## B",
        "## B ##",
        "### C",
        "#### D",
        "##",
        "####### seven",
        "#no space",
        "   ## three",
        "    ## four",
        "\t## tab",
    ),
    *(
        '## *Emph* and `code` <a name="x"></a>',
        "## [Link](u) ![image](v) & &amp; &#x48;",
        "## SQL*Plus max_size __init__",
    ),
    *(
        "===",
        "---",
        "  ---  ",
        "= =",
        "***",
        "- - -",
        "____",
        "*-*",
        "-",
        "+ x",
        "* *y* z",
        "- [ ] task",
        "1. one",
        "2) two",
    ),
    *(
        "1234567890. ten",
        "> quote",
        ">> ## quoted",
        "- ## in a list",
        "  continued",
        "  ## behind two spaces",
        "    deeper",
    ),
    *("```", "````", '``` python title="# x"', "   ```", "    ```", "~~~", "~~~~ `x`", "```a`b", "``", "~~~~~"),
    *(
        "<!-- comment",
        "-->",
        "<!-- # one -->",
        '<div class="x">',
        "</div>",
        "<pre>",
        "</PRE>",
        "<script>",
        "</script> x",
    ),
    *(
        "<sty",
        "<style>",
        "</style>",
        "<TextArea>",
        "</textarea>",
        "<pre2>",
        "<br/>a<br>b",
        "H<sub>2</sub>O",
        "<a href='x>y'>z",
    ),
    *(
        "| a | b |",
        "|---|:-:|",
        "| c\\|d | e |",
        "a|b",
        '[label]: http://x.y "title"',
        "[l]: <a b>",
        "[l]: u (t) x",
        "[]: u",
    ),
    *('[a](b "c") d', "[a]( b 'c' )", "[a](b(c)d)", "[a](b(c", "[a](<b c>)", "[a](<b", "[a][b][c]", "[a [b](c) d](e)"),
    *(
        "![alt](x.png)",
        "[![alt](i)](l) end",
        "[not] [closed",
        "]( x )",
        "\\[a](b) \\* \\` \\x",
        "`a [b](c)` ``d ` e`` `f",
    ),
    *(
        "&lt;tag&gt; &nbsp;x&quot;&apos; &copy; &#0; &#55296; &#x110000; &#1234567; &#12345678; &#xD; &#x1F600; &amp",
        "<!-- open",
    ),
    *(
        "*a* **b** ***c*** _d_ e_f_g *h",
        "a * b _ c",
        "https://x.y/z?a=b&c=d <https://auto.link> <me@x.y>",
        "AT&T;",
        "don't",
    ),
    *(
        "---",
        "title: x",
        "key: v",
        "'quoted key': v",
        "a b: c",
        "+++",
        "k = 1",
        "...",
        "[table]",
        "# comment",
        ": x",
        "k:v",
    ),
    *(
        "日本語の見出し。テスト",
        "## 日本語 见出し",
        "## مقدمة",
        "العربية نص",
        "עברית",
        "emoji 😀 😀 👩‍👩‍👧 text",
        "## 😀",
        "İSTANBUL ΟΔΟΣ",
    ),
    *(
        "",
        " ",
        "\t",
        "\x0b",
        "\x0c",
        "\x1c",
        "\xa0",
        "\u2028",
        "\u3000",
        "\x00",
        "word " * 30,
        "the the the",
        "a\u0301 ß ẞ",
    ),
    *("\U00010428 \uff21 tie", "\uffff \U00010000 tie", "x\u200by \u2019s \u2014 \u2026"),
]
markdown = st.builds(
    lambda lines, newline, mark, end: mark + newline.join(lines) + end,
    st.lists(st.one_of(st.sampled_from(LINES), texts), max_size=25),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff", "---\ntitle: x\n---\n", "\ufeff+++\na = 1\n+++\r\n"]),
    st.sampled_from(["", "\n"]),
)


@given(st.lists(markdown, min_size=1, max_size=8))
@example(
    [
        "",
        "# A",
        "## A",
        "\ufeff# A",
        "\ufeff---\ntitle: x\n---\n# A",
        "\ufeffA\n===\nb",
        "\ufeff```\n# x\n```",
        "\r\n# A\r\n",
    ]
)
@example(
    [
        "no heading at all",
        "## only a heading",
        "A\n---\n",
        "a\nb\n===\nc",
        "# T\n### C\n#### D\n### E",
        "## B\n### C\n### D",
    ]
)
@example(
    ["😀 ## no\n## 😀 yes\ntext 😀😀\n### deep 😀\n", "a 😀\n\n## b\n", " \n\n ## first\n\n## second", "\x1c\n## b"]
)
@example([f"---\n{'k: v' + chr(10)}" * 1, "---\n" + "k: v\n" * 997 + "---\n# A", "---\n" + "k: v\n" * 998 + "---\n# A"])
@example(
    [
        "---\n" + "k: v\n" * 999 + "---",
        "---\n" + "k: v\n" * 999 + "---\n# A",
        "---\n\n---\n# A",
        "--- \t\nk: v\n...\n# A",
    ]
)
@example(["~~~\n# x\n~~~", "```\n# x\n`````\n# y", "   ```\n# x\n   ```\n# y", "```\n# x", "````\n```\n# x\n````\n# y"])
@example(['```python title="# x"\n# y\n```\n## z', "- a\n  ```\n  # x\n  ```\n\n      # code\n", "> ```\n> # x\n> ```"])
def test_hostile_markdown_is_equal(separate: Both, plain: Both, made: list[str]) -> None:
    separate.check(documents([{"text": text} for text in made]))
    plain.check(documents([{"text": text} for text in made]))


@pytest.mark.parametrize("name", ["awsdocs_small", "medquad_pages"])
def test_documents_read_as_plain_text_are_equal(plain: Both, shared: Path, name: str) -> None:
    plain.check(list(islice(collection(shared, name), 300)))


def test_values_worked_out_by_hand(engine: OpenSearchEngine) -> None:
    corpus = [Document(id, {"text": text}) for id, text in golden.DOCUMENTS.items()]
    both = Both(engine, golden.STEPS, corpus)
    for document, body in zip(corpus, both.server([(one.id, one.source) for one in corpus]), strict=True):
        assert body["idxopt"] == {
            "doc_id": document.id,
            "terms": golden.TERMS[document.id],
            "literal": golden.LITERAL[document.id],
            "tree": golden.TREES[document.id],
            "tree_sections": golden.SECTIONS[document.id],
        }


def test_every_deleted_code_point_and_white_space_is_deleted_or_parts_words(separate: Both) -> None:
    points = [chr(n) for n in range(0x3100) if not 0xD800 <= n < 0xE000] + [chr(n) for n in range(0xFE00, 0x10000)]
    separate.check(
        documents([{"text": " ".join(f"a{one}b" for one in points[n : n + 1000])} for n in range(0, len(points), 1000)])
    )


@pytest.mark.parametrize(
    "unit",
    [
        "## A heading of some words\n\nAnd a paragraph below it.\n\n",
        "[a](b) *c* `d` <e> &amp; ",
        "](",
        "`",
        "[",
        "&",
        "<!--",
        "*",
        "- \n",
        "<a ",
        "|x",
        "a\n",
        "(",
        "\\",
    ],
)
def test_any_text_below_the_limit_stays_within_the_scripts_limits(separate: Both, unit: str) -> None:
    text = unit * (TEXT_LIMIT // len(unit))
    separate.check([Document("near", {"title": "short", "text": text})])


def test_without_its_table_a_pipeline_leaves_the_terms_out(engine: OpenSearchEngine, separate: Both) -> None:
    placeholder = lower(program(all_steps()), TARGET, {}).views["content"].pipeline
    assert placeholder is not None
    source = {"title": "x", "text": "## A\n\nb"}
    (body,) = engine.simulate_pipeline(placeholder, [{"_id": "a", "_source": source}])
    own = dict(separate.client(Document("a", source))["idxopt"])
    for name in ("terms", "literal", "bounded"):
        del own[name]
    assert body["idxopt"] == {**own, "incomplete": True}
