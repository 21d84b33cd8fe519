"""The models of benchmarks.sidecar without a server around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.sidecar_servers import EMBEDDER, Hardware
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec

Encode = Callable[[Sequence[str]], Any]


def encoder(provider: str, path: Path, hardware: Hardware) -> Encode:
    """Texts to vectors in this process: our provider for ONNX, the library's own `encode` for torch."""
    if provider == "onnx":
        settings = {EMBEDDER: ModelSettings(provider="onnx", path=str(path))}
        specs = {EMBEDDER: ModelSpec(kind="embedder", id=EMBEDDER)}
        embedder = Models(specs, settings, cache=None, secret=str).embedder(EMBEDDER)
        return lambda texts: embedder.embed(texts, "passage").vectors
    import torch
    from sentence_transformers import SentenceTransformer

    options = {"torch_dtype": getattr(torch, hardware.dtype)}
    model = SentenceTransformer(str(path), device=hardware.device, model_kwargs=options)
    return lambda texts: model.encode(list(texts), show_progress_bar=False)


def cross_scorer(path: Path, hardware: Hardware) -> Encode:
    """The library's own `predict` on (query, text)."""
    import torch
    from sentence_transformers import CrossEncoder

    options = {"torch_dtype": getattr(torch, hardware.dtype)}
    model = CrossEncoder(str(path), device=hardware.device, model_kwargs=options)
    return lambda texts: model.predict([(texts[0], text) for text in texts[1:]], show_progress_bar=False)
