"""`idxopt optimize` killed with -9 at random moments: run again, does it end as if nothing had happened?

Cranfield, 10 evaluations, one worker and two in turn. A study is killed up to four times, each time somewhere between
its start and the time that an undisturbed run takes, and then runs to its end; there are as many studies as the kills
need. A run that ends before its kill is no kill. The same seed in other processes and with other workers must give the
same program, the same trials and the same record, times left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.collections import collection
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.errors import BuildError
from idxopt.optimizer.study.store import StoredTrial, StudyStore

KILLS, SHORT_KILLS = 20, 4
KILLS_A_STUDY = 4
EVALUATIONS = 10
SEED = 20_241_130
ENOUGH_S = 900.0
GONE_S = 10.0
_OF_A_RUN = frozenset({"created", "cost", "events", "notes", "study", "plan", "seconds", "cached", "p95_ms"})
"""What a record has of one run or place."""


@dataclass(frozen=True, slots=True)
class Killed:
    """One kill, and what the study's folder held right after it.

    `moment`: where the search was. `rounds`: how many rounds the running trials are of. `orphans`: its worker
    processes were still there after `GONE_S`.
    """

    study: int
    workers: int
    after_s: float
    moment: str
    running: int
    rounds: int
    scored: int
    orphans: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """What a study that came to its end is compared by. `twice`: trials whose time is not that of their stored scores,
    so that somebody computed these again.
    """

    program: bytes
    trials: tuple[tuple[Any, ...], ...]
    record: str
    scored: frozenset[str]
    evaluations: int
    running: int
    twice: int


@dataclass
class Measured:
    """Everything that was seen. `wall_s`: of the undisturbed run."""

    undisturbed: Ending
    wall_s: float
    kills: list[Killed] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)


def measured(place: Path, work: Path, kills: int, evaluations: int = EVALUATIONS) -> Measured:
    """Runs a study undisturbed and then others with so many kills. `place`: a BEIR folder; `work`: an empty folder.

    Raises BuildError where a run that nobody killed fails.
    """
    started = time.monotonic()
    _finish(place, work / "undisturbed", evaluations, 1)
    found = Measured(_ending(work / "undisturbed"), time.monotonic() - started)
    chance = random.Random(SEED)
    while len(found.kills) < kills:
        number = len(found.endings) + 1
        folder = work / f"killed-{number}"
        for _ in range(min(KILLS_A_STUDY, kills - len(found.kills))):
            workers = 1 + len(found.kills) % 2
            killed = _killed(place, folder, evaluations, workers, number, chance.uniform(0.0, found.wall_s))
            if killed is None:
                break
            found.kills.append(killed)
            tell(f"kill {len(found.kills)} of {kills}: study {number} after {killed.after_s:.1f} s, {killed.moment}")
        _finish(place, folder, evaluations, 1 + number % 2)
        found.endings.append(_ending(folder))
    return found


def _started(place: Path, folder: Path, evaluations: int, workers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "idxopt", "optimize", str(place), "--out", str(folder)]
    command += ["--evaluations", str(evaluations), "--workers", str(workers), "--test-share", "0.2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def _finish(place: Path, folder: Path, evaluations: int, workers: int) -> None:
    process = _started(place, folder, evaluations, workers)
    try:
        _, err = process.communicate(timeout=ENOUGH_S)
    finally:
        process.kill()
    if process.returncode != 0:
        raise BuildError(f"a run that nobody killed ended with {process.returncode}: {err.decode()[-500:]}")


def _killed(place: Path, folder: Path, evaluations: int, workers: int, number: int, after_s: float) -> Killed | None:
    """None: it came to its end before that."""
    process = _started(place, folder, evaluations, workers)
    try:
        _, err = process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    else:
        if process.returncode != 0:
            raise BuildError(f"a run ended with {process.returncode} before its kill: {err.decode()[-500:]}")
        return None
    if process.returncode != -signal.SIGKILL:
        return None  # it ended as the kill came
    trials = _trials(folder)
    running = [trial for trial in trials if trial.status == "running"]
    return Killed(
        study=number,
        workers=workers,
        after_s=after_s,
        moment=_moment(trials, running),
        running=len(running),
        rounds=len({trial.round for trial in running}),
        scored=len(_scores(folder)),
        orphans=_orphans(process.pid),
    )


def _moment(trials: Sequence[StoredTrial], running: Sequence[StoredTrial]) -> str:
    if not trials:
        return "before its first trial"
    if running:
        return f"in round {running[0].round}"
    return f"between rounds, {len(trials)} trials decided"


def _orphans(group: int) -> bool:
    """Whether a process of the killed one's group is still there after a while."""
    until = time.monotonic() + GONE_S
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return True


def _trials(folder: Path) -> list[StoredTrial]:
    file = folder / "study.sqlite"
    if not file.exists():
        return []
    with closing(StudyStore.open(file)) as store:
        return store.trials()


def _scores(folder: Path) -> dict[str, float]:
    """Seconds by program, of all that have scores."""
    file = folder / "scores.sqlite"
    if not file.exists():
        return {}
    with closing(sqlite3.connect(file)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'scores'").fetchall():
            return {}
        return dict(connection.execute("SELECT program, seconds FROM scores").fetchall())


def _ending(folder: Path) -> Ending:
    trials, scores = _trials(folder), _scores(folder)
    return Ending(
        program=(folder / "program.json").read_bytes(),
        trials=tuple(
            (one.number, one.round, one.hash, one.status, one.reason, one.gain, one.confidence, one.against)
            for one in trials
        ),
        record=_timeless((folder / "record.json").read_text(encoding="utf-8")),
        scored=frozenset(scores),
        evaluations=sum(trial.number > 0 and trial.hash in scores for trial in trials),
        running=sum(trial.status == "running" for trial in trials),
        twice=sum(trial.hash in scores and trial.seconds != scores[trial.hash] for trial in trials),
    )


def _timeless(record: str) -> str:
    """A record without times, places, and what says how often scores came from the store."""
    return json.dumps(_without_times(json.loads(record)), sort_keys=True)


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if key not in _OF_A_RUN}
    return value


def bars(found: Measured, kills: int, evaluations: int = EVALUATIONS) -> list[Bar]:
    """What must hold."""
    ends, whole = found.endings, found.undisturbed
    counted = [abs(end.evaluations - evaluations) for end in (whole, *ends)]
    return [
        Bar("kills", len(found.kills), "==", kills),
        Bar("other final programs", sum(end.program != whole.program for end in ends), "==", 0),
        Bar("other trial tables", sum(end.trials != whole.trials for end in ends), "==", 0),
        Bar("other records", sum(end.record != whole.record for end in ends), "==", 0),
        Bar("other programs scored", sum(end.scored != whole.scored for end in ends), "==", 0),
        Bar("evaluations too many or too few", sum(counted), "==", 0),
        Bar("trials scored again although their scores were there", sum(end.twice for end in ends), "==", 0),
        Bar("trials left running at the end", sum(end.running for end in ends), "==", 0),
        Bar("kills that left trials of two rounds running", sum(one.rounds > 1 for one in found.kills), "==", 0),
        Bar("kills that left worker processes", sum(one.orphans for one in found.kills), "==", 0),
    ]


def reported(kills: int) -> Report:
    """Measures, and says what came out."""
    report = Report("kills")
    with tempfile.TemporaryDirectory(prefix="idxopt-kills-") as work:
        found = measured(collection("cranfield").folder, Path(work), kills)
    rows: list[dict[str, Value]] = [
        {
            "study": one.study,
            "workers": one.workers,
            "killed after s": one.after_s,
            "moment": one.moment,
            "trials running": one.running,
            "programs scored": one.scored,
        }
        for one in found.kills
    ]
    report.tables.append(Figures("kills", rows))
    report.bars += bars(found, kills)
    report.notes.append(f"an undisturbed run took {found.wall_s:.1f} s; {len(found.endings)} studies were killed")
    report.notes.append("a round's trials begin together: those of one round run when it is killed")
    return report


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"how many ({KILLS})")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_KILLS} kills")
    given = parser.parse_args()
    return run(lambda: reported(SHORT_KILLS if given.short else given.kills), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
