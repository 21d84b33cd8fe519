"""Programs for tests: a builder for one view, and a strategy that draws valid ones."""

from typing import Any

from hypothesis import strategies as st

from idxopt.program.schema import Program
from idxopt.program.validate import program_from

TABLE = {"EBS": "Elastic Block Store", "k8s": ["kubernetes", "cluster"]}


def program(steps: list[dict[str, Any]], *, markup: str = "markdown", view: str = "parts", **lexical: Any) -> Program:
    """A program whose view `parts` has the steps (or, with `view="content"`, the primary one)."""
    fields = {"fields": lexical or {"title": {}}}
    views = {"content": {"lexical": {"fields": {"title": {}}}}, view: {"steps": steps, "lexical": fields}}
    return program_from(
        {
            "schema": "idxopt/1",
            "name": "handbook",
            "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": markup},
            "views": views,
        },
        "test",
    )


def _normalize() -> st.SearchStrategy[dict[str, Any]]:
    plain = st.sampled_from(["lowercase", "nfkc", "strip_accents", "html_strip", "markdown_strip", "whitespace"])
    kept = st.sampled_from(["split_identifiers", "numbers", "units", "dates"])
    field = st.sampled_from(["body", "title", ["body"], ["title", "body"], ["body", "title", "body"]])
    return st.one_of(
        st.fixed_dictionaries({"op": st.just("normalize"), "scheme": plain}, optional={"field": field}),
        st.fixed_dictionaries(
            {"op": st.just("normalize"), "scheme": kept}, optional={"field": field, "keep_original": st.booleans()}
        ),
        st.just({"op": "normalize", "scheme": "terms", "table": TABLE}),
        st.just({"op": "normalize", "scheme": "abbreviations", "table": TABLE, "keep_original": True}),
        st.just({"op": "normalize", "scheme": "regex_replace", "pattern": r"(\w)-(\w)", "replacement": r"\1\2"}),
    )


def _discard() -> st.SearchStrategy[dict[str, Any]]:
    spans: list[dict[str, Any]] = [
        {"regex": "a+b"},
        {"heading": ["Intro", "Notes"]},
        {"repeated_lines": {"min_docs": 2}},
        {"repeated_lines": {}},
        {"navigation": {}},
        {"references": True},
        {"footers": True},
        {"phrases": ["see", "see also"]},
    ]
    return st.builds(lambda span: {"op": "discard", "span": span}, st.sampled_from(spans))


def _reorganize(number: int) -> st.SearchStrategy[dict[str, Any]]:
    rows = ["sections", "table_rows", "list_items", "qa_pairs", "attributes"]
    join = {"op": "reorganize", "to": "join", "into": f"joined{number}"}
    return st.one_of(
        st.builds(lambda to: {"op": "reorganize", "to": to}, st.sampled_from(rows)),
        st.builds(lambda fields: {**join, "field": fields}, st.permutations(["title", "body"])),
    )


def _slice() -> st.SearchStrategy[dict[str, Any]]:
    window = st.fixed_dictionaries(
        {
            "op": st.just("slice"),
            "unit": st.sampled_from(["words", "sentences", "paragraphs"]),
            "window": st.integers(3, 20),
        },
        optional={"overlap": st.integers(0, 2), "min_size": st.integers(0, 3)},
    )
    headings = st.fixed_dictionaries(
        {"op": st.just("slice"), "unit": st.just("headings")},
        optional={"level": st.integers(1, 3), "min_size": st.integers(0, 5), "keep_heading_path": st.booleans()},
    )
    return st.one_of(window, headings)


def _enrich(number: int) -> st.SearchStrategy[dict[str, Any]]:
    forms: list[dict[str, Any]] = [
        {"with": "prime_terms", "top": 3},
        {"with": "prime_terms", "alpha": 0.3, "stopwords": "none", "max_idf_terms": 5},
        {"with": "heading_tree", "depth": 3},
        {"with": "keywords"},
        {"with": "acronyms"},
        {"with": "synonyms", "table": TABLE},
        {"with": "lead", "words": 5},
        {"with": "lead", "sentences": 2},
        {"with": "entities"},
        {"with": "neighbours"},
    ]
    return st.builds(lambda form: {"op": "enrich", "into": f"extra{number}", **form}, st.sampled_from(forms))


@st.composite
def step_lists(draw: st.DrawFn, size: int = 4) -> list[dict[str, Any]]:
    """Up to `size` valid steps over the fields `title` and `body`, in any order."""
    return [
        draw(st.one_of(_normalize(), _discard(), _reorganize(number), _slice(), _enrich(number)))
        for number in range(draw(st.integers(0, size)))
    ]
