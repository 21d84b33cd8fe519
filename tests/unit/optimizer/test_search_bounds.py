"""The state machine of a search: its bounds: budgets, failures, proposers that do not keep to anything."""

from __future__ import annotations

import pytest

from idxopt.errors import BudgetReached, BuildError, EvaluationError, UsageError
from idxopt.optimizer.autoindex.search import MOST_ASKS, Search
from idxopt.optimizer.autoindex.settings import SearchSettings
from idxopt.optimizer.edits import AddView, RemoveStep
from idxopt.optimizer.ports import Proposal
from idxopt.program.schema import Lexical, LexicalField, View
from tests.unit.optimizer.proposing import diagnosis
from tests.unit.optimizer.searching import (
    Endless,
    Listed,
    driven,
    held_out,
    kind_of,
    scored,
    search_field,
    started,
    wide_baseline,
)


def test_a_proposer_that_repeats_itself_ends_the_search():
    class Stubborn(Endless):
        name = "stubborn"
        asked = 0

        def ask(self, state, n):
            self.asked += 1
            return [search_field("title")]

    proposer = Stubborn()
    search = started(proposer)
    assert len(driven(search)) == 1
    assert search.ended == "stubborn has nothing new to propose"
    assert proposer.asked < 10


def test_a_proposer_that_is_always_wrong_is_asked_a_bounded_number_of_times():
    class Hostile:
        name = "hostile"
        asked = 0

        def ask(self, state, n):
            self.asked += 1
            wrong = RemoveStep(edit="remove_step", view="x", number=self.asked)
            return [Proposal((wrong,), "wrong", "", "hostile")] * 1_000

        def tell(self, outcomes):
            pass

    proposer = Hostile()
    search = started(proposer)
    assert search.pending() == []
    assert proposer.asked == MOST_ASKS
    assert len(search.outcomes) == MOST_ASKS


def test_a_candidate_that_fails_is_logged_and_the_search_goes_on():
    search = started(Listed([search_field("title"), search_field("body")]))
    broken, fine = search.pending()
    record = search.report({broken.hash: BuildError("it is too large " + "x" * 9_000), fine.hash: scored(fine.program)})
    assert [each.status for each in record.outcomes] == ["failed", "kept"]
    assert len(record.outcomes[0].refused or "") == 500
    assert list(record.judgements) == [fine.hash]
    assert search.evaluations == 2


def test_it_ends_after_rounds_without_gain():
    search = started(Endless(), patience=2, candidates=3)
    assert len(driven(search)) == 2
    assert search.ended == "2 rounds in a row kept nothing"
    assert search.evaluations == 6


def test_rounds_and_evaluations_are_bounded():
    search = started(Endless(), rounds=4, patience=9)
    assert len(driven(search)) == 4
    assert search.ended == "all 4 rounds are done"
    search = started(Endless(), evaluations=10, patience=9)
    assert [len(record.outcomes) for record in driven(search)] == [4, 4, 2]
    assert search.ended == "the budget of 10 evaluations is used up"


def test_merges_count_as_evaluations():
    search = started(Listed([search_field("title"), search_field("body"), search_field("small")]), evaluations=4)
    driven(search)
    assert search.evaluations == 4
    assert [step.proposal.kind for step in search.path] == ["title", "body"]


def test_large_corpora_have_half_the_rounds():
    assert SearchSettings().rounds_for(10_000_000) == 20
    assert SearchSettings().rounds_for(10_000_001) == 10
    assert SearchSettings(rounds=3).rounds_for(10_000_001) == 3


def test_a_stopped_search_takes_what_was_scored_and_asks_for_nothing_more():
    search = started(Listed([search_field("title"), search_field("body")], [search_field("small")]), candidates=2)
    title, _ = search.pending()
    search.stop("the time is used up")
    record = search.report({title.hash: scored(title.program)})
    assert record.kept is not None
    assert search.pending() == []
    assert search.finish(held_out()).ended == "the time is used up"


def test_what_a_proposer_raises_comes_through_and_the_search_stays_as_it_was():
    class Poor(Listed):
        def ask(self, state, n):
            if not self.states:
                self.states.append(state)
                raise BudgetReached("no money")
            return super().ask(state, n)

    proposer = Poor([search_field("title")])
    search = started(proposer)
    with pytest.raises(BudgetReached):
        search.pending()
    assert (search.round, search.ended, list(search.outcomes)) == (0, None, [])
    assert [kind_of(each) for each in search.pending()] == ["title"]


def test_what_was_proposed_before_a_proposer_fails_is_used():
    class Failing(Listed):
        def ask(self, state, n):
            if self.states:
                raise BudgetReached("no money")
            return super().ask(state, n)

    search = started(Failing([search_field("title")]))
    assert [kind_of(each) for each in search.pending()] == ["title"]


def test_reports_must_be_whole():
    search = started(Listed([search_field("title"), search_field("body")]))
    with pytest.raises(EvaluationError, match="nothing is pending"):
        search.report({})
    first, _ = search.pending()
    with pytest.raises(EvaluationError, match="not every pending"):
        search.report({first.hash: scored(first.program)})
    with pytest.raises(EvaluationError, match="not over"):
        search.finish(held_out())


def test_a_view_too_many_is_refused_without_scoring():
    view = View(lexical=Lexical(fields={"body": LexicalField()}))
    search = started(
        Listed([Proposal((AddView(edit="add_view", name="more", view=view),), "view", "", "x")]), max_views=1
    )
    assert search.pending() == []
    assert search.outcomes[0].refused == "2 views, and at most 1 are allowed"


def test_a_veto_speaks_last():
    asked = []

    def veto(candidate, scores):
        asked.append(candidate.proposal.kind)
        return "p95 is 80 ms, and at most 50 are allowed" if candidate.proposal.kind == "title" else None

    search = started(Listed([search_field("lead"), search_field("title"), search_field("body")]), veto=veto)
    (record,) = driven(search)
    assert asked == ["title", "body"]
    assert record.outcomes[1].refused == "p95 is 80 ms, and at most 50 are allowed"
    assert [step.proposal.kind for step in search.path] == ["body"]


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": 21}, {"candidates": 0}, {"evaluations": 0}, {"max_views": 0}, {"seed": -1}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        SearchSettings(**wrong)


def test_without_dev_queries_there_is_no_search():
    with pytest.raises(EvaluationError, match="no dev query"):
        Search(
            SearchSettings(), wide_baseline(), scored(wide_baseline()), (), Listed(), lambda _: diagnosis(), documents=3
        )
