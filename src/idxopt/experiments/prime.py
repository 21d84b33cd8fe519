"""PRIME on one collection: every method built, asked under every pipeline, measured against raw windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from idxopt.builds.manifest import Manifest
from idxopt.builds.vectors import embedded_text
from idxopt.compiler.dense import dense_text
from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.comparison import TIE, answer_queries
from idxopt.evaluation.costs import EmbeddingCost, embedding_cost
from idxopt.evaluation.gold import GoldSpans
from idxopt.evaluation.judgments import Query, Ranking
from idxopt.evaluation.metrics import mean, per_query_values
from idxopt.evaluation.profile import profile
from idxopt.evaluation.regimes import predict
from idxopt.evaluation.representations import Text
from idxopt.experiments import rewriting
from idxopt.experiments.answering import answer_values, ask_first, questions_of
from idxopt.experiments.building import SharedModels, Workplace, built, searchable, view_hashes
from idxopt.experiments.kept import Kept
from idxopt.experiments.methods import (
    BY_NAME,
    CHUNKS,
    COLUMN_NAMES,
    COLUMNS,
    FULL,
    METHODS,
    OFFLINE,
    RAW,
    STRONG,
    Column,
    Method,
    variant,
)
from idxopt.experiments.results import MAIN, METRICS, Cell, CollectionResult, Compared, Prediction, Shape
from idxopt.experiments.sampling import Sample, slug, write_corpus
from idxopt.ledger.ledger import Ledger
from idxopt.models.opening import Models
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.program.canonical import canonical
from idxopt.program.model_checks import EXTRACTIVE
from idxopt.program.presets import PresetOptions
from idxopt.program.presets.parts import ENCODER, GENERATOR, RERANKER
from idxopt.program.schema import Program
from idxopt.search import Searcher

DEPTH = 100
EVIDENCE_DOCUMENTS = 30

OpenModels = Callable[[Program], Models]
"""Opens the models that a program names."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """The models of the methods; `strong`: the second encoder of Table 1, where one is configured."""

    options: PresetOptions
    strong: PresetOptions | None = None

    def of(self, method: Method) -> PresetOptions:
        return self.strong if method.strong and self.strong is not None else self.options


@dataclass
class Opened:
    """A method's program, its build once it is needed, and the models that both use."""

    program: Program
    models: Models
    shared: SharedModels
    build: Callable[[], Manifest] = field(repr=False)


class PrimeRun:
    """One collection. Finished parts are kept in the work folder; running again goes on where it stopped."""

    def __init__(
        self, sample: Sample, encoders: Encoders, place: Workplace, open_models: OpenModels, methods: Sequence[str] = ()
    ) -> None:
        self.sample = sample
        self.place = place
        self._encoders = encoders
        self._open = open_models
        self._methods = [
            method
            for method in METHODS
            if (not methods or method.name in {RAW, *methods}) and (encoders.strong is not None or not method.strong)
        ]
        self._name = f"prime-{slug(sample.name)}-{sample.digest[:8]}"
        self._folder = place.folder / slug(sample.name)
        capabilities = place.engine.capabilities()
        self._kept = Kept(
            self._folder / "parts", {"sample": sample.digest, "engine": [capabilities.engine, capabilities.version]}
        )
        self._models: dict[str, tuple[Models, SharedModels]] = {}
        self._builds: dict[str, Manifest] = {}

    def run(self, notes: Sequence[str] = ()) -> CollectionResult:
        """Raises what builds, searches and models raise; a repeated run asks only what is not finished.

        `notes`: what else was left out.
        """
        started = time.monotonic()
        write_corpus(self.sample, self._corpus)
        try:
            runs = {(method.name, column): self._run(method, column) for method in self._methods for column in COLUMNS}
            costs = {method.name: self._cost(method) for method in self._methods}
            return CollectionResult(
                name=self.sample.name,
                statement=self.sample.statement,
                digest=self.sample.digest,
                markup=self.sample.source.markup,
                queries=len(self.sample.judged.queries),
                cells=self._cells(runs),
                costs=costs,
                shape=self._shape(costs),
                prediction=self._prediction(),
                left_out=(*notes, *self._left_out()),
                **self._rewriting(),
                seconds=time.monotonic() - started,
            )
        finally:
            for models, shared in self._models.values():
                shared.forget()
                models.close()

    @property
    def _corpus(self) -> Path:
        return self._folder / "corpus"

    def _left_out(self) -> tuple[str, ...]:
        if any(method.name == STRONG for method in self._methods):
            return ()
        return ("The row of a second, stronger encoder (BGE-M3 in the paper): none is configured (--second-model).",)

    # Builds and rankings.

    def _opened(self, method: Method) -> Opened:
        options = self._encoders.of(method)
        program = method.program(self._name, self.sample.source, options)
        if options.model not in self._models:
            widest = BY_NAME["full"].program(self._name, self.sample.source, options)
            models = self._open(widest)
            self._models[options.model] = models, SharedModels(models)
        models, shared = self._models[options.model]

        def build() -> Manifest:
            if method.name not in self._builds:
                self.place.progress.stage(f"{self.sample.name}: build {method.name}")
                self._builds[method.name] = built(program, self._corpus, models, self.place)
            return self._builds[method.name]

        return Opened(program, models, shared, build)

    def _depends(self, opened: Opened) -> dict[str, Any]:
        names = sorted(opened.program.models)
        return {
            "program": canonical(opened.program),
            "views": view_hashes(opened.program, self.place.engine),
            "models": {name: opened.models.identity(name).key for name in names},
        }

    def _searcher(self, opened: Opened, column: Column) -> Searcher:
        live = searchable(opened.build(), variant(opened.program, column), self.place.engine)
        return Searcher(self.place.engine, live, models=opened.shared)

    def _run(self, method: Method, column: Column) -> Mapping[str, Sequence[str]]:
        opened = self._opened(method)
        queries = self.sample.judged.queries

        def ask() -> dict[str, list[str]]:
            searcher = self._searcher(opened, column)
            label = f"{self.sample.name}: {method.name}, {COLUMN_NAMES[column]}"
            self.place.progress.stage(label)
            done = [0]

            def answer(query: Query) -> Ranking:
                done[0] += 1
                self.place.progress.advance(label, done[0], len(queries))
                return searcher.ranking(query.text, DEPTH)

            found = answer_queries(queries, answer)
            return {query: [doc for doc, _ in ranking] for query, ranking in found.items()}

        made: Mapping[str, Sequence[str]] = self._kept.part(
            f"{slug(method.name)}.{column}", {**self._depends(opened), "column": column, "depth": DEPTH}, ask
        )
        return made

    # Figures.

    def _cells(self, runs: Mapping[tuple[str, Column], Mapping[str, Sequence[str]]]) -> tuple[Cell, ...]:
        base: dict[Column, Mapping[str, float]] = {}
        cells: list[Cell] = []
        for (method, column), run in runs.items():
            ranked = {query: [(doc, 0.0) for doc in docs] for query, docs in run.items()}
            values = per_query_values(ranked, self.sample.judged.qrels, METRICS)
            own = values[MAIN]
            differences: list[float] = []
            if method == RAW:
                base[column] = own
            else:
                differences = [own[query] - base[column][query] for query in sorted(own)]
            cells.append(
                Cell(
                    method=method,
                    column=column,
                    means={str(metric): mean(found) for metric, found in values.items()},
                    main=mean_interval([own[query] for query in sorted(own)]),
                    difference=mean_interval(differences) if differences else None,
                    per_query=own,
                    differing=sum(abs(one) > TIE for one in differences),
                    empty=sum(not docs for docs in run.values()),
                )
            )
        return tuple(cells)

    def _cost(self, method: Method) -> EmbeddingCost:
        opened = self._opened(method)

        def count() -> dict[str, int]:
            manifest = opened.build()
            texts: dict[str, list[str]] = {document.id: [] for document in self.sample.documents}
            for view, place in manifest.views.items():
                dense = dense_text(opened.program, view)
                if dense is not None:
                    for row in self.place.engine.scan(place.index, vectors=False):
                        texts[row.source["idxopt"]["doc_id"]].append(embedded_text(row.source, dense))
            options = self._encoders.of(method)
            cost = embedding_cost(texts.values(), opened.models.tokenizer(ENCODER), max_tokens=options.max_tokens)
            return asdict(cost)

        return EmbeddingCost(**self._kept.part(f"{slug(method.name)}.cost", self._depends(opened), count))

    def _shape(self, costs: Mapping[str, EmbeddingCost]) -> Shape | None:
        if OFFLINE not in costs or CHUNKS not in costs:
            return None
        texts = list(self.sample.texts.values())
        sections = [tree_sections(text, self.sample.source.markup, 2) for text in texts]
        opened = self._opened(BY_NAME[OFFLINE])

        def count() -> float:
            return sum(opened.models.tokenizer(ENCODER).count(texts)) / len(texts)

        return Shape(
            sections=sum(map(len, sections)) / len(texts),
            body_tokens=self._kept.part("body-tokens", self._depends(opened), count),
            metadata_tokens=costs[OFFLINE].tokens_a_document,
            headed=sum(any(section.path for section in found) for found in sections) / len(texts),
        )

    def _prediction(self) -> Prediction:
        sample = self.sample
        texts = [Text(one.id, sample.field(one, "title"), sample.field(one, "body")) for one in sample.documents]
        found = predict(profile(texts, sample.source.markup))
        return Prediction(found.regime, found.sign, found.recommended)

    # Rewriting.

    def _rewriting(self) -> dict[str, Any]:
        """Density, fidelity and evidence, where the rewritten corpus is among the methods."""
        if all(method.name != FULL for method in self._methods):
            return {}
        full = self._opened(BY_NAME[FULL])

        def measure() -> dict[str, Any]:
            self.place.progress.stage(f"{self.sample.name}: density, fidelity, evidence")
            texts = rewriting.rewritten_texts(full.build(), self.place.engine, self.sample)
            gold = rewriting.gold_of(self.sample.place, self.sample)
            found = self._evidence(full, texts, gold) if gold is not None else None
            return {
                "density": [_plain(one) for one in rewriting.density(self.sample, texts)],
                "fidelity": rewriting.fidelity(full.program, self.sample, full.models, self.place.cache),
                "evidence": [_plain(one) for one in found.compared] if found is not None else [],
                "note": found.note if found is not None else "",
                "answers": self._answers(full, gold, found) if gold is not None and found is not None else {},
            }

        made = self._kept.part("rewriting", self._depends(full), measure)
        return {
            "density": tuple(map(_compared, made["density"])),
            "fidelity": made["fidelity"],
            "evidence": tuple(map(_compared, made["evidence"])),
            "evidence_note": made["note"],
            "answers": {
                mode: mean_interval([values[query] for query in sorted(values)])
                for mode, values in made["answers"].items()
            },
        }

    def _evidence(self, full: Opened, texts: Mapping[str, str], gold: GoldSpans) -> rewriting.EvidenceFound | None:
        offline = self._opened(BY_NAME[OFFLINE])
        return rewriting.evidence(
            self.sample,
            gold,
            rewriting.Side(self.sample.texts, self._candidates(offline)),
            rewriting.Side(texts, self._candidates(full)),
            full.shared.reranker(RERANKER),
        )

    def _answers(
        self, full: Opened, gold: GoldSpans, found: rewriting.EvidenceFound
    ) -> Mapping[str, Mapping[str, float]]:
        """Answer-F1 by mode and question, where a language model is configured."""
        if full.program.models[GENERATOR].id == EXTRACTIVE:
            return {}
        generator = full.models.generator(GENERATOR)
        questions = questions_of(self.sample, gold)
        ask_first(GENERATOR, questions, generator, full.models.currency(GENERATOR), self.place.texts)
        with Ledger.open(self._folder / "answers.sqlite", budget=self.place.texts.budget) as ledger:
            return answer_values(questions, found, generator, self._kept, ledger)

    def _candidates(self, opened: Opened) -> rewriting.Candidates:
        searcher = self._searcher(opened, "hybrid")
        return lambda text: [doc for doc, _ in searcher.ranking(text, EVIDENCE_DOCUMENTS)]


def _plain(one: Compared) -> dict[str, Any]:
    interval = one.difference
    return {
        "name": one.name,
        "raw": one.raw,
        "rewritten": one.rewritten,
        "difference": None
        if interval is None
        else [interval.mean, interval.low, interval.high, interval.n, interval.level, interval.method],
    }


def _compared(plain: Mapping[str, Any]) -> Compared:
    found = plain["difference"]
    return Compared(plain["name"], plain["raw"], plain["rewritten"], None if found is None else Interval(*found))
