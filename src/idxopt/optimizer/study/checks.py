"""Checks of documents and queries before anything is scored: what makes figures wrong is an error or a note."""

from __future__ import annotations

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.evaluation.leaks import EXAMPLES, Leaks, find_leaks
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.record import Note
from idxopt.optimizer.splits import GatheredQueries
from idxopt.optimizer.study.inputs import JudgedSet, StudyInputs


def checked(corpus: Corpus, inputs: StudyInputs, gathered: GatheredQueries, rejected: int) -> tuple[Note, ...]:
    """Notes of what was found. Raises EvaluationError where judged documents are missing, unless that is allowed."""
    paths = list(inputs.baseline.source.fields.values())
    texts = {
        document.id: "\n".join(text_of(value_at(document.source, path)) for path in paths)
        for document in corpus.documents
    }
    allowed = inputs.settings.allow_missing
    try:
        leaks = find_leaks(texts, gathered.queries, gathered.qrels, allow_missing=allowed)
    except EvaluationError as error:
        lacking = [each.place for each in inputs.sets if _judged_ids(each) - texts.keys()]
        allow = "" if allowed or not _judged_ids(*inputs.sets) & texts.keys() else " (here with --allow-missing)"
        remedy = f"{error.remedy}{allow}"
        raise EvaluationError(error.message, place=", ".join(lacking), remedy=remedy) from error
    notes = [*_leaks(leaks), *(note for each in inputs.sets for note in _left_out(each))]
    if rejected:
        notes.append(Note("rejected", f"{rejected} documents cannot be indexed; they are in rejects.jsonl"))
    return tuple(notes)


def _judged_ids(*sets: JudgedSet) -> set[str]:
    return {doc_id for each in sets for graded in each.judged.qrels.values() for doc_id in graded}


def _leaks(leaks: Leaks) -> list[Note]:
    notes = []
    sentences = iter(leaks.sentences)
    if leaks.missing.documents:
        notes.append(Note("missing", next(sentences), leaks.missing.examples))
    if leaks.duplicates.groups:
        groups = leaks.duplicates.groups[:EXAMPLES]
        notes.append(Note("near-duplicates", next(sentences), tuple(" = ".join(group[:3]) for group in groups)))
    if leaks.copied.copies:
        copies = leaks.copied.copies[:EXAMPLES]
        notes.append(Note("copied", next(sentences), tuple(f"{query} in {doc_id}" for query, doc_id in copies)))
    return notes


def _left_out(each: JudgedSet) -> list[Note]:
    judged: JudgedQueries = each.judged
    notes = []
    if judged.unjudged:
        notes.append(Note("unjudged", f"{each.name}: {len(judged.unjudged)} queries without judgments are left out"))
    if judged.unknown:
        notes.append(Note("unknown", f"{each.name}: {len(judged.unknown)} judged query ids have no query"))
    return notes
