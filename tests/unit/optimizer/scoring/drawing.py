"""Hostile little corpora, and random valid programs over them."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from idxopt.errors import IdxoptError
from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.autoindex.space import Space
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.edits import edited
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

LONG = "x" * 300
BODY = (
    "# Storage\n\nElastic Block Store (EBS) keeps getUserName and snake_case_names.\n\n## Costs\n\n"
    "| name | price |\n|---|---|\n| disk | 1,234.5 |\n\n- apples and pears\n- 5 kilobytes of data\n\n"
    "## See also\n\n- [other](http://a.b/c)\n\n```\ncode(block)\n```\n"
)
DAYS = "An apple a day. " * 30
QUESTIONS = "## What is an apple?\n\nA fruit.\n\nQ: Why?\nA: Because pears cost.\n\nSame line."
MARKED = "Same line.\n\nOther.\n\n<b>apple</b> &amp; <i>pear</i>\u2028next\u3000line"
DOCUMENTS = (
    Document("a", {"title": "Apple pie", "text": DAYS, "tags": ["red fruit", "sweet"], "year": 2020}),
    Document("b", {"title": "Apple pie", "text": DAYS, "tags": ["red fruit", "sweet"], "year": 2020}),
    Document("c", {"title": "", "text": "", "tags": []}),
    Document("d", {"text": "no title here, 5\u202fkm but apple\u00a0pie and 😀👍🏽 emoji 🇩🇪"}),
    Document("e/1", {"title": "漢字かなカタカナ 한국어", "text": f"日本語のテキスト {LONG} apple {LONG}", "year": 1.5}),
    Document("e/2", {"title": "neighbour", "text": BODY, "tags": ["apple", None, ["nested", 7, True]]}),
    Document("e/3", {"title": 42, "text": ["a list", "of apple texts"], "tags": "one string"}),
    Document("f", {"title": "Q&A", "text": QUESTIONS}),
    Document("g", {"title": None, "text": MARKED, "year": True}),
    Document("h", {"tags": ["pear"]}),
    Document("\U0001f600", {"title": "Apple pie", "text": "An apple a day. Same line.\n"}),
    Document("\uffee", {"title": "Apple pie", "text": "An apple a day. Same line.\n"}),
)  # fmt: skip
CORPUS = Corpus.of(DOCUMENTS)
QUERIES = tuple(
    Query(f"q{number}", text)
    for number, text in enumerate(
        (
            "apple", "apple pie apple", "pears and apples", "a the of", "", "漢字 日本語 😀", "getUserName user name",
            "red fruit", "nothing of this is there", LONG, "what is the price of a disk", "2020 true 42 1.5",
            "elastic block store EBS", "Apple pie", "same line neighbour storage costs",
            "km 5 5\u202fkm",
        )
    )
)  # fmt: skip
QRELS = {
    **{query.id: {"a": 2, "d": 1, "e/2": -1, "f": 0} for query in QUERIES[::3]},
    **{query.id: {"e/2": 3, "h": 1, "g": 1, "absent": 2} for query in QUERIES[1::3]},
    **{query.id: {"c": 0, "b": -2} for query in QUERIES[2::6]},
    **{query.id: {"\U0001f600": 1} for query in QUERIES[5::6]},
}
SOURCE = {"fields": {"title": "title", "body": "text", "tags": "tags", "year": "year"}, "markup": "markdown"}
TABLES = {
    "abbreviations": {"EBS": ["Elastic Block Store"], "Q&A": ["question"]},
    "terms": {"apple": ["apples", "pomme"], "price": ["cost"]},
}
START: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "drawn",
    "source": SOURCE,
    "views": {
        "content": {
            "steps": [{"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "text"}],
            "lexical": {"fields": {"text": {}}},
        }
    },
}


def program(**changes: Any) -> Program:
    return program_from({**START, **changes}, "the program")


@cache
def drawn(seed: int, changes: int = 6) -> Program:
    """A program `changes` random changes away from the start, with other retrievers and fusions now and then."""
    rng = random.Random(seed)
    found = program()
    for _ in range(rng.randint(0, changes)):
        change = Space(found, rng, TABLES).draw()
        try:
            found = edited(found, change[1]) if change else found
        except IdxoptError:
            continue
    try:
        return _shaken(found, rng)
    except IdxoptError:
        return found


def _shaken(found: Program, rng: random.Random) -> Program:
    """Another analyzer, k1, b; another window, combined legs, weights of legs."""
    plain = canonical(found)
    for view in plain["views"].values():
        for field in view.get("lexical", {}).get("fields", {}).values():
            if rng.random() < 0.3:
                field |= {"analyzer": rng.choice(["english", "standard", "keyword"])}
            if rng.random() < 0.3:
                field |= {"k1": rng.choice([0, 0.5, 1.2, 900.0]), "b": rng.choice([0, 0.4, 1])}
            if rng.random() < 0.1:
                field |= {"weight": rng.choice([0, 1e-3, 33.3])}
        if rng.random() < 0.3 and "lexical" in view:
            view["combine"] = rng.choice(["rrf", "weighted"])
    if rng.random() < 0.7:
        plain["fusion"] = {
            "method": rng.choice(["rrf", "weighted_sum"]),
            "window": rng.choice([1, 2, 3, 7, 100]),
            "k": rng.choice([1, 60]),
        }
        if plain["fusion"]["method"] == "weighted_sum":
            plain["fusion"] |= {"normalize": rng.choice(["none", "min_max"])}
            plain["fusion"].pop("k")
    return program_from(plain, "the shaken program")
