"""One physical index: created, read back, loaded, verified. Trials use it as deployments do: names, bodies and marks
are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from idxopt.builds import names
from idxopt.builds.effective import compare_effective
from idxopt.builds.journal import Fingerprint, Journal, LoadedFrom, fingerprint
from idxopt.engines.port import Engine, IndexState, LoadReport, LoadRow
from idxopt.errors import BuildError, Conflict
from idxopt.operators.row import VECTOR, StoredRow, row_digest, vector_of

_WITH_VECTOR: Mapping[str, Any] = {"exists": {"field": VECTOR}}
_NAMED = 5
"""How many ids a message names."""


def create(engine: Engine, name: str, body: Mapping[str, Any]) -> IndexState:
    """Makes an index and proves that the engine made what was compiled, before any row is loaded.

    Raises BuildError when the name is taken or when the effective index differs; it is then deleted again.
    """
    try:
        state = engine.create_index(name, body)
    except Conflict as error:
        raise taken(name, engine.get_index(name)) from error
    differences = compare_effective(body, state)
    if differences:
        engine.delete_index(name, state.uuid)
        listed = "; ".join(str(difference) for difference in differences[:_NAMED])
        raise BuildError(
            f"the engine made another index than the compiled one: {listed}",
            place=name,
            remedy="look for an index template or a cluster setting that reaches this name",
        )
    return state


def taken(name: str, state: IndexState | None) -> BuildError:
    """Why a name cannot be used."""
    if state is not None and not names.owned(state):
        return BuildError(
            "an index of this name exists that idxopt did not make",
            place=name,
            remedy="rename or delete that index yourself",
        )
    return BuildError(
        "an index of this name exists already", place=name, remedy="another run made it just now: run the command again"
    )


def load(
    engine: Engine,
    state: IndexState,
    rows: Iterable[StoredRow],
    journal: Journal,
    about: LoadedFrom,
    *,
    workers: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> LoadReport:
    """Stores rows and journals each one on its way.

    A resumed load of the same snapshot sends all rows again: `create` leaves those that are stored, after their digests
    were compared. The journal is complete only when no row failed.
    """
    journal.begin(about)
    report = engine.load(state.name, state.uuid, _journaled(rows, journal), workers=workers, on_progress=on_progress)
    journal.finish(complete=not report.failed)
    return report


def can_resume(journal: Journal, about: LoadedFrom) -> bool:
    """True when the unfinished index was being loaded from the same snapshot and tables: its rows are then the same.

    Otherwise the index is dropped and made again; that is always right, only slower.
    """
    return journal.about == about


def verify(engine: Engine, index: str, journal: Journal, *, vectors: bool = False) -> list[str]:
    """What is wrong with a loaded index, one sentence each; nothing when ids and contents are exactly those computed.

    Refreshes, reads every stored row once and compares fingerprints, in constant memory. `vectors`: the index has a
    dense leg; which rows have a vector is compared too, without reading the vectors themselves.
    """
    engine.refresh(index)
    problems = []
    deleted = engine.stats(index).deleted
    if deleted:
        problems.append(f"{index} counts {deleted} deleted documents, which shift BM25; a fresh index has none")
    stored = fingerprint(
        ((found.id, row_digest(found.source)) for found in engine.scan(index, vectors=False)),
        _with_vector(engine, index) if vectors else (),
    )
    if stored != journal.fingerprint:
        problems += _differences(engine, index, journal, stored)
    return problems


def _with_vector(engine: Engine, index: str) -> Iterator[str]:
    return (found.id for found in engine.scan(index, fields=[], query=_WITH_VECTOR))


def _journaled(rows: Iterable[StoredRow], journal: Journal) -> Iterator[LoadRow]:
    for row in rows:
        journal.add(row.id, row_digest(row.body), vector=vector_of(row.body) is not None)
        yield LoadRow(row.id, row.body)


def _differences(engine: Engine, index: str, journal: Journal, stored: Fingerprint) -> list[str]:
    """The slow way, to name what differs."""
    foreign: list[str] = []
    changed: list[str] = []
    counts = {"foreign": 0, "changed": 0}

    def ids() -> Iterator[str]:
        for one in engine.scan(index, vectors=False):
            wanted = journal.digest_of(one.id)
            if wanted is None:
                counts["foreign"] += 1
                foreign.append(one.id)
            elif wanted != row_digest(one.source):
                counts["changed"] += 1
                changed.append(one.id)
            del foreign[_NAMED:], changed[_NAMED:]
            yield one.id

    lacking, missing = journal.missing(ids(), _NAMED)
    problems = []
    if lacking:
        problems.append(f"{index} lacks {lacking} of {journal.documents} rows: {_named(missing, lacking)}")
    if foreign:
        problems.append(
            f"{index} holds {counts['foreign']} rows that were not computed: {_named(foreign, counts['foreign'])}"
        )
    if changed:
        problems.append(
            f"{index} holds {counts['changed']} rows with other contents: {_named(changed, counts['changed'])}"
        )
    if stored.vectors != journal.fingerprint.vectors:
        problems += _vector_differences(engine, index, journal)
    twice = journal.twice(_NAMED)
    if twice:
        problems.append(f"row ids were computed more than once: {', '.join(twice)}")
    if not problems:
        problems.append(
            f"{index} answered with {stored.rows} rows, {journal.documents} were computed; it changed while it was read"
        )
    return problems


def _vector_differences(engine: Engine, index: str, journal: Journal) -> list[str]:
    spare: list[str] = []

    def ids() -> Iterator[str]:
        for id in _with_vector(engine, index):
            if not journal.has_vector(id):
                spare.append(id)
            yield id

    lacking, missing = journal.missing(ids(), _NAMED, vectors=True)
    problems = []
    if lacking:
        problems.append(f"{index} lacks the vectors of {lacking} rows: {_named(missing, lacking)}")
    if spare:
        listed = _named(spare[:_NAMED], len(spare))
        problems.append(f"{index} holds vectors of {len(spare)} rows that have no text to embed: {listed}")
    return problems


def _named(ids: list[str], count: int) -> str:
    return ", ".join(ids) + (", ..." if count > len(ids) else "")
