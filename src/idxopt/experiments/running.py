"""A whole run: collections read and sampled one after another, reports written after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from idxopt import __version__
from idxopt.errors import UsageError
from idxopt.evaluation.bootstrap import RESAMPLES
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.experiments.building import Workplace
from idxopt.experiments.methods import BY_NAME
from idxopt.experiments.prime import Encoders, OpenModels, PrimeRun
from idxopt.experiments.reports import write_reports
from idxopt.experiments.results import CollectionResult, Setting
from idxopt.experiments.sampling import Limits, Sample, draw, guessed_markup
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.program.presets import preset
from idxopt.program.schema import Markup, Source
from idxopt.sources import open_source
from idxopt.sources.rejects import Rejects


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection: its documents, and its judged queries, which are read when its turn comes."""

    name: str
    place: str
    judged: Callable[[], JudgedQueries]


def sampled(collection: Collection, source: Source, markup: Markup | None, limits: Limits) -> tuple[Sample, int]:
    """A sample of a collection, and how many documents could not be read. `markup` None: guessed from the texts.

    Raises SourceError, EvaluationError, and UsageError where the source maps no body.
    """
    if "body" not in source.fields:
        raise UsageError("the field body is not mapped", place="--field", remedy="add --field body=PATH")
    rejects = Rejects()
    program = preset("full-text", program_name="experiment", source=source)
    documents = list(open_source(collection.place, program).documents(rejects))
    if markup is None:
        markup = guessed_markup([text_of(value_at(one.source, source.fields["body"])) for one in documents])
    read = source.model_copy(update={"markup": markup})
    return draw(collection.name, collection.place, read, documents, collection.judged(), limits), rejects.count


@dataclass(frozen=True)
class PrimeExperiment:
    """What is run: `markup` None guesses it for each collection, `methods` empty means all."""

    source: Source
    markup: Markup | None
    limits: Limits
    encoders: Encoders
    methods: tuple[str, ...] = ()

    def results(
        self, collections: Sequence[Collection], place: Workplace, open_models: OpenModels
    ) -> Iterator[CollectionResult]:
        """One collection after another; the reports in the work folder hold all that are finished.

        Raises UsageError for an unknown method or two collections of one name, and what building and searching raise.
        """
        self._check(collections)
        found: list[CollectionResult] = []
        for collection in collections:
            place.progress.stage(f"{collection.name}: read")
            sample, rejected = sampled(collection, self.source, self.markup, self.limits)
            run = PrimeRun(sample, self.encoders, place, open_models, self.methods)
            result = run.run(
                [f"{rejected} documents of {collection.place} cannot be read and are left out."] if rejected else []
            )
            found.append(result)
            write_reports(place.folder, found, self.setting(place))
            yield result

    def setting(self, place: Workplace) -> Setting:
        """What all collections share, for the reports."""
        options = self.encoders.options
        models = {"encoder": options.model, "reranker": str(options.reranker), "generator": options.generator}
        if self.encoders.strong is not None:
            models["second encoder"] = self.encoders.strong.model
        capabilities = place.engine.capabilities()
        return Setting(
            models=models,
            engine=f"{capabilities.engine} {capabilities.version}",
            idxopt=__version__,
            resamples=RESAMPLES,
            notes=(
                "raw windows embed the body alone, metadata embeds the title too; BM25 searches title and body",
                "SR rows (sr-text, full): BM25 and the reranker read the rewritten text D*, as in the paper",
            ),
        )

    def _check(self, collections: Sequence[Collection]) -> None:
        unknown = [name for name in self.methods if name not in BY_NAME]
        if unknown:
            raise UsageError(
                f'unknown method "{unknown[0]}"', place="--method", remedy=f"choose from {', '.join(BY_NAME)}"
            )
        names = [collection.name for collection in collections]
        twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
        if twice is not None:
            raise UsageError(
                f'two collections are called "{twice}"', place="SOURCE", remedy="rename one of the folders"
            )


def named(place: str) -> str:
    """The name of a collection: that of its folder or file."""
    return Path(place).name.split(".")[0] or "collection"
