"""Each failure kind by its rule, on both sides of its bound."""

from __future__ import annotations

import pytest

from idxopt.optimizer.diagnosis.documents import nearest_share, other_forms
from idxopt.optimizer.diagnosis.reading import LineTokens, SourceText
from idxopt.optimizer.diagnosis.rules import Seen, failure_kinds

WEIGHTS = {"a": 0.4, "b": 0.4, "c": 0.2}


def kinds(missed: list[Seen], above: list[Seen]) -> tuple[str, ...]:
    return failure_kinds(missed, above, WEIGHTS)


GOOD = Seen(covered=0.8, words=100, near=0.8)


@pytest.mark.parametrize(("covered", "found"), [(0.5, "vocabulary_gap"), (0.51, "other")])
def test_a_relevant_document_that_lacks_half_of_the_query_is_a_vocabulary_gap(covered: float, found: str):
    assert kinds([Seen(covered=covered, words=100, near=covered)], [GOOD]) == (found,)


@pytest.mark.parametrize(("words", "found"), [(200, "diluted_by_length"), (199, "other")])
def test_a_document_twice_as_long_as_what_stands_above_is_diluted(words: int, found: str):
    assert kinds([Seen(covered=0.8, words=words, near=0.8)], [GOOD]) == (found,)


@pytest.mark.parametrize(("near", "words", "found"), [(0.8, 301, True), (0.65, 301, False), (0.8, 300, False)])
def test_a_long_document_whose_best_passage_has_more_is_diluted(near: float, words: int, found: bool):
    above = Seen(covered=0.8, words=1_000, near=0.6)
    assert ("diluted_by_length" in kinds([Seen(covered=0.8, words=words, near=near)], [above])) is found


@pytest.mark.parametrize(("near", "found"), [(0.48, "split_answer"), (0.49, "other")])
def test_words_that_no_passage_has_together_are_a_split_answer(near: float, found: str):
    assert kinds([Seen(covered=0.8, words=100, near=near)], [GOOD]) == (found,)


def test_documents_that_have_the_query_together_are_a_split_answer():
    one = Seen(covered=0.6, words=100, near=0.6, held=frozenset("ac"))
    other = Seen(covered=0.6, words=100, near=0.6, held=frozenset("bc"))
    assert "split_answer" in kinds([one, other], [GOOD])
    assert "split_answer" not in kinds([one, one], [GOOD])
    assert "split_answer" not in kinds([one], [GOOD])


@pytest.mark.parametrize(
    ("title_above", "body_above", "found"), [(0.35, 0.8, True), (0.36, 0.8, False), (0.1, 0.79, False)]
)
def test_the_wrong_field_wins_where_the_title_is_ahead_and_the_body_is_not(
    title_above: float, body_above: float, found: bool
):
    missed = Seen(covered=0.8, words=100, near=0.8, fields={"title": 0.6, "body": 0.8})
    above = Seen(covered=0.8, words=100, near=0.8, fields={"title": title_above, "body": body_above})
    assert ("wrong_field_wins" in kinds([missed], [above])) is found


@pytest.mark.parametrize(("shares", "found"), [((0.5, 0.0), True), ((0.49, 0.0), False), ((0.5, 0.0, 0.0), False)])
def test_boilerplate_matches_are_those_of_half_of_what_stands_above(shares: tuple[float, ...], found: bool):
    above = [Seen(covered=0.8, words=100, near=0.8, boilerplate=share) for share in shares]
    assert ("boilerplate_match" in kinds([GOOD], above)) is found


def test_more_than_half_unjudged_above():
    unjudged = Seen(covered=0.8, words=100, near=0.8, judged=False)
    assert kinds([GOOD], [unjudged, GOOD]) == ("other",)
    assert kinds([GOOD], [unjudged, unjudged, GOOD]) == ("unjudged_above",)


def test_a_query_may_be_of_several_kinds_and_half_of_the_missed_documents_decide():
    gap = Seen(covered=0.4, words=100, near=0.4, forms=("b",))
    assert kinds([gap, GOOD], [GOOD]) == ("vocabulary_gap", "missing_identifier_form")
    assert kinds([gap, GOOD, GOOD], [GOOD]) == ("other",)


def source(text: str) -> SourceText:
    return SourceText({"body": tuple(LineTokens().of(text))}, ())


@pytest.mark.parametrize(
    ("words", "missing", "text", "found"),
    [
        (["item"], "item", "call getItem now", True),
        (["items"], "items", "call batch_get_item now", True),
        (["dynamo", "db"], "db", "in DynamoDB tables", True),
        (["getItem"], "getitem", "get an item, get item", True),
        (["BatchGetItem"], "batchgetitem", "a batch get item request", True),
        (["email"], "email", "send an e-mail", True),
        (["max_size"], "max_size", "its max size is 3", True),
        (["into"], "into", "in to it", False),
        (["item"], "item", "items were itemised", False),
        (["h"], "h", "call getH now", False),
    ],
)
def test_other_forms_of_missing_words(words: list[str], missing: str, text: str, found: bool):
    assert list(other_forms(words, frozenset([missing]), source(text))) == ([missing] if found else [])


def test_the_nearest_words_are_counted_once_and_within_the_window():
    found = [(0, "a"), (5, "a"), (9, "b"), (10, "c"), (30, "c")]
    assert nearest_share(found, WEIGHTS, window=10) == pytest.approx(1.0)
    assert nearest_share([(0, "a"), (9, "b")], WEIGHTS, window=10) == pytest.approx(0.8)
    assert nearest_share([(0, "a"), (10, "b")], WEIGHTS, window=10) == pytest.approx(0.4)
    assert nearest_share([], WEIGHTS) == 0
