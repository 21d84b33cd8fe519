"""From the options of `idxopt optimize` to what a study is run with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from idxopt.cli.mapping import mapped_program
from idxopt.cli.operands import load_judgments
from idxopt.cli.session import Session
from idxopt.cli.streams import say
from idxopt.errors import ProgramError, SourceError, UsageError

if TYPE_CHECKING:
    from idxopt.evaluation.judgments import JudgedQueries, Qrels, Query
    from idxopt.evaluation.synthetic.origin import Changed
    from idxopt.models.ports import Generator
    from idxopt.optimizer.corpus import Corpus
    from idxopt.optimizer.ports import Evaluator
    from idxopt.optimizer.study.inputs import EngineChoice, JudgedSet
    from idxopt.program.schema import Program
    from idxopt.sources import Source

EMBEDDED, DEFAULT_NAME = "embedded", "docs"
_GENERATOR = "proposer"
_SAMPLE = 200
_MAKE = "`idxopt queries make` makes some from the documents"
_MAX_ID = 40
DOCUMENTS_PER_S, QUERIES_PER_S = 1_000.0, 50.0
"""What a study sends to a cluster, at most: others search there too."""
_NOT_IN_IDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class JudgmentOptions:
    """Where judged queries are. `dev`, `test`: folders; `test_share`: of the queries of every other set."""

    queries: Path | None = None
    qrels: Path | None = None
    dataset: Path | None = None
    split: str | None = None
    dev: Sequence[Path] = ()
    test: Sequence[Path] = ()
    test_share: float = 0.0

    def check(self) -> None:
        """Raises UsageError for options that contradict each other: none is left unused in silence."""
        others = {"--queries": self.queries, "--qrels": self.qrels, "--dataset": self.dataset}
        if self.dev and (given := [option for option, value in others.items() if value is not None]):
            remedy = "leave one of them out; a folder that holds queries and judgments can be another --dev FOLDER"
            raise UsageError(f"exclude each other: {', '.join(('--dev', *given))}", place="--dev", remedy=remedy)
        if self.dev and self.split is not None:
            remedy = "leave --split out, or give --dataset FOLDER with it instead of --dev FOLDER"
            raise UsageError("is not used with --dev", place="--split", remedy=remedy)
        if self.test and self.test_share:
            remedy = "leave one of them out: --test names the test queries, --test-share draws them"
            raise UsageError("exclude each other", place="--test, --test-share", remedy=remedy)
        for option, folders in (("--dev", self.dev), ("--test", self.test)):
            twice = [folder for place, folder in enumerate(folders) if folder.resolve() in _resolved(folders[:place])]
            if twice:
                raise UsageError(f"{twice[0]} is given twice", place=option, remedy="give every folder once")


def _resolved(folders: Sequence[Path]) -> set[Path]:
    return {folder.resolve() for folder in folders}


def judged_sets(place: str, options: JudgmentOptions) -> list[JudgedSet]:
    """Dev sets and test sets. Without any option the judgments in SOURCE count, where it is a BEIR folder.

    Raises UsageError, SourceError and EvaluationError.
    """
    from idxopt.evaluation.datasets import load_dataset_folder
    from idxopt.optimizer.study.inputs import JudgedSet

    options.check()
    sets = []
    if options.queries is not None or options.qrels is not None or options.dataset is not None:
        judged = load_judgments(options.queries, options.qrels, options.dataset, options.split, texts=True).judged
        where = options.dataset or options.qrels or Path(place)
        sets.append(JudgedSet(_stem(where), str(where), judged))
    elif not options.dev:
        if not Path(place).is_dir():
            raise UsageError(
                f"nothing says which queries are judged, and {place} is no BEIR folder",
                place="--dev",
                remedy=f"add --dev FOLDER, or --queries FILE --qrels FILE; {_MAKE}",
            )
        sets.append(JudgedSet(Path(place).resolve().name, place, _judged_in(place, options.split)))
    sets += [
        JudgedSet(folder.resolve().name, str(folder), load_dataset_folder(folder), test=folder in options.test)
        for folder in (*options.dev, *options.test)
    ]
    for each in sets:
        _check_documents(place, each.place)
    if both := [folder for folder in options.dev if folder.resolve() in _resolved(options.test)]:
        remedy = "give other queries to search with: those of --test are never seen by the search"
        raise UsageError(f"{both[0]} is given as --test too", place="--dev", remedy=remedy)
    return _distinct(sets)


def _judged_in(place: str, split: str | None) -> JudgedQueries:
    """The judged queries in SOURCE; where it has none, the error says where else they may be."""
    from idxopt.evaluation.datasets import load_dataset_folder

    try:
        return load_dataset_folder(Path(place), split)
    except SourceError as error:
        if split is not None or error.place not in (place, str(Path(place)), str(Path(place) / "qrels")):
            raise  # a file that is damaged, or a split that is not there
        remedy = f"name judged queries with --dev FOLDER; {_MAKE}"
        raise SourceError(
            f"the documents have no judged queries ({error.message})", place=place, remedy=remedy
        ) from error


def _check_documents(place: str, judged: str) -> None:
    """Known-item queries are copies of texts in the documents that they were made from: there, figures mean nothing."""
    from idxopt.evaluation.synthetic.origin import changed_documents

    changed = changed_documents(judged)
    if changed is not None and not changed.holds(place):
        folder = shlex.quote(str(changed.folder))
        raise UsageError(
            f"the queries of {judged} are texts of the documents that they were made from, and {place} still has them",
            place="SOURCE",
            remedy=f"give {folder} as the documents, where those texts are removed: idxopt optimize {folder} ...",
        )


def texts_removed(place: str, sets: Sequence[JudgedSet]) -> Changed | None:
    """The folder of known items whose changed documents are at `place`; None for documents as they were."""
    from idxopt.evaluation.synthetic.origin import changed_documents

    found = (changed_documents(where) for where in (place, *(each.place for each in sets)))
    return next((changed for changed in found if changed is not None and changed.holds(place)), None)


def _stem(where: Path) -> str:
    return where.resolve().name.split(".")[0] or "dev"


def _distinct(sets: list[JudgedSet]) -> list[JudgedSet]:
    """With a number behind names that come again."""
    taken: set[str] = set()
    for place, each in enumerate(sets):
        name, number = each.name, 2
        while name in taken:
            name, number = f"{each.name}-{number}", number + 1
        taken.add(name)
        sets[place] = replace(each, name=name)
    return sets


def start_program(
    work: Session,
    place: str,
    name: str | None,
    program: Path | None,
    field: list[str] | None,
    doc_id: str,
    markup: str,
) -> Program:
    """The baseline: the program that was given, or full-document BM25 over the mapped fields; under `name`, if any.

    Raises ProgramError, SourceError, and UsageError where both are described.
    """
    from idxopt.optimizer.baseline import baseline_program
    from idxopt.program.validate import load_program

    if program is not None:
        if field is not None:
            raise UsageError(
                "the program maps its fields itself", place="--field", remedy="leave --field or --program out"
            )
        with _naming():
            return _renamed(work, load_program(program), name)
    name = DEFAULT_NAME if name is None else name
    known = "text" if markup == "auto" else markup
    with _naming():
        mapped = mapped_program(name, field, doc_id, known, command="optimize")
    if markup == "auto":
        guess = _guessed(work.open_source(place, mapped), mapped)
        mapped = mapped_program(name, field, doc_id, guess, command="optimize")
    return baseline_program(mapped.source, name)


@contextmanager
def _naming() -> Iterator[None]:
    """A name that no program may have is a fault of `--name`, which gave it."""
    try:
        yield
    except ProgramError as error:
        if error.place not in ("optimize options: name", "--name: name"):
            raise
        raise UsageError(error.message, place="--name", remedy=error.remedy) from error


def _renamed(work: Session, program: Program, name: str | None) -> Program:
    """The program under another name, which is said. Raises ProgramError for what is no name."""
    from idxopt.program.validate import program_from

    if name is None or name == program.name:
        return program
    say(work.settings, f"the program is called {name} here and in its winner, not {program.name}")
    return program_from({**program.model_dump(mode="json", by_alias=True, exclude_unset=True), "name": name}, "--name")


def _guessed(source: Source, program: Program) -> str:
    from idxopt.experiments.sampling import guessed_markup
    from idxopt.operators.paths import value_at
    from idxopt.operators.row import text_of

    path = program.source.fields.get("body") or list(program.source.fields.values())[-1]
    return guessed_markup([text_of(value_at(one.source, path)) for one in source.sample(_SAMPLE)])


@dataclass(frozen=True, slots=True)
class LivePace:
    """How gently a cluster is treated: documents and queries a second; 0: no limit."""

    documents_per_s: float = DOCUMENTS_PER_S
    queries_per_s: float = QUERIES_PER_S


def engine_choice(work: Session, engine: str, folder: Path, pace: LivePace) -> EngineChoice:
    """The embedded engine, or the cluster of a profile with trial indices of the study in `folder`.

    Raises ConfigError.
    """
    from idxopt.config import connect
    from idxopt.optimizer.study.inputs import EngineChoice

    if engine == EMBEDDED:
        return EngineChoice()
    name, profile = work.config.profile(engine)
    opened = connect(name, profile)
    found = opened.capabilities()
    open_now = 0

    @contextmanager
    def evaluator(corpus: Corpus, queries: Sequence[Query], qrels: Qrels) -> Iterator[Evaluator]:
        from idxopt.optimizer.study.folder import StudyFolder
        from idxopt.optimizer.trials import ClusterEvaluator, TrialSettings

        settings = TrialSettings(
            trial_id(folder.resolve().name, StudyFolder(folder).own_id(partial(say, work.settings))),
            documents_per_s=pace.documents_per_s or None,
            queries_per_s=pace.queries_per_s or None,
        )
        nonlocal open_now
        open_now += 1  # with a sample there are two, and the first to end must leave the other its connection
        try:
            with ClusterEvaluator(opened, corpus, queries, qrels, settings) as made:
                yield made
        finally:
            open_now -= 1
            if not open_now:
                opened.close()

    return EngineChoice(f"{found.engine} {found.version} ({name})", opened=evaluator)


def trial_id(study: str, own: str) -> str:
    """What stands in the names of a study's trial indices: its name as far as it may, and its own id, since others on
    the cluster may have a study of the same name.
    """
    name = _NOT_IN_IDS.sub("-", study.lower()).strip("-")[: _MAX_ID - 1 - len(own)].strip("-")
    return f"{name or 'study'}-{own}"


@contextmanager
def proposing_model(work: Session, model: str | None, budget: float | None) -> Iterator[tuple[Generator | None, str]]:
    """The language model that proposes, and the currency of its prices. Raises ConfigError."""
    from idxopt.cli.generating import open_priced
    from idxopt.program.validate import program_from

    if model is None:
        yield None, "USD"
        return
    plain = {
        "schema": "idxopt/1",
        "name": _GENERATOR,
        "source": {"fields": {"body": "text"}},
        "models": {_GENERATOR: {"kind": "generator", "id": model}},
        "views": {"content": {"lexical": {"fields": {"body": {}}}}},
    }
    with open_priced(program_from(plain, "--model"), work.config, budget) as models:
        yield models.generator(_GENERATOR), models.currency(_GENERATOR)
