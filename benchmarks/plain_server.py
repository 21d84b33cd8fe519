"""The peer without batching: a FastAPI handler that calls the model once a request.

Started by benchmarks.sidecar, which calls `main` in a process. `--provider onnx` runs our provider,
`sentence-transformers` the library's `encode`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.sidecar_models import Encode, encoder
from benchmarks.sidecar_servers import Hardware


class Request(BaseModel):
    """OpenAI's shape, as far as the benchmark sends it."""

    model: str
    input: str | list[str]


def application(encode: Encode) -> FastAPI:
    """The handler anybody would write first; it runs on FastAPI's threads."""
    app = FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(body: Request) -> dict[str, Any]:
        texts = [body.input] if isinstance(body.input, str) else body.input
        vectors = encode(texts)
        data = [{"index": index, "embedding": vector.tolist()} for index, vector in enumerate(vectors)]
        return {"model": body.model, "data": data}

    @app.get("/ready")
    def ready() -> dict[str, str]:
        return {"status": "ready"}

    return app


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.plain_server", description=__doc__)
    parser.add_argument("--provider", choices=["onnx", "sentence-transformers"], required=True)
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    app = application(encoder(given.provider, given.path, Hardware(given.device, given.dtype)))
    uvicorn.run(app, host="127.0.0.1", port=given.port, access_log=False, log_level="warning")
