"""What the sidecar adds to the model itself, and what it gains over serving without batching.

Paired in one run: each round sends the same texts to each server in turn (1, 8 and 64 clients of single texts, one
client of long lists), and to the model in this process. Figures are medians over rounds of ratios within a round.
Torch is measured where it is installed (extra `sidecar`), infinity-emb where `--infinity` names it. Bars: a list
through the sidecar keeps 0.9 of the model's own rate; never below infinity-emb; at 8 and 64 clients no more processor
time a text than the plain handler (its rate is shown: it has up to 40 threads, and on a busy machine gets that many
shares). Waiting threads of torch sleep everywhere (OMP_WAIT_POLICY): spinning, the peers were up to ten times slower
on busy processors. `--device cuda`: fp16, share of the card's peak, the vectors against the CPU's (cosine >= 0.999).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Bar, Figures, Report, Value, run, tell
from benchmarks.sidecar_gpu import gpu_figures
from benchmarks.sidecar_load import Load, Seen, drive, joined, pieces
from benchmarks.sidecar_models import Encode, cross_scorer, encoder
from benchmarks.sidecar_servers import (
    EMBEDDER,
    RERANKER,
    Checkpoints,
    Hardware,
    Server,
    find_infinity,
    infinity,
    plain,
    sidecar,
)
from tests.models_support import minilm_folder

DOCUMENTS = 16
BULK = "list"
TORCH = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    seconds: float
    bulk: int

    def loads(self, number: int) -> list[Load]:
        """Single texts, then the list: one request a round. Round 0 warms up, briefly."""
        seconds = self.seconds if number else 0.3
        singles = [Load(f"{clients} x 1", clients, 1, seconds) for clients in (1, 8, 64)]
        return [*singles, Load(BULK, 1, self.bulk, 0.001)]


SHORT = Size(rounds=3, seconds=2, bulk=192)
LONG = Size(rounds=7, seconds=10, bulk=2_048)


def measure(size: Size, hardware: Hardware, infinity_program: str | None) -> Report:
    """All servers are up at once and idle but for the one that is measured."""
    report = Report("sidecar")
    torch = importlib.util.find_spec("sentence_transformers") is not None
    with tempfile.TemporaryDirectory(prefix="idxopt-sidecar-") as name, ExitStack() as stack:
        folder = Path(name)
        models = Checkpoints(minilm_folder(), cross_encoder(folder) if torch else None)
        providers = [*(["onnx"] if hardware.device == "cpu" else []), *([TORCH] if torch else [])]
        tell("starting servers")
        servers = [stack.enter_context(sidecar(one, models, hardware, folder)) for one in providers]
        servers += [stack.enter_context(plain(one, models, hardware)) for one in providers]
        if infinity_program and torch:
            servers.append(stack.enter_context(infinity(infinity_program, models, hardware)))
        direct = {f"the model itself, {one}": encoder(one, models.embedder, hardware) for one in providers}
        seen = _embeddings(size, servers, direct)
        _report_embeddings(report, seen)
        if models.reranker:
            scorer = {f"the model itself, {TORCH}": cross_scorer(models.reranker, hardware)}
            _report_rerank(report, _rerank(size, [one for one in servers if one.rerank], scorer))
    if not torch:
        report.notes.append("torch is not installed here: only ONNX Runtime was measured")
    elif not infinity_program:
        report.notes.append("infinity-emb is not at hand (--infinity PROGRAM)")
    if hardware.device != "cpu":
        gpu_figures(report, minilm_folder(), hardware)
    return report


def cross_encoder(folder: Path) -> Path:
    """A checkpoint of all-MiniLM-L6-v2 under a head of one label: the work of a cross-encoder, not its quality."""
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(minilm_folder()), num_labels=1, device="cpu").save_pretrained(str(folder / "cross-encoder"))
    return folder / "cross-encoder"


Rounds = dict[tuple[str, str], list[Seen]]
"""By (who, load) what each round saw."""


def _embeddings(size: Size, servers: Sequence[Server], direct: dict[str, Encode]) -> Rounds:
    single = [{"model": EMBEDDER, "input": text} for text in pieces(2_000, least=6, most=40, seed=1)]
    texts = pieces(size.bulk, least=20, most=150, seed=2)
    bulk = [{"model": EMBEDDER, "input": texts}]
    rounds: Rounds = {}
    for number in range(size.rounds + 1):
        tell(f"embeddings, round {number} of {size.rounds}")
        for load in size.loads(number):
            for server in _turned(servers, number):
                bodies = bulk if load.name == BULK else single
                seen = drive(server.embeddings, bodies, load, server.processor_seconds)
                _add(rounds, number, server.name, load.name, seen)
            if load.name == BULK:
                for name, encode in direct.items():
                    _add(rounds, number, name, BULK, _timed(encode, texts, len(texts)))
    return rounds


def _rerank(size: Size, servers: Sequence[Server], direct: dict[str, Encode]) -> Rounds:
    texts = pieces(DOCUMENTS * 50, least=20, most=80, seed=3)
    lists = [texts[begin : begin + DOCUMENTS] for begin in range(0, len(texts), DOCUMENTS)]
    queries = pieces(len(lists), least=5, most=12, seed=4)
    pairs = list(zip(queries, lists, strict=True))
    bodies = [{"model": RERANKER, "query": query, "documents": documents} for query, documents in pairs]
    rounds: Rounds = {}
    for number in range(size.rounds + 1):
        tell(f"reranking, round {number} of {size.rounds}")
        for clients in (1, 8):
            load = Load(f"{clients} x {DOCUMENTS}", clients, DOCUMENTS, size.seconds if number else 0.3)
            for server in _turned(servers, number):
                assert server.rerank is not None
                seen = drive(server.rerank, bodies, load, server.processor_seconds)
                _add(rounds, number, server.name, load.name, seen)
        for name, score in direct.items():
            query, documents = pairs[number % len(pairs)]
            _add(rounds, number, name, f"1 x {DOCUMENTS}", _timed(score, [query, *documents], DOCUMENTS))
    return rounds


def _turned(servers: Sequence[Server], number: int) -> list[Server]:
    """Another one begins each round."""
    turn = number % len(servers)
    return [*servers[turn:], *servers[:turn]]


def _timed(work: Encode, given: Sequence[str], texts: int) -> Seen:
    began, before = time.perf_counter(), time.process_time()
    work(given)
    took = time.perf_counter() - began
    return Seen(texts / took, [took], (time.process_time() - before) / texts)


def _add(rounds: Rounds, number: int, who: str, load: str, seen: Seen) -> None:
    if number:
        rounds.setdefault((who, load), []).append(seen)


def _ratio(rounds: Rounds, load: str, one: str, other: str) -> float | None:
    """Median over rounds of rate / rate."""
    if (one, load) not in rounds or (other, load) not in rounds:
        return None
    pairs = zip(rounds[one, load], rounds[other, load], strict=True)
    return statistics.median(first.rate / second.rate for first, second in pairs)


def _table(title: str, rounds: Rounds) -> Figures:
    order = sorted(rounds, key=lambda key: ([load for _, load in rounds].index(key[1]), key[0]))
    rows: list[dict[str, Value]] = [
        {"clients x texts": load, "who": who, **joined(rounds[who, load]).row()} for who, load in order
    ]
    return Figures(title, rows)


def _report_embeddings(report: Report, rounds: Rounds) -> None:
    report.tables.append(_table("embeddings", rounds))
    providers = [who.removeprefix("sidecar, ") for who, load in rounds if who.startswith("sidecar, ") and load == BULK]
    for provider in providers:
        ours = f"sidecar, {provider}"
        _bar(report, rounds, BULK, ours, f"the model itself, {provider}", 0.9)
        for load in ("8 x 1", "64 x 1"):
            _work_bar(report, rounds, load, ours, f"plain handler, {provider}")
    for load in ("1 x 1", "8 x 1", "64 x 1", BULK):
        _bar(report, rounds, load, f"sidecar, {TORCH}", "infinity-emb, torch", 1.0)
    both = _ratio(rounds, BULK, "the model itself, onnx", f"the model itself, {TORCH}")
    if both is not None:
        report.tables.append(Figures("embedded, on this processor", [{"ONNX Runtime / torch, texts/s": both}]))


def _report_rerank(report: Report, rounds: Rounds) -> None:
    report.tables.append(_table("reranking", rounds))
    ours = f"sidecar, {TORCH}"
    _bar(report, rounds, f"1 x {DOCUMENTS}", ours, f"the model itself, {TORCH}", 0.8)
    for clients in (1, 8):
        _bar(report, rounds, f"{clients} x {DOCUMENTS}", ours, "infinity-emb, torch", 1.0)


def _bar(report: Report, rounds: Rounds, load: str, ours: str, other: str, limit: float) -> None:
    ratio = _ratio(rounds, load, ours, other)
    if ratio is not None:
        report.bars.append(Bar(f"{load}: {ours} / {other}", ratio, ">=", limit))


def _work_bar(report: Report, rounds: Rounds, load: str, ours: str, other: str) -> None:
    """Processor time a text, ours by the other's; on a GPU it says little."""
    pairs = zip(rounds[ours, load], rounds[other, load], strict=True)
    ratio = statistics.median(first.work / second.work for first, second in pairs)
    report.bars.append(Bar(f"{load}: processor time, {ours} / {other}", ratio, "<=", 1.0))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.sidecar", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--long", action="store_true", help="more rounds, longer loads, longer lists")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for fp16 on a GPU")
    parser.add_argument("--infinity", metavar="PROGRAM", help="infinity_emb of its own environment")
    given = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers are ended too
    hardware = Hardware(given.device, "float32" if given.device == "cpu" else "float16")
    program = find_infinity(given.infinity)
    return run(lambda: measure(LONG if given.long else SHORT, hardware, program), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
