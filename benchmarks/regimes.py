"""Does the profile of a corpus predict whether PRIME's metadata beats raw windows in a dense index?

Cells: six collections, each as it is, without headings (their lines are deleted), without titles (the field is emptied)
and cut to 150 words. A cell that such a change leaves as it was is shown and not counted again. In each a sample by
seed: 50 queries at most, and 120 documents (fewer of long ones: LONG), or all that are judged where those are more.
Measured is the difference `offline - raw` of nDCG@10, dense only: one vector of title, terms and heading tree a
document, against the best window of 256 tokens of the body.

Bar: the predicted sign is right in 80% of the held-out cells whose difference is beyond two standard errors, and every
cell without headings is warned of. The thresholds of `evaluation.regimes` come from reasoning and from the collections
of `TUNED`; the others are held out. Embeddings are cached, so a second run takes seconds.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.collections import NAMES, Collection, collection
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.config.load import cache_dir
from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import Qrels, Query, Run
from idxopt.evaluation.metrics import Metric, per_query_values
from idxopt.evaluation.profile import profile
from idxopt.evaluation.regimes import Prediction, predict
from idxopt.evaluation.representations import OFFLINE, TITLE, Represented, Text, best_first, metadata, windows
from idxopt.models.opening import Models
from idxopt.models.ports import Embedder
from idxopt.operators.markup import parsed_markup
from idxopt.operators.outline import without_spans
from idxopt.operators.step_models import StepModels
from idxopt.program.schema import Markup
from tests.models_support import ModelUnavailableError, minilm_settings, minilm_spec

TUNED = frozenset({"scifact", "cranfield", "medquad_pages"})
KINDS: tuple[Kind, ...] = ("as is", "no headings", "no titles", "150 words")
Kind = Literal["as is", "no headings", "no titles", "150 words"]

SEED = 7
QUERIES, DOCUMENTS = 50, 120
LONG: Mapping[str, int] = {"covidqa_docs": 30, "awsdocs_small": 60}
"""Documents of the sample where one has many windows."""
MEASURE = Metric("nDCG", 10)
WINDOW_TOKENS = 254
"""The model's 256 without its two special tokens."""
DECISIVE = 2.0
RIGHT = 0.8
_ENCODER = "encoder"


@dataclass(frozen=True, slots=True)
class Sample:
    """A part of a collection with its judged queries."""

    markup: Markup
    texts: list[Text]
    queries: list[Query]
    qrels: Qrels


@dataclass(frozen=True, slots=True)
class Cell:
    """One collection under one change, predicted and measured."""

    collection: str
    kind: Kind
    repeats: bool
    prediction: Prediction
    values: dict[str, dict[str, float]]

    @property
    def differences(self) -> list[float]:
        raw, offline = self.values["raw"], self.values["offline"]
        return [offline[query] - raw[query] for query in sorted(raw)]

    @property
    def standard_error(self) -> float:
        return statistics.stdev(self.differences) / math.sqrt(len(self.differences))

    @property
    def difference(self) -> float:
        return statistics.fmean(self.differences)

    @property
    def decisive(self) -> bool:
        return abs(self.difference) > DECISIVE * self.standard_error

    @property
    def right(self) -> bool:
        return (self.difference > 0) == (self.prediction.sign == "+")

    @property
    def held_out(self) -> bool:
        return self.collection not in TUNED

    def row(self) -> dict[str, Value]:
        means = {name: statistics.fmean(found.values()) for name, found in self.values.items()}
        return {
            "collection": self.collection,
            "change": self.kind,
            "half": "held out" if self.held_out else "tuned",
            "n": len(self.differences),
            "raw": round(means["raw"], 3),
            "offline": round(means["offline"], 3),
            "title": round(means["title"], 3),
            "difference": round(self.difference, 3),
            "SE": round(self.standard_error, 3),
            "regime": self.prediction.regime,
            "predicted": f"{self.prediction.sign} {self.prediction.strength:.2f}",
            "right": "repeats 'as is'" if self.repeats else "within 2 SE" if not self.decisive else self.right,
        }


def sampled(of: Collection) -> Sample:
    """QUERIES judged queries at most, and DOCUMENTS documents, or all that are judged for them where those are more."""
    chance = random.Random(SEED)
    documents = {record["_id"]: record for record in of.documents()}
    judged = of.judged()
    queries = sorted(chance.sample(judged.queries, min(QUERIES, len(judged.queries))), key=lambda query: query.id)
    kept = {doc for query in queries for doc in judged.qrels[query.id] if doc in documents}
    others = sorted(documents.keys() - kept)
    wanted = LONG.get(of.name, DOCUMENTS) - len(kept)
    kept |= set(chance.sample(others, max(0, min(wanted, len(others)))))
    texts = [Text(id_, documents[id_].get("title") or "", documents[id_]["text"]) for id_ in sorted(kept)]
    return Sample(of.markup, texts, queries, {query.id: judged.qrels[query.id] for query in queries})


def changed(text: Text, kind: Kind, markup: Markup) -> Text:
    """A document as one kind of cell has it."""
    match kind:
        case "as is":
            return text
        case "no headings":
            spans = [(heading.start, heading.end) for heading in parsed_markup(text.body, markup).headings]
            return replace(text, body=without_spans(text.body, spans))
        case "no titles":
            return replace(text, title="")
        case "150 words":
            words = list(re.finditer(r"\S+", text.body))
            return text if len(words) <= 150 else replace(text, body=text.body[: words[149].end()])


def measured(name: str, models: Models) -> Iterable[Cell]:
    """The four cells of a collection."""
    sample = sampled(collection(name))
    before: list[Text] | None = None
    for kind in KINDS:
        texts = [changed(text, kind, sample.markup) for text in sample.texts]
        tell(f"{name}, {kind}: {len(texts)} documents, {len(sample.queries)} queries")
        yield Cell(
            collection=name,
            kind=kind,
            repeats=texts == before,
            prediction=predict(profile(texts, sample.markup)),
            values=_values(sample, texts, models),
        )
        before = before or texts


def _values(sample: Sample, texts: list[Text], models: Models) -> dict[str, dict[str, float]]:
    embedder = models.embedder(_ENCODER)
    tokenizers = StepModels(tokenizers={_ENCODER: str(models.tokenizer_file(_ENCODER))})
    represented = {
        "raw": windows(
            texts,
            sample.markup,
            size=WINDOW_TOKENS,
            unit=_ENCODER,
            specs={_ENCODER: minilm_spec()},
            models=tokenizers,
        ),
        "offline": metadata(texts, sample.markup, OFFLINE),
        "title": metadata(texts, sample.markup, (TITLE,)),
    }
    return {name: _of(made, sample, texts, embedder) for name, made in represented.items()}


def _of(made: Represented, sample: Sample, texts: Sequence[Text], embedder: Embedder) -> dict[str, float]:
    ranked: Run = {}
    if made.texts:
        queries = embedder.embed([query.text for query in sample.queries], "query").vectors
        rows = embedder.embed(made.texts, "passage", on_progress=_progress).vectors
        rankings = best_first(queries, rows, made, [text.id for text in texts])
        ranked = {query.id: ranking for query, ranking in zip(sample.queries, rankings, strict=True)}
    return per_query_values(ranked, sample.qrels, [MEASURE])[MEASURE]


def _progress(done: int, every: int) -> None:
    if done % 512 < 16 and done < every:
        tell(f"  {done} of {every} texts")


def report(names: Sequence[str]) -> Report:
    """Measures every cell of the collections."""
    made = Report("regimes")
    try:
        settings = minilm_settings()
    except ModelUnavailableError as error:
        raise EvaluationError(str(error), remedy="this benchmark needs the model") from error
    with Models({_ENCODER: minilm_spec()}, settings, cache=cache_dir() / "embeddings", secret=lambda _: "") as models:
        cells = [cell for name in names for cell in measured(name, models)]
    made.tables.append(Figures("offline - raw, dense only, nDCG@10", [cell.row() for cell in cells]))
    counted = [cell for cell in cells if not cell.repeats]
    for half in ("held out", "tuned"):
        decisive = [cell for cell in counted if cell.decisive and cell.held_out == (half == "held out")]
        if decisive:
            share = sum(cell.right for cell in decisive) / len(decisive)
            positive = sum(cell.difference > 0 for cell in decisive)
            made.bars.append(
                Bar(f"sign right, {half} ({len(decisive)} cells, {positive} positive)", share, ">=", RIGHT)
            )
    bare = [cell for cell in cells if cell.prediction.heading_free]
    warned = sum(bool(cell.prediction.warnings) for cell in bare)
    made.bars.append(Bar("cells without headings that are warned of", warned / len(bare) if bare else 1.0, "==", 1))
    within = sum(not cell.decisive for cell in counted)
    made.notes.append(f"{within} of {len(counted)} cells are within two standard errors: they decide nothing")
    decisive = [cell for cell in counted if cell.decisive]
    losing = sum(cell.difference < 0 for cell in decisive)
    made.notes.append(f"always guessing `-` would be right in {losing} of the {len(decisive)} decisive cells")
    made.notes.append(f"tuned on {', '.join(sorted(TUNED))}; the other collections are held out; seed {SEED}")
    return made


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.regimes", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--collection", action="append", choices=NAMES, help="only this one (repeatable)")
    options = parser.parse_args()
    return run(lambda: report(options.collection or NAMES), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
