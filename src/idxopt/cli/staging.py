"""The models of the staged table of `idxopt optimize`: baseline and winner behind BM25, a dense leg, a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idxopt.cli.session import Session
from idxopt.errors import UsageError

if TYPE_CHECKING:
    from idxopt.evaluation.judgments import Qrels, Query
    from idxopt.models.opening import Models
    from idxopt.optimizer.corpus import Corpus
    from idxopt.optimizer.record import Stage
    from idxopt.optimizer.study.inputs import Staged
    from idxopt.program.presets import PresetOptions
    from idxopt.program.schema import ModelSpec, Program

NONE = "none"
_EMBEDDER, _RERANKER = "embedder", "reranker"


@dataclass(frozen=True, slots=True)
class StagedOptions:
    """What the command line says of the table. None: the encoder and the reranker of PRIME's presets."""

    wanted: bool = False
    embedder: str | None = None
    dimension: int | None = None
    reranker: str | None = None


def staged_by(work: Session, options: StagedOptions) -> Staged | None:
    """Makes the table at the end of a study; None where nobody wants one.

    The models are opened once before any work, so that one that is missing is told now and not after the search.
    Raises UsageError, ConfigError and ModelError.
    """
    if not options.wanted:
        if options.embedder or options.reranker or options.dimension:
            raise UsageError("belong to the staged table", place="--embedder, --reranker", remedy="add --staged")
        return None
    embedder, reranker = model_specs(options)
    _check(work, embedder, reranker)

    def made(
        corpus: Corpus, queries: Sequence[Query], qrels: Qrels, baseline: Program, winner: Program
    ) -> tuple[Stage, ...]:
        from idxopt.optimizer.staged import staged_table

        return staged_table(
            corpus,
            queries,
            qrels,
            baseline,
            winner,
            open_models=lambda program: _open(work, program),
            embedder=embedder,
            reranker=reranker,
        )

    return made


def model_specs(options: StagedOptions) -> tuple[ModelSpec, ModelSpec | None]:
    """Embedder and reranker. Raises UsageError for an embedder whose vectors' length is not known."""
    from idxopt.program.schema import ModelSpec

    known = _known(options)
    embedder = ModelSpec(
        kind="embedder",
        id=options.embedder or known.model,
        dimension=options.dimension or known.dimension,
        similarity=known.similarity,
        max_tokens=known.max_tokens,
        query_prefix=known.query_prefix,
        passage_prefix=known.passage_prefix,
    )
    if options.reranker == NONE:
        return embedder, None
    return embedder, ModelSpec(kind="reranker", id=options.reranker or known.reranker or f"maxsim:{_EMBEDDER}")


def _known(options: StagedOptions) -> PresetOptions:
    """The preset's models that have this embedder, or the default ones without prefixes for another."""
    from idxopt.program.presets import PROFILES

    if options.embedder is None:
        return PROFILES["default"]
    for profile in PROFILES.values():
        if profile.model == options.embedder:
            return profile
    if options.dimension is None:
        raise UsageError(
            f"the length of the vectors of {options.embedder} is not known",
            place="--embedder",
            remedy="add --dimension N",
        )
    return PROFILES["default"]


def _check(work: Session, embedder: ModelSpec, reranker: ModelSpec | None) -> None:
    from idxopt.program.model_checks import MAXSIM
    from idxopt.program.validate import program_from

    models = {_EMBEDDER: embedder.model_dump(mode="json", exclude_defaults=True)}
    if reranker is not None and not reranker.id.startswith(MAXSIM):
        models[_RERANKER] = reranker.model_dump(mode="json", exclude_defaults=True)
    plain = {
        "schema": "idxopt/1",
        "name": "staged",
        "source": {"fields": {"body": "text"}},
        "models": models,
        "views": {"content": {"lexical": {"fields": {"body": {}}}}},
    }
    with _open(work, program_from(plain, "--staged")) as opened:
        opened.embedder(_EMBEDDER)
        if _RERANKER in models:
            opened.reranker(_RERANKER)


def _open(work: Session, program: Program) -> Models:
    from idxopt.config.models import open_models

    return open_models(program, work.config)
