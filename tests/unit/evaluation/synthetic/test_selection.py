"""Which candidates become queries, and for which reason the others do not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.evaluation.synthetic.known_items import Candidate, candidates
from idxopt.evaluation.synthetic.lexical import LexicalIndex
from idxopt.evaluation.synthetic.selection import Settings, documents_by_terms, joined, select
from idxopt.evaluation.synthetic.wording import content_terms
from idxopt.operators.row import Document
from idxopt.program.schema import Source

SOURCE = Source(fields={"title": "title", "body": "text"}, markup="markdown")
words = st.lists(st.sampled_from("kiwi plum pear fig lime".split()), max_size=8).map(" ".join)


def choose(texts, settings=None, extra=()):
    """Headings of Markdown bodies by document id; `extra` are further candidates."""
    documents = {id_: Document(id_, {"text": text}) for id_, text in texts.items()}
    found = {
        id_: [one for one in candidates(document, SOURCE) if one.kind == "heading"]
        for id_, document in documents.items()
    }
    for candidate in extra:
        found[candidate.document].append(candidate)
    index = LexicalIndex((id_, joined(document, SOURCE)) for id_, document in documents.items())
    return select(documents, SOURCE, found, documents_by_terms(found.values()), index, settings or Settings())


OTHERS = {"x": "kiwi plum pear " * 5, "y": "kiwi plum lime " * 5}


def test_a_fair_one_is_kept():
    chosen = choose({"a": "## Kiwi Plum Pear\n\nOnly the kiwi is here, among apples and nuts.", **OTHERS}).chosen
    assert [(one.candidate.document, one.candidate.text) for one in chosen] == [("a", "Kiwi Plum Pear")]
    assert [(cut.start, cut.end) for cut in chosen[0].cuts] == [(0, len("## Kiwi Plum Pear\n"))]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("length", "## The Kiwi\n\nkiwi apples nuts"),
        ("length", "## " + " ".join(f"w{n}x" for n in range(13)) + "\n\nkiwi apples nuts"),
        ("personal", "## Mail kiwi@example.org about plums\n\nkiwi apples nuts"),
        ("emptied", "## Kiwi Plum Pear\n\nkiwi plum"),
        ("unfindable", "## Kiwi Plum Pear\n\napples nuts beans oats"),
        ("trivial", "## Quince Medlar Sloe\n\nThe quince, the medlar and the sloe are fruit trees."),
    ],
)
def test_reasons(reason, text):
    selection = choose({"a": text, **OTHERS})
    assert selection.dropped == {reason: 1}
    assert selection.chosen == []


def test_the_same_heading_in_two_documents_is_ambiguous_in_any_order_and_case():
    selection = choose(
        {
            "a": "## Kiwi Plum Pear\n\nkiwi apples nuts beans",
            "b": "## The pears, plums and kiwi\n\nkiwi oats rice rye",
            **OTHERS,
        }
    )
    assert selection.dropped == {"ambiguous": 2}


def test_near_duplicates_are_dropped_after_the_first():
    heading = "Kiwi Plum Pear Fig Lime"
    texts = {
        "a": f"## {heading}\n\nkiwi apples nuts beans",
        "b": f"## {heading} Date\n\nkiwi oats rice rye",
        **OTHERS,
    }
    selection = choose(texts)
    assert selection.dropped == {"near-duplicate": 1}
    assert len(selection.chosen) == 1


def test_trivial_needs_every_word_and_a_clear_lead():
    missing_one = choose({"a": "## Quince Medlar Sloe\n\nThe quince and the medlar are fruit trees.", **OTHERS})
    assert len(missing_one.chosen) == 1
    rivals = {"a": "## Quince Medlar Sloe\n\nquince medlar sloe oats", "b": "quince medlar sloe nuts", **OTHERS}
    assert len(choose(rivals).chosen) == 1


def test_a_question_must_stand_by_itself():
    def ask(text):
        return choose(
            {"a": "kiwi apples nuts", **OTHERS}, extra=[Candidate("a", "question", text, content_terms(text))]
        )

    assert ask("What does this document say of kiwi and plum?").dropped == {"pointing": 1}
    kept = ask("Which plum goes with kiwi and rice?")
    assert [one.cuts for one in kept.chosen] == [()]


def test_the_draw_follows_the_seed_and_the_limits():
    texts = {
        f"d{n}": f"## Alpha{n} Beta{n} Kiwi\n\nkiwi and more of alpha{n}\n\n## Gamma{n} Delta{n} Plum\n\nplum, gamma{n}"
        for n in range(12)
    }

    def ids(**settings):
        return [(one.candidate.document, one.candidate.text) for one in choose(texts, Settings(**settings)).chosen]

    assert ids(queries=5, seed=1) == ids(queries=5, seed=1)
    assert ids(queries=5, seed=1) != ids(queries=5, seed=2)
    assert len(ids(queries=5)) == 5
    assert len(ids()) == 12
    assert len(ids(per_document=2)) == 24


def test_scores_are_bm25_by_hand():
    index = LexicalIndex([("a", "kiwi plum"), ("b", "kiwi kiwi pear fig")])
    found = index.standing("kiwi", "b", "kiwi kiwi pear fig")
    mean = 3.0
    a = 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean))
    b = 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / mean))
    assert found.rank == 1
    assert math.isclose(found.lead, b / a, rel_tol=1e-5)
    assert index.standing("fig", "b", "fig").lead == math.inf
    assert index.standing("lime", "a", "kiwi").rank is None


@given(st.lists(words, min_size=2, max_size=6), words, words)
def test_a_changed_document_stands_as_in_an_index_that_holds_it_changed(texts, changed, query):
    named = [(str(number), text) for number, text in enumerate(texts)]
    asked = LexicalIndex(named).standing(query, "0", changed)
    rebuilt = LexicalIndex([("0", changed), *named[1:]]).standing(query, "0", changed)
    assert (asked.rank, asked.terms) == (rebuilt.rank, rebuilt.terms)
    assert asked.lead == rebuilt.lead
