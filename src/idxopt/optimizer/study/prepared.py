"""What a study works on: documents, queries and their split, and the manifest that they make."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from idxopt import __version__
from idxopt.hashing import digest
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.slices import slices
from idxopt.optimizer.record import Note
from idxopt.optimizer.splits import GatheredQueries, PlacedQueries, Split, gather, split_queries
from idxopt.optimizer.study.inputs import JudgedSet, StudyInputs
from idxopt.optimizer.study.manifest import CorpusRecord, SetRecord, StudyManifest
from idxopt.optimizer.study.scores import judged_digest
from idxopt.program.canonical import canonical


@dataclass(frozen=True)
class Prepared:
    """`whole`: every document; `corpus`: those that the search uses (the same without a sample). `rejected`: documents
    that could not be read. `notes`: what the checks of documents and queries found.
    """

    whole: Corpus
    corpus: Corpus
    gathered: GatheredQueries
    split: Split
    rejected: int
    notes: tuple[Note, ...]

    @property
    def judged(self) -> str:
        """Digest of queries and judgments, for the keys of scores."""
        return judged_digest(self.gathered.queries, self.gathered.qrels)


def gathered_queries(inputs: StudyInputs) -> tuple[GatheredQueries, Split]:
    """All queries in one order, and which of them the search may look at. Raises EvaluationError and UsageError."""
    gathered = gather({each.name: each.judged for each in inputs.sets})
    settings = inputs.settings
    split = split_queries(
        gathered,
        seed=settings.seed,
        held_out=settings.held_out,
        test=settings.test,
        test_sets=[each.name for each in inputs.sets if each.test],
    )
    return gathered, split


def manifest_of(inputs: StudyInputs, prepared: Prepared) -> StudyManifest:
    """What decides this study, now."""
    return StudyManifest(
        study=inputs.name,
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        idxopt=__version__,
        corpus=CorpusRecord(
            place=inputs.source.place,
            digest=prepared.whole.digest,
            documents=len(prepared.whole.documents),
            rejected=prepared.rejected,
            sample=len(prepared.corpus.documents) if prepared.corpus is not prepared.whole else None,
        ),
        sets=tuple(_set_record(each) for each in inputs.sets),
        baseline=canonical(inputs.baseline),
        settings=inputs.settings.plain(),
        seed=inputs.settings.seed,
        engine=inputs.engine.label,
        proposer=inputs.proposer.label,
    )


def dev_slices(prepared: Prepared) -> tuple[PlacedQueries, ...]:
    """Kinds of dev queries, none of which may fall unseen."""
    dev = prepared.split.dev_places
    order = prepared.split.order
    found = []
    for kind, places in slices(prepared.gathered.queries).items():
        inside = np.intersect1d(dev, places)
        if len(inside):
            found.append(PlacedQueries(kind, tuple(order[place] for place in inside), inside))
    return tuple(found)


def _set_record(each: JudgedSet) -> SetRecord:
    queries = sorted([query.id, query.text] for query in each.judged.queries)
    qrels = sorted([query_id, sorted(graded.items())] for query_id, graded in each.judged.qrels.items())
    return SetRecord(
        name=each.name,
        role="test" if each.test else "dev",
        place=each.place,
        n=len(queries),
        queries=digest(queries),
        qrels=digest(qrels),
        synthetic=each.judged.synthetic is not None,
    )
