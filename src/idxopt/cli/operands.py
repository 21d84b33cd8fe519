"""What `evaluate` and `compare` can be pointed at: a name, a build, an applied program, a run file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from idxopt.cli.progress import counting
from idxopt.cli.session import Session
from idxopt.errors import BuildError, ProgramError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idxopt.builds.manifest import Manifest
    from idxopt.builds.resolver import LiveBuild
    from idxopt.evaluation.judgments import JudgedQueries, Query, Ranking, Run

FORMS = "NAME (its live build), NAME@BUILD, BUILD, a program.json that was applied, or a run file"
_BUILD = re.compile(r"[0-9a-f]{8}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Operand:
    """One side: either a build to ask, or a finished run."""

    label: str
    build: LiveBuild | None = None
    run: Run | None = None

    @property
    def build_id(self) -> str | None:
        return self.build.manifest.build if self.build is not None else None


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judged queries, and the split of the folder that they are from."""

    judged: JudgedQueries
    split: str | None = None

    @property
    def notes(self) -> list[str]:
        split = [] if self.split is None else [f"judgments of split {self.split}"]
        note = self.judged.synthetic_note
        return split if note is None else [f"! {note}", *split]


def find_operand(work: Session, text: str) -> Operand:
    """Raises UsageError, BuildError or ProgramError for what cannot be found."""
    path = Path(text)
    if path.is_file():
        return _program(work, path) if path.suffix == ".json" else _run_file(path)
    name, at, build = text.partition("@")
    if not _NAME.fullmatch(name) or (at and not _BUILD.fullmatch(build)):
        raise UsageError("is no file, and no name or build either", place=text, remedy=f"give {FORMS}")
    if at:
        return _recorded(work, name, build)
    return _live(work, name)


def answers(work: Session, operand: Operand, queries: Sequence[Query], depth: int) -> Run:
    """The run of an operand: read from its file, or asked for now. A query that fails is an error, never a zero."""
    from idxopt.evaluation.comparison import answer_queries
    from idxopt.search import Searcher

    if operand.run is not None:
        return operand.run
    assert operand.build is not None
    searcher = Searcher(work.engine, operand.build, models_of=work.models)
    with counting(work.settings) as progress:

        def ask(query: Query) -> Ranking:
            asked[0] += 1
            progress.advance(f"ask {operand.label}", asked[0], len(queries))
            return searcher.ranking(query.text, depth)

        asked = [0]
        return answer_queries(queries, ask)


def load_judgments(
    queries: Path | None, qrels: Path | None, dataset: Path | None, split: str | None, *, texts: bool
) -> Judgments:
    """From two files, or a split of a folder. `texts`: False where only run files are evaluated: ids are enough."""
    from idxopt.evaluation.datasets import load_dataset_folder, load_judged, load_qrels, split_of
    from idxopt.evaluation.judgments import judged_without_texts
    from idxopt.evaluation.synthetic.mark import mark_of_files

    if dataset is not None:
        if queries is not None or qrels is not None:
            raise UsageError("replaces the other two", place="--dataset", remedy="leave --queries and --qrels out")
        judged = load_dataset_folder(dataset, split)
        return Judgments(judged, split_of(dataset, split))
    if split is not None:
        raise UsageError("belongs to a folder", place="--split", remedy="give --dataset FOLDER with it")
    if qrels is None:
        raise UsageError("needs judgments", place="--qrels", remedy="give --queries and --qrels, or --dataset")
    if queries is None:
        if texts:
            raise UsageError("needs queries", place="--queries", remedy="give --queries and --qrels, or --dataset")
        return Judgments(judged_without_texts(load_qrels(qrels), mark_of_files(qrels)))
    return Judgments(load_judged(queries, qrels))


def _run_file(path: Path) -> Operand:
    from idxopt.evaluation.runfiles import read_run

    return Operand(path.name, run=read_run(path))


def _program(work: Session, path: Path) -> Operand:
    """The newest build of exactly this program. Programs are not built for a comparison: apply decides that."""
    from idxopt.builds.state import StateStore
    from idxopt.program.canonical import program_hash
    from idxopt.program.validate import load_program

    program = load_program(path)
    wanted = program_hash(program)
    for manifest in reversed(StateStore(work.engine).manifests(program.name)):
        if manifest.program_hash == wanted:
            return _searchable(work, manifest, f"{path.name} ({manifest.build})")
    raise ProgramError(
        f"no build of {program.name} on {work.cluster} was made from this program",
        place=str(path),
        remedy="put it live with `idxopt apply`; the build before it is kept and can be compared as NAME@BUILD",
    )


def _recorded(work: Session, name: str, build: str) -> Operand:
    from idxopt.builds.state import StateStore

    manifest = StateStore(work.engine).manifest(name, build)
    if manifest is None:
        raise BuildError(f"there is no build {build}", place=name, remedy=f"`idxopt history {name}` lists the builds")
    return _searchable(work, manifest, f"{name}@{build}")


def _live(work: Session, text: str) -> Operand:
    from idxopt.builds.resolver import Resolver
    from idxopt.builds.state import StateStore

    live = Resolver(work.engine, text).live()
    if live is not None:
        return Operand(f"{text}@{live.manifest.build}", build=live)
    store = StateStore(work.engine)
    if _BUILD.fullmatch(text):
        found = [manifest for name in store.names() if (manifest := store.manifest(name, text)) is not None]
        if found:
            return _searchable(work, found[0], f"{found[0].name}@{text}")
    known = ", ".join(store.names()) or "none"
    raise BuildError(
        f"nothing is live under this name on {work.cluster}, and no file or build is called so",
        place=text,
        remedy=f"known names: {known}; or give {FORMS}",
    )


def _searchable(work: Session, manifest: Manifest, label: str) -> Operand:
    from idxopt.builds.resolver import live_build

    for view in manifest.views.values():
        state = work.engine.get_index(view.index)
        if state is None or state.uuid != view.uuid:
            raise BuildError(
                f"build {manifest.build} is no longer whole: {view.index} is gone",
                place=manifest.name,
                remedy="`idxopt status` lists the builds that are kept; apply the program again for another",
            )
    return Operand(label, build=live_build(manifest, work.engine))
