"""Checks of documents and queries before anything is scored: what makes figures wrong is an error or a note."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import JudgedQueries, Query
from idxopt.evaluation.leaks import EXAMPLES, Leaks, find_leaks
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.record import Note
from idxopt.optimizer.scoring.long_queries import MAX_CLAUSES
from idxopt.optimizer.splits import GatheredQueries
from idxopt.optimizer.study.inputs import JudgedSet, StudyInputs
from idxopt.search.clauses import words_of

_FEW_FIELDS = 4
"""Programs of a study search about as many in one leg."""


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
    notes = [*_leaks(leaks), *_too_long(gathered.queries), *(note for each in inputs.sets for note in _left_out(each))]
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


def _too_long(queries: Sequence[Query]) -> list[Note]:
    """Queries that programs of few fields already cut to their rarest words, as live searches do."""
    words = {query.id: len(words_of(query.text)) for query in queries}
    longest = sorted((id for id in words if words[id] * _FEW_FIELDS > MAX_CLAUSES), key=lambda id: (-words[id], id))
    if not longest:
        return []
    one = len(longest) == 1
    return [
        Note(
            "long queries",
            f"{len(longest)} {'query has' if one else 'queries have'} more than {MAX_CLAUSES // _FEW_FIELDS} words:"
            f" where words times searched fields pass {MAX_CLAUSES:,}, only the rarest words are searched, also live",
            tuple(f"{id} ({words[id]:,} words)" for id in longest[:EXAMPLES]),
        )
    ]


def _left_out(each: JudgedSet) -> list[Note]:
    judged: JudgedQueries = each.judged
    notes = []
    if judged.unjudged:
        notes.append(Note("unjudged", f"{each.name}: {len(judged.unjudged)} queries without judgments are left out"))
    if judged.unknown:
        notes.append(Note("unknown", f"{each.name}: {len(judged.unknown)} judged query ids have no query"))
    return notes
