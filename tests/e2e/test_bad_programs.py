"""Bad programs: each one clear error with its place and a remedy, exit code 1, nothing changed, no traceback."""

import json
from typing import Any

import pytest

from tests.e2e.bad import Bad, raw, text
from tests.e2e.outcome import refused
from tests.e2e.runner import program, sections

FILE = "bad.json"
PLAN = ("plan", FILE, "--source", "docs.jsonl")


def written(id_: str, content: bytes, *says: str, remedy: str = "") -> Bad:
    return Bad(id_, PLAN, (FILE, *says), remedy, write=raw(FILE, content))


def changed(id_: str, path: str, value: Any, *says: str, remedy: str = "") -> Bad:
    """A good program with one value put at a dotted path (numbers count in lists)."""
    made: Any = json.loads(json.dumps(sections()))
    here, *rest = made, *path.split(".")
    for part in rest[:-1]:
        here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
    if isinstance(here, list):
        here[int(rest[-1])] = value
    else:
        here[rest[-1]] = value
    return Bad(id_, PLAN, (f"{FILE}: ", *says), remedy, write=text(FILE, json.dumps(made)))


def step(id_: str, value: Any, *says: str, remedy: str = "") -> Bad:
    return changed(id_, "views.content.steps", [value], *says, remedy=remedy)


GOOD = json.dumps(program()).encode()
CASES = [
    Bad("no such program", ("plan", "nowhere.json"), ("nowhere.json", "no such file"), "check the path"),
    Bad("a folder as program", ("plan", "."), (".", "cannot be read"), "check the path"),
    written("empty file", b"", "is empty", remedy="preset"),
    written("broken JSON", b'{"schema": "idxopt/1",\n "name": }', f"{FILE}:2:10", "broken JSON"),
    written("JSON that is a list", b"[1, 2]", "a program is a JSON object"),
    written("NUL byte", GOOD + b"\n\0", f"{FILE}:2", "NUL"),
    written("UTF-16", GOOD.decode().encode("utf-16"), "UTF-16", remedy="UTF-8"),
    written("byte order mark", b"\xef\xbb\xbf" + GOOD, "byte order mark", remedy="UTF-8"),
    written("Latin-1", b'{"name": "caf\xe9"}', f"{FILE}:1", "not UTF-8", remedy="UTF-8"),
    written("key twice", b'{"schema": "idxopt/1", "name": "a", "name": "b"}', f"{FILE}: name", "twice"),
    written("NaN", b'{"schema": NaN}', "NaN is no JSON number"),
    written("over the size limit", b'{"a": "' + b"x" * 1_000_001 + b'"}', "1,000,000"),
    written("nested too deeply", b"[" * 100_000, "nested too deeply"),
    written("half a surrogate pair", b'{"name": "\\ud800"}', f"{FILE}: name", "surrogate"),
    changed("unknown schema", "schema", "idxopt/9", "schema", "idxopt/9"),
    changed("unknown field", "fusoin", {}, "fusoin", remedy="fusion"),
    changed("unknown field in a view", "views.content.lexicl", {}, "views.content.lexicl", remedy="lexical"),
    changed("capitals in the name", "name", "Hand_Book", "name", remedy="lowercase"),
    changed("wildcard in the name", "name", "hand*", "name", remedy="lowercase"),
    changed("no views", "views", {}, "views"),
    changed("a view called live", "views.live", {"lexical": {"fields": {"body": {}}}}, "views.live"),
    changed("primary that is no view", "primary", "contents", "primary", remedy="content"),
    changed("primary with several rows", "primary", "sections", "sections"),
    changed("steps that are no list", "views.content.steps", "lowercase", "views.content.steps"),
    changed("fields that are a list", "views.content.lexical.fields", ["body"], "views.content.lexical.fields"),
    changed("weight that is text", "views.content.lexical.fields.title.weight", "2x", "title.weight"),
    changed("negative weight", "views.content.lexical.fields.title.weight", -1, "title.weight"),
    changed("b above 1", "views.content.lexical.fields.title.b", 1.5, "title.b"),
    changed("unknown analyzer", "views.content.lexical.fields.title.analyzer", "englsh", "analyzer", remedy="english"),
    changed("field that the source lacks", "views.content.lexical.fields.titel", {}, "titel", remedy="title"),
    changed("unknown fusion", "fusion.method", "rff", "fusion.method", remedy="rrf"),
    changed("k of 0", "fusion.k", 0, "fusion.k"),
    changed(
        "weights of an unknown leg", "fusion.weights", {"contents.lexical": 1}, "contents.lexical", remedy="content"
    ),
    changed("unknown metadata type", "source.metadata.lang", "keywrd", "source.metadata", remedy="keyword"),
    changed("unknown markup", "source.markup", "markdwn", "source.markup", remedy="markdown"),
    step("unknown operator", {"op": "normalise", "scheme": "lowercase"}, "steps[0].op", remedy="normalize"),
    step("step without operator", {"scheme": "lowercase"}, "steps[0].op", "is missing"),
    step("unknown scheme", {"op": "normalize", "scheme": "lowercse"}, "steps[0]", remedy="lowercase"),
    step(
        "unknown enrichment", {"op": "enrich", "with": "prime_trems", "into": "terms"}, "steps[0].with", remedy="prime"
    ),
    step(
        "window not above overlap", {"op": "slice", "unit": "words", "window": 32, "overlap": 32}, "steps[0]", "overlap"
    ),
    step("field that no step has", {"op": "normalize", "field": "bodi", "scheme": "lowercase"}, "bodi", remedy="body"),
    step("two spans", {"op": "discard", "span": {"footers": True, "references": True}}, "span", "exactly one"),
    step("broken pattern", {"op": "discard", "span": {"regex": "("}}, "span.regex"),
    step("pattern without linear time", {"op": "discard", "span": {"regex": r"(a)\1"}}, "span.regex"),
    step("stop phrase of nothing", {"op": "discard", "span": {"phrases": [""]}}, "span.phrases"),
    Bad(
        "a part of later versions",
        PLAN,
        ("program: analysis", "not in this version"),
        "remove that part",
        write=text(FILE, json.dumps(program(analysis={"analyzer": {"own": {"tokenizer": "standard"}}}))),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_bad_program(live, case):
    refused(live, case)
