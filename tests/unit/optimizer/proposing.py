"""States of a search to ask proposers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import CorpusFacts, Diagnosis, FailingQuery, FieldFacts, Ranked
from idxopt.optimizer.ports import Outcome, SearchState
from idxopt.program.canonical import program_hash
from idxopt.program.schema import LexicalField, Program
from idxopt.program.validate import program_from

BASELINE: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "wanted",
    "source": {"fields": {"title": "title", "body": "text"}, "markup": "markdown"},
    "views": {
        "content": {
            "steps": [{"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "text"}],
            "lexical": {"fields": {"text": {"analyzer": "english"}}},
        }
    },
}
WORDS = "red green blue apple pear plum stone river cloud bread".split()


def baseline(**changes: Any) -> Program:
    return program_from({**BASELINE, **changes}, "the program")


def searched(program: Program) -> dict[str, LexicalField]:
    """The fields that its view `content` searches."""
    lexical = program.views["content"].lexical
    assert lexical is not None
    return lexical.fields


def documents(number: int = 30) -> list[Document]:
    """Documents whose titles are two words and whose texts say little of them."""
    made = []
    for place in range(number):
        title = f"{WORDS[place % 10]} {WORDS[(place // 10 + place) % 10]} number{place}"
        text = f"# {title}\n\nEvery {WORDS[(place + 3) % 10]} has a place. " + "It is so. " * (place % 7) + "\n\nEnd."
        made.append(Document(f"d{place:03}", {"title": title, "text": text}))
    return made


def corpus(number: int = 30) -> Corpus:
    return Corpus.of(documents(number))


def queries(number: int = 30) -> tuple[list[Query], dict[str, dict[str, int]]]:
    """One for each document: the two words of its title, which others have in their texts."""
    found = [
        Query(f"q{place}", str(one.source["title"]).rpartition(" ")[0]) for place, one in enumerate(documents(number))
    ]
    return found, {query.id: {f"d{place:03}": 1} for place, query in enumerate(found)}


def diagnosis(text: str = "how does it work", relevant: str = "d001", above: str = "d002") -> Diagnosis:
    facts = CorpusFacts(
        documents=30,
        sampled=30,
        fields={"title": FieldFacts(1.0, 1.0, 3.0, 3.0, 3.0), "body": FieldFacts(1.0, 1.0, 20.0, 20.0, 30.0)},
        headings=1.0,
        html=0.0,
        code_blocks=0.0,
        tables=0.0,
        lists=0.0,
        identifiers=0.0,
        acronyms=0.0,
        repeated_characters=0.1,
        title_in_body=1.0,
    )
    failing = FailingQuery(
        "q1",
        text,
        0.2,
        (Ranked(relevant, 7, 1, 40, {"text": ("work",)}, ("how",)),),
        (Ranked(above, 1, None, 90, {"text": ("work", "how")}, ()),),
        ("vocabulary_gap",),
    )
    return Diagnosis(30, (failing,), {"vocabulary_gap": 1}, facts, {"question": (1, 0.2)})


def state(
    program: Program | None = None,
    *,
    number: int = 1,
    outcomes: Sequence[Outcome] = (),
    seen: frozenset[str] = frozenset(),
    found: Diagnosis | None = None,
) -> SearchState:
    current = program or baseline()
    return SearchState(
        number, baseline(), current, found or diagnosis(), outcomes, seen or frozenset({program_hash(current)})
    )
