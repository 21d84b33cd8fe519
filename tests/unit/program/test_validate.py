"""One clear error for a bad program: its place, its cause, and the nearest valid name."""

import copy
import json
from typing import Any

import pytest

from idxopt.errors import ProgramError
from idxopt.program.reading import MAX_BYTES
from idxopt.program.reserved import unsupported
from idxopt.program.schema import Program
from idxopt.program.steps import Discard
from idxopt.program.validate import load_program, parse_program, program_from

FULL: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "handbook",
    "source": {
        "fields": {"title": "title", "body": "text"},
        "metadata": {"lang": "keyword", "updated": "date"},
        "markup": "markdown",
    },
    "models": {
        "minilm": {"kind": "embedder", "id": "all-MiniLM-L6-v2", "dimension": 384, "similarity": "cosine"},
        "ce": {"kind": "reranker", "id": "ms-marco-MiniLM-L-6-v2"},
        "small": {"kind": "generator", "id": "Qwen3-8B"},
    },
    "views": {
        "content": {
            "steps": [
                {"op": "discard", "span": {"repeated_lines": {"min_docs": 20}}},
                {"op": "normalize", "field": "body", "scheme": "split_identifiers", "keep_original": True},
                {"op": "enrich", "with": "prime_terms", "into": "terms", "top": 5},
                {"op": "enrich", "with": "heading_tree", "into": "headings"},
                {"op": "reweight", "field": "title", "alpha": 2.0},
            ],
            "lexical": {"fields": {"title": {"analyzer": "english"}, "body": {}, "terms": {"weight": 0.5}}},
            "dense": {"model": "minilm", "text": ["title", "terms", "headings"]},
        },
        "parts": {
            "steps": [
                {"op": "slice", "unit": "words", "window": 256, "overlap": 32},
                {"op": "enrich", "with": "questions", "generator": "small", "into": "body", "rows": True},
            ],
            "lexical": {"fields": {"body": {}}},
        },
    },
    "fusion": {"weights": {"content.lexical": 2.0}},
    "rerank": {"model": "ce"},
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    """The full program with the value at `path` set (a list item past the end is appended) or, for ..., removed."""
    program = copy.deepcopy(FULL)
    here: Any = program
    for key in path[:-1]:
        here = here[key]
    if value is ...:
        del here[path[-1]]
    elif isinstance(here, list) and path[-1] == len(here):
        here.append(value)
    else:
        here[path[-1]] = value
    return program


def refusal(program: Any) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        parse_program(json.dumps(program), "p.json")
    return caught.value


STEPS = ["views", "content", "steps"]
PARTS = ["views", "parts", "steps"]
FIELDS = ["views", "content", "lexical", "fields"]

SHAPES = [
    ([*STEPS, 2, "topp"], 1, "views.content.steps[2].topp", "unknown field", "top"),
    ([*STEPS, 1, "scheme"], "lowercas", "views.content.steps[1].scheme", "unknown value", "lowercase"),
    ([*STEPS, 1, "op"], "normalise", "views.content.steps[1].op", "unknown operator", "normalize"),
    ([*STEPS, 1, "op"], ..., "views.content.steps[1].op", "is missing", "normalize"),
    ([*STEPS, 1, "op"], 7, "views.content.steps[1].op", "unknown operator", "normalize"),
    ([*STEPS, 2, "with"], "prime_term", "views.content.steps[2].with", "unknown form", "prime_terms"),
    ([*STEPS, 2, "with"], "sumary", "views.content.steps[2].with", "unknown form", "summary"),
    ([*STEPS, 2, "with"], ..., "views.content.steps[2].with", "is missing", "prime_terms"),
    ([*STEPS, 2, "into"], ..., "views.content.steps[2].into", "is missing", "add it"),
    ([*STEPS, 2, "into"], "Terms", "views.content.steps[2].into", "no valid name", "lowercase"),
    ([*STEPS, 2, "alpha"], 1, "views.content.steps[2].alpha", "too large", "below 1"),
    ([*STEPS, 2, "alpha"], "0.3", "views.content.steps[2].alpha", "is no number", "without quotes"),
    ([*STEPS, 2, "top"], 2.5, "views.content.steps[2].top", "2.5 is no whole number", "whole number"),
    ([*STEPS, 2, "top"], True, "views.content.steps[2].top", "true is no whole number", "whole number"),
    ([*STEPS, 3, "depth"], 4, "views.content.steps[3].depth", "unknown value", "2"),
    ([*STEPS, 1], "lowercase", "views.content.steps[1]", "a step is a JSON object", "op"),
    ([*STEPS, 1, "field"], 5, "views.content.steps[1].field", "is no text", "in quotes"),
    ([*STEPS, 1, "field"], ["body", 5], "views.content.steps[1].field[1]", "is no text", "in quotes"),
    ([*STEPS, 1, "field"], [], "views.content.steps[1].field", "[] is empty", "at least 1"),
    (
        [*STEPS, 1, "keep_original"],
        "yes",
        "views.content.steps[1].keep_original",
        "neither true nor false",
        "without quotes",
    ),
    ([*STEPS, 0, "span"], {}, "views.content.steps[0].span", "exactly one of regex", "only one"),
    ([*STEPS, 0, "span"], {"regex": "a", "footers": True}, "views.content.steps[0].span", "exactly one", "only one"),
    ([*STEPS, 0, "span", "repeted_lines"], 3, "views.content.steps[0].span.repeted_lines", "unknown", "repeated_lines"),
    (
        [*STEPS, 0, "span", "repeated_lines", "mindocs"],
        3,
        "views.content.steps[0].span.repeated_lines.mindocs",
        "unknown field",
        "min_docs",
    ),
    (
        [*STEPS, 5],
        {"op": "enrich", "with": "synonyms", "into": "syn", "table": {"a": ["b", 5]}},
        "views.content.steps[5].table.a[1]",
        "is no text",
        "in quotes",
    ),
    (
        [*STEPS, 5],
        {"op": "enrich", "with": "lead", "into": "x"},
        "views.content.steps[5]",
        "sentences or words",
        "only one",
    ),
    (["views", "content", "steps"], {}, "views.content.steps", "is no list", "[...]"),
    (["views"], {}, "views", "{} is empty", "at least 1"),
    (["view"], {}, "view", "unknown field", "views"),
    (["source"], [], "source", "JSON object", "{...}"),
    (["source"], ..., "source", "is missing", "add it"),
    (["source", "markup"], "md", "source.markup", "unknown value", "markdown"),
    (["source", "metadata", "the lang"], "keywrd", 'source.metadata["the lang"]', "unknown value", "keyword"),
    (["source", "fields", "Body"], "b", "source.fields.Body", "no valid name", "lowercase"),
    (["schema"], "idxopt/2", "schema", "unknown value", "idxopt/1"),
    (["name"], "Hand book", "name", "no valid name", "hyphens"),
    (["views", "my view"], {}, 'views["my view"]', "no valid name", "hyphens"),
    ([*FIELDS, "title", "analyser"], "english", "views.content.lexical.fields.title.analyser", "unknown", "analyzer"),
    ([*FIELDS, "title", "b"], 1.5, "views.content.lexical.fields.title.b", "too large", "1 or less"),
    (["fusion", "method"], "rff", "fusion.method", "unknown value", "rrf"),
    (["views", "content", "dense", "hnsw"], {"efc": 1}, "views.content.dense.hnsw.efc", "unknown field", "ef_constr"),
]

CROSS = [
    (["primary"], "contents", "primary", 'no view "contents"', "content"),
    (["primary"], "parts", "views.parts.steps[0]", "several rows", "another view"),
    (["views", "live"], {"lexical": {"fields": {"body": {}}}}, "views.live", "aliases", "another name"),
    (["views", "bare"], {}, "views.bare", "never searched", "lexical"),
    (["source", "fields", "span"], "s", "source.fields.span", "reserved", "another name"),
    (["source", "fields", "extra"], "text", "source.fields.extra", "read by another field", "promote"),
    (["source", "fields", "extra"], "text.raw", "source.fields.extra", "lies inside", "not both"),
    (["source", "fields", "extra"], "a..b", "source.fields.extra", "no field path", "dots"),
    (["source", "fields", "extra"], "a^2", "source.fields.extra", "no field path", "dots"),
    (["source", "fields", "extra"], "idxopt.terms", "source.fields.extra", "reserved", "of the source"),
    (["source", "fields", "extra"], "_source", "source.fields.extra", "engine itself", "of the source"),
    (["source", "metadata", "text"], "keyword", "source.metadata.text", "text field already", "leave it out"),
    ([*STEPS, 1, "field"], ["title", "bdy"], "views.content.steps[1].field[1]", 'no field "bdy"', "body"),
    ([*STEPS, 2, "field"], "bodi", "views.content.steps[2].field", 'no field "bodi"', "body"),
    ([*STEPS, 2, "into"], "title", "views.content.steps[2].into", "already", "another name"),
    ([*STEPS, 2, "into"], "row", "views.content.steps[2].into", "reserved", "another name"),
    ([*STEPS, 4, "field"], "titel", "views.content.steps[4].field", "lexical.fields", "title"),
    ([*STEPS, 1, "table"], {"a": "b"}, "views.content.steps[1].table", "no meaning", "remove"),
    ([*STEPS, 1, "pattern"], "a", "views.content.steps[1].pattern", "no meaning", "regex_replace"),
    ([*STEPS, 1, "replacement"], "a", "views.content.steps[1].replacement", "no meaning", "regex_replace"),
    ([*STEPS, 5], {"op": "normalize", "scheme": "terms"}, "views.content.steps[5].table", "is missing", "EBS"),
    ([*STEPS, 5], {"op": "normalize", "scheme": "regex_replace"}, "views.content.steps[5].pattern", "missing", "RE2"),
    (
        [*STEPS, 5],
        {"op": "normalize", "scheme": "regex_replace", "pattern": "(?<=a)b"},
        "views.content.steps[5].pattern",
        "RE2 cannot compile",
        "no look-around",
    ),
    (
        [*STEPS, 5],
        {"op": "normalize", "scheme": "regex_replace", "pattern": "(a)", "replacement": "\\2"},
        "views.content.steps[5].replacement",
        "group 2",
        "add the group",
    ),
    (
        [*STEPS, 5],
        {"op": "normalize", "scheme": "regex_replace", "pattern": "(((a{100}){100}){100}){100}"},
        "views.content.steps[5].pattern",
        "RE2 cannot compile",
        "small pattern",
    ),
    (
        [*STEPS, 5],
        {"op": "normalize", "scheme": "lowercase", "keep_original": True},
        "views.content.steps[5].keep_original",
        "no meaning with lowercase",
        "split_identifiers",
    ),
    (
        [*STEPS, 5],
        {"op": "discard", "span": {"regex": "a**("}},
        "views.content.steps[5].span.regex",
        "RE2 cannot compile",
        "RE2 syntax",
    ),
    (
        [*STEPS, 5],
        {"op": "discard", "span": {"fields": ["tittle"]}},
        "views.content.steps[5].span.fields[0]",
        'no field "tittle"',
        "title",
    ),
    (
        [*STEPS, 5],
        {"op": "discard", "span": {"fields": ["title"]}},
        "views.content.lexical.fields.title",
        'no field "title"',
        "body",
    ),
    (
        [*STEPS, 5],
        {"op": "normalize", "field": "headings_sections", "scheme": "lowercase"},
        "views.content.steps[5].field",
        "structure",
        "text field",
    ),
    (
        [*STEPS, 5],
        {"op": "enrich", "with": "keywords", "field": "terms", "into": "more"},
        "views.content.steps[5].field",
        "corpus tables",
        "title",
    ),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "sections", "into": "x"},
        "views.content.steps[5].into",
        "no meaning",
        "remove",
    ),
    ([*STEPS, 5], {"op": "reorganize", "to": "rename"}, "views.content.steps[5].into", "is missing", "new field"),
    ([*STEPS, 5], {"op": "reorganize", "to": "merge_short"}, "views.content.steps[5].min_size", "missing", "words"),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "merge_short", "min_size": 5},
        "views.content.steps[5].to",
        "one row",
        "slice",
    ),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "promote", "into": "x", "level": 3},
        "views.content.steps[5].level",
        "no meaning",
        "remove",
    ),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "promote", "field": ["title"], "into": "x"},
        "views.content.steps[5].field",
        "promote works on one field",
        "one field",
    ),
    *(
        (
            [*STEPS, 5],
            {"op": "reorganize", "to": "join", "field": field, "into": "x"},
            "views.content.steps[5].field",
            "two or more different fields",
            '["title", "body"]',
        )
        for field in ("title", [], ["title"], ["body", "title", "body"])
    ),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "join", "field": ["title", "bodi"], "into": "x"},
        "views.content.steps[5].field[1]",
        'no field "bodi"',
        "body",
    ),
    (
        [*STEPS, 5],
        {"op": "reorganize", "to": "join", "field": ["title", "body"]},
        "views.content.steps[5].into",
        "is missing",
        "new field",
    ),
    ([*PARTS, 0, "window"], ..., "views.parts.steps[0].window", "is missing", "how many"),
    ([*PARTS, 0, "overlap"], 256, "views.parts.steps[0].overlap", "not below window 256", "smaller"),
    ([*PARTS, 0, "min_size"], 300, "views.parts.steps[0].min_size", "above window 256", "smaller"),
    ([*PARTS, 0, "unit"], "word", "views.parts.steps[0].unit", 'unknown unit "word"', "words"),
    ([*PARTS, 0, "unit"], "small", "views.parts.steps[0].unit", "is a generator", "an embedder or a reranker"),
    ([*PARTS, 0, "unit"], "minilmm", "views.parts.steps[0].unit", 'unknown unit "minilmm"', "minilm"),
    ([*PARTS, 0, "unit"], "headings", "views.parts.steps[0].window", "no meaning", "second slice"),
    ([*PARTS, 0, "level"], 3, "views.parts.steps[0].level", "belongs to unit headings", "remove"),
    ([*PARTS, 0, "keep_heading_path"], True, "views.parts.steps[0].keep_heading_path", "headings", "headings first"),
    ([*PARTS, 1, "generator"], "smal", "views.parts.steps[1].generator", 'no model "smal"', "small"),
    ([*PARTS, 1, "generator"], "ce", "views.parts.steps[1].generator", "is a reranker", "generator"),
    ([*FIELDS, "bodi"], {}, "views.content.lexical.fields.bodi", 'no field "bodi"', "body"),
    ([*FIELDS, "headings_sections"], {}, "views.content.lexical.fields.headings_sections", "structure", "headings"),
    ([*FIELDS, "title", "analyzer"], "englsh", "views.content.lexical.fields.title.analyzer", "unknown", "english"),
    (["views", "content", "dense", "model"], "small", "views.content.dense.model", "is a generator", "embedder"),
    (["views", "content", "dense", "text"], ["titel"], "views.content.dense.text[0]", 'no field "titel"', "title"),
    (["fusion", "weights"], {"content.lexica": 1}, 'fusion.weights["content.lexica"]', "no leg", "content.lexical"),
    (["fusion", "normalize"], "min_max", "fusion.normalize", "no meaning with rrf", "weighted_sum"),
    (["fusion"], {"method": "weighted_sum", "k": 10}, "fusion.k", "no meaning", "rrf"),
    (["rerank", "model"], "c", "rerank.model", 'no model "c"', "ce"),
    (["rerank", "field"], "bodi", "rerank.field", "no field of the primary view", '"body"'),
    (["rerank", "field"], "headings_sections", "rerank.field", "structure", "headings"),
    (["rerank", "context"], "rewriten", "rerank.context", "no field of the primary view", "use one of"),
    (["rerank", "context"], "body", "rerank.context", "is the field that is scored", "remove"),
    (["rerank"], {"model": "ce", "unit": "document", "context": "title"}, "rerank.context", "unit section", "sections"),
    (["models", "minilm", "dimension"], ..., "models.minilm.dimension", "a dense leg uses this model", "how long"),
    (["models", "minilm", "similarity"], ..., "models.minilm.similarity", "a dense leg uses this model", "cosine"),
    (["models", "ce", "dimension"], 3, "models.ce.dimension", "no meaning for a reranker", "remove"),
    (["models", "small", "similarity"], "dot", "models.small.similarity", "no meaning for a generator", "remove"),
    (["models", "ce", "id"], "extractive", "models.ce.id", "is a generator", "generator"),
    (["models", "ce", "id"], "maxsim:minilmm", "models.ce.id", 'no model "minilmm"', "minilm"),
    (["models", "ce", "id"], "maxsim:small", "models.ce.id", "is a generator, not an embedder", "embedder"),
    (["models", "small", "id"], "maxsim:minilm", "models.small.id", "is a reranker", "reranker"),
    (["views", "content", "dense", "text"], ["title", "title"], "views.content.dense.text[1]", "already", "once"),
    (["views", "parts", "combine"], "rrf", "views.parts.combine", "no dense leg", "remove combine"),
]


@pytest.mark.parametrize(("path", "value", "place", "message", "remedy"), SHAPES + CROSS)
def test_an_error_names_its_path_its_cause_and_a_remedy(path, value, place, message, remedy):
    error = refusal(changed(path, value))
    assert error.place == f"p.json: {place}"
    assert message in error.message
    assert remedy in (error.remedy or "")


def test_the_full_program_is_valid_and_says_what_is_not_built():
    program = parse_program(json.dumps(FULL), "p.json")
    assert isinstance(program, Program)
    assert unsupported(program) == []
    own = program_from({**FULL, "analysis": {"analyzer": {"own": {"type": "standard"}}}}, "p.json")
    assert unsupported(own) == [("analysis", "analysis of one's own")]


def test_the_first_path_is_reported_with_the_number_of_the_others():
    program = changed([*STEPS, 2, "topp"], 1)
    program["views"]["content"]["steps"][1]["scheme"] = "x"
    program["nam"] = 1
    error = refusal(program)
    assert error.place == "p.json: nam"
    assert error.message.endswith("(and 2 more problems)")


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b'{"schema": "idxopt/1",\n "name" "x"}', "p.json:2:9", "broken JSON"),
        (b'{"schema": "idxopt/1"', "p.json:1:22", "broken JSON"),
        (b"", "p.json", "is empty"),
        (b"  \n", "p.json", "is empty"),
        (b"[]", "p.json", "a program is a JSON object"),
        (b'"idxopt/1"', "p.json", "a program is a JSON object"),
        (b'{"a": 1,\n"b": "\x00"}', "p.json:2", "NUL byte"),
        (b'{"name": "a\\u0000"}', "p.json: name", "NUL character"),
        (b'{"name": "\\ud800"}', "p.json: name", "surrogate"),
        (b'{"\\ud800": 1}', 'p.json: ["?"]', "surrogate"),
        (b'\xef\xbb\xbf{"name": "a"}', "p.json", "byte order mark"),
        ('{"name": "a"}'.encode("utf-16"), "p.json", "UTF-16"),
        (b'{\n"name": "caf\xe9"}', "p.json:2", "not UTF-8"),
        (b'{"name": NaN}', "p.json", "NaN is no JSON number"),
        (b'{"name": ' + b"1" * 5000 + b"}", "p.json", "limit"),
        (b'{"views": {"a": {}, "a": {}}}', "p.json: views.a", "stands twice"),
        (b'{"views": [{"op": 1, "op": 2}]}', "p.json: views[0].op", "stands twice"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "p.json", "too deeply"),
        (b" " * (MAX_BYTES + 1), "p.json", "1,000,001 bytes"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(data, place, message):
    with pytest.raises(ProgramError) as caught:
        parse_program(data, "p.json")
    assert caught.value.place == place
    assert message in caught.value.message
    assert caught.value.remedy


def test_a_program_is_read_from_a_file(tmp_path):
    file = tmp_path / "program.json"
    file.write_text(json.dumps(FULL))
    assert load_program(file) == parse_program(json.dumps(FULL), "x")
    with pytest.raises(ProgramError, match="no such file"):
        load_program(tmp_path / "other.json")
    with pytest.raises(ProgramError, match="cannot be read"):
        load_program(tmp_path)


def test_a_span_may_spell_out_what_it_does_not_use():
    program = changed([*STEPS, 0, "span"], {"regex": None, "footers": True})
    step = parse_program(json.dumps(program), "p.json").views["content"].steps[0]
    assert isinstance(step, Discard)
    assert step.span.footers
