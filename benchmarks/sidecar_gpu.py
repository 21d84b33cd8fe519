"""The part of benchmarks.sidecar that needs a GPU: throughput in fp16, the share of the card's peak, equal vectors."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from benchmarks.report import Bar, Figures, Report
from benchmarks.sidecar_load import pieces
from benchmarks.sidecar_servers import EMBEDDER, Hardware
from idxopt.models.opening import Models
from idxopt.models.ports import Embedded
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec

TEXTS = 20_000
COMPARED = 500
# Dense fp16 tensor-core peaks of the makers' data sheets, in TFLOP/s, by a part of the card's name.
PEAKS = {"H200": 989, "H100": 989, "A100": 312, "L40S": 362, "L4": 121, "A10": 125, "T4": 65, "V100": 125}


def gpu_figures(report: Report, path: Path, hardware: Hardware) -> None:
    """Adds a table, and the bar of equal vectors."""
    import torch

    texts = pieces(TEXTS, least=100, most=200, seed=5)
    fast, took = _embedded(path, hardware, texts)
    exact, _ = _embedded(path, Hardware(), texts[:COMPARED])
    cosines = np.sum(fast.vectors[:COMPARED] * exact.vectors, axis=1)
    name = torch.cuda.get_device_name(hardware.device)
    tokens = fast.tokens or ()
    done = sum(flops(path, count) for count in tokens)
    peak = next((value for part, value in PEAKS.items() if part in name), None)
    report.tables.append(
        Figures(
            f"{name}, {hardware.dtype}",
            [
                {
                    "texts/s": len(texts) / took,
                    "tokens/s": sum(tokens) / took,
                    "TFLOP/s": done / took / 1e12,
                    "share of peak": None if peak is None else done / took / 1e12 / peak,
                }
            ],
        )
    )
    report.bars.append(Bar("cosine of the GPU's vectors with the CPU's, least", float(cosines.min()), ">=", 0.999))


def flops(path: Path, tokens: int) -> float:
    """Multiplications and additions of one text through a BERT encoder: 2 a weight and token, and attention."""
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    hidden, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    weights = layers * (4 * hidden * hidden + 2 * hidden * inner)
    return float(2 * weights * tokens + 4 * layers * hidden * tokens * tokens)


def _embedded(path: Path, hardware: Hardware, texts: list[str]) -> tuple[Embedded, float]:
    settings = ModelSettings.model_validate(
        {
            "provider": "sentence-transformers",
            "path": str(path),
            "device": hardware.device,
            "dtype": hardware.dtype,
            "batch_tokens": 8_192 if hardware.device == "cpu" else 131_072,
        }
    )
    with Models(
        {EMBEDDER: ModelSpec(kind="embedder", id=EMBEDDER)}, {EMBEDDER: settings}, cache=None, secret=str
    ) as models:
        embedder = models.embedder(EMBEDDER)
        embedder.embed(texts[:64], "passage")
        began = time.perf_counter()
        found = embedder.embed(texts, "passage")
        return found, time.perf_counter() - began
