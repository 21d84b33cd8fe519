"""Hostile answers: each is refused with a reason or held by a bound, within seconds, and the search goes on."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import time
from collections.abc import Sequence

import numpy as np
import pytest

from idxopt.errors import IdxoptError, ModelError
from idxopt.models.ports import Generation, ModelIdentity, Prompt
from idxopt.operators.row import Document
from idxopt.optimizer.autoindex.changes import read_changes
from idxopt.optimizer.autoindex.llm import LlmProposer, Refusal
from idxopt.optimizer.autoindex.mixed import MixedProposer
from idxopt.optimizer.autoindex.prompt import BEGIN, CHARACTERS, END, proposal_prompt
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.autoindex.settings import SearchSettings
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.edits import edited
from idxopt.optimizer.ports import Scores
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.scoring.growth import MAX_GROWTH, MAX_ROWS_A_DOCUMENT
from idxopt.optimizer.splits import PlacedQueries
from tests.unit.optimizer.hostile import INJECTIONS, PROPOSED, change, rows, slices, step, terms
from tests.unit.optimizer.proposing import baseline, corpus, diagnosis, queries, state

SECONDS = 10.0


class Scripted:
    """Says what it is told to, in turn; the last for ever. An error is raised."""

    identity = ModelIdentity("generator", "scripted")
    price = (0.0, 0.0)

    def __init__(self, answers: Sequence[str | Exception]) -> None:
        self.answers = list(answers)
        self.prompts: list[Prompt] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    def generate(self, prompt: Prompt) -> Generation:
        self.prompts.append(prompt)
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, Exception):
            raise said
        return Generation(said, 1, 1)


def test_there_are_enough():
    assert len(PROPOSED) >= 40


@pytest.mark.parametrize("name", PROPOSED)
def test_an_answer_is_refused_with_its_reason_or_held_by_the_evaluator(name: str):
    answer, expected = PROPOSED[name]
    started = time.process_time()
    reading = read_changes(answer, baseline())
    assert time.process_time() - started < SECONDS
    if expected is None:
        assert reading.changes
        scorer = evaluator()
        for found in reading.changes:
            with contextlib.suppress(IdxoptError):
                scorer.scores(edited(baseline(), found.edits))
        assert time.process_time() - started < SECONDS
        return
    assert not reading.changes
    assert any(expected in reason for reason in reading.refused), reading.refused
    assert all(len(reason) < 600 for reason in reading.refused)


def evaluator(documents: Corpus | None = None) -> IncrementalEvaluator:
    found, qrels = queries()
    return IncrementalEvaluator(documents or corpus(), found, qrels)


def test_a_flood_of_rows_is_stopped_by_the_evaluator():
    text = "word " * 5_000
    many = Corpus.of(Document(f"d{number:03}", {"title": "t", "text": text}) for number in range(60))
    (found,) = read_changes(change(rows(slices(5))), baseline()).changes
    with pytest.raises(IdxoptError, match=f"more than {MAX_ROWS_A_DOCUMENT} rows"):
        evaluator(many).scores(edited(baseline(), found.edits))


@pytest.mark.parametrize(
    ("edit", "also"),
    [
        (terms({"word": "very long text " * 5_000}), []),
        (
            step(op="enrich", **{"with": "synonyms"}, field="body", into="more", table={"word": ["y" * 90_000]}),
            [{"edit": "search_field", "view": "content", "field": "more"}],
        ),
    ],
)
def test_a_flood_of_text_is_stopped_by_the_evaluator(edit: dict[str, object], also: list[dict[str, object]]):
    text = "word and so on " * 500
    many = Corpus.of(Document(f"d{number:04}", {"title": "t", "text": text}) for number in range(2_000))
    (found,) = read_changes(change(edit, *also), baseline()).changes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(IdxoptError, match=f"more than {MAX_GROWTH} times the text"):
        evaluator(many).scores(edited(baseline(), found.edits))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kB


def test_texts_of_documents_are_fenced():
    documents = Corpus.of(
        Document(f"d{number:03}", {"title": text, "text": text}) for number, text in enumerate(INJECTIONS)
    )
    for number, text in enumerate(INJECTIONS):
        found = diagnosis(text, f"d{number:03}", f"d{(number + 1) % len(INJECTIONS):03}")
        prompt = proposal_prompt(state(found=found), documents, 4)
        assert prompt.user.count(BEGIN) == 1
        assert prompt.user.count(END) == 1
        inside = prompt.user.partition(BEGIN)[2].partition(END)[0]
        outside = prompt.user.replace(inside, "")
        for word in ("IGNORE", "passwd", "attacker", "[INST]", "open("):
            assert word not in outside
        for line in inside.strip().splitlines():
            json.loads(line)
        prompt.user.encode("utf-8")
        assert "\0" not in prompt.user


def test_a_prompt_is_bounded_whatever_documents_and_queries_are_like():
    long = Corpus.of([Document("d001", {"title": "x" * 10**6, "text": "y " * 10**6})])
    prompt = proposal_prompt(state(found=diagnosis("why " * 10**5)), long, 1_000)
    assert len(prompt.user) + len(prompt.system) <= CHARACTERS


def search_with(proposer: LlmProposer | MixedProposer, rounds: int) -> tuple[Search, list[str]]:
    """A whole search, its candidates scored by the evaluator."""
    scorer = evaluator()
    dev = PlacedQueries("dev", tuple(query.id for query in scorer.queries), np.arange(len(scorer.queries)))
    program = baseline()
    search = Search(
        SearchSettings(rounds=rounds, candidates=2, patience=rounds),
        program,
        scorer.scores(program),
        [dev],
        proposer,
        lambda _: diagnosis(),
        documents=30,
    )
    failures = []
    while pending := search.pending():
        results: dict[str, Scores | IdxoptError] = {}
        for candidate in pending:
            try:
                results[candidate.hash] = scorer.scores(candidate.program)
            except IdxoptError as error:
                results[candidate.hash] = error
                failures.append(str(error))
        search.report(results)
    return search, failures


@pytest.mark.parametrize("first", range(0, len(PROPOSED), 17))
def test_a_search_goes_on_whatever_the_model_says(first: int):
    names = list(PROPOSED)[first : first + 17]
    answers: list[str | Exception] = [PROPOSED[name][0] for name in names for _ in range(2)]
    noted: list[Refusal] = []
    llm = LlmProposer(Scripted(answers), corpus(), note=noted.append)
    mixed = MixedProposer([(llm, 1), (RandomProposer(1), 1)])
    started = time.process_time()
    search, _ = search_with(mixed, len(names))
    assert time.process_time() - started < 60
    assert search.ended == f"all {len(names)} rounds are done"
    assert search.evaluations >= len(names)
    refused = [name for name in names if PROPOSED[name][1] is not None]
    rounds = {refusal.round for refusal in noted}
    assert len(rounds) >= len(refused) - 1
    assert all(refusal.reason for refusal in noted)
    assert noted == llm.refusals


def test_a_model_that_fails_costs_its_turn_only():
    llm = LlmProposer(Scripted([ModelError("no answer within 5 s", place="here")]), corpus())
    search, _ = search_with(MixedProposer([(llm, 1), (RandomProposer(1), 1)]), 3)
    assert search.ended == "all 3 rounds are done"
    assert {refusal.reason for refusal in llm.refusals} == {"here: no answer within 5 s"}
    assert {refusal.round for refusal in llm.refusals} == {1, 2, 3}


def test_alone_a_useless_model_ends_the_search_at_the_baseline():
    llm = LlmProposer(Scripted(["nonsense"]), corpus())
    search, _ = search_with(llm, 5)
    assert re.search("llm has nothing new", search.ended or "")
    assert search.current.program == baseline()
