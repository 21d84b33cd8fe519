"""PRIME's metadata synthesis: values by hand, and the arithmetic that an ingest script repeats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.enrich.best_terms import TermWeights
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.operators.enrich.prime_terms import decay, decay_rate, in_units, prime_scores
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.streams import prime_places
from idxopt.operators.tables import build_tables
from idxopt.program.steps import PrimeTerms
from tests.unit.operators import prime_golden as golden
from tests.unit.operators.corpus import document
from tests.unit.program.programs import program


def step(**changes: object) -> PrimeTerms:
    return PrimeTerms.model_validate({"op": "enrich", "with": "prime_terms", "into": "x", **changes})


def corpus():
    return [document(text, doc_id=name) for name, text in golden.DOCUMENTS.items()]


def test_scores_worked_out_by_hand():
    idf, absent = build_tables(program(golden.STEPS), corpus()).frequencies["prime", "body"].idf()
    for name, text in golden.DOCUMENTS.items():
        places = prime_places(text, "markdown")
        scores = prime_scores(step(), text, "markdown", places, TermWeights(idf, absent))
        assert dict(zip(places.terms, map(in_units, scores), strict=True)) == {
            term: round(value * 1e9) for term, value in golden.SCORES[name].items()
        }


def test_terms_and_trees_worked_out_by_hand():
    made = program(golden.STEPS)
    interpreter = Interpreter(made, "parts", build_tables(made, corpus()))
    for one in corpus():
        fields = interpreter.rows(one)[0].fields
        assert fields["terms"] == golden.TERMS[one.id]
        assert fields["literal"] == golden.LITERAL[one.id]
        assert fields["tree"] == golden.TREES[one.id]
        assert fields["tree_sections"] == golden.SECTIONS[one.id]


@given(st.floats(0, 0.999), st.floats(0, 1))
def test_the_power_is_that_of_the_formula(alpha, share):
    assert decay(decay_rate(step(alpha=alpha)), share) == pytest.approx((1 - alpha) ** share, rel=1e-10)


def test_without_decay_a_place_counts_for_nothing():
    assert [decay(decay_rate(step(alpha=0.0)), share) for share in (0, 0.3, 1)] == [1.0, 1.0, 1.0]


def test_ties_go_by_code_point():
    text = "\U00010428 \uff41 b a"
    made = program([{"op": "enrich", "with": "prime_terms", "into": "x", "alpha": 0.0}])
    row = Interpreter(made, "parts", build_tables(made, [document(text)])).rows(document(text))[0]
    assert row.fields["x"] == ["b", "\uff41", "\U00010428"], "a is a stop word"


@given(st.text("#\n ab-=`~😀\ufeff", max_size=80), st.sampled_from([2, 3]))
def test_sections_partition_the_text(text, depth):
    sections = tree_sections(text, "markdown", depth)
    assert "".join(text[one.start : one.end] for one in sections) == text
    assert [one.id for one in sections] == list(range(len(sections)))
    assert all(one.path for one in sections[1:])
