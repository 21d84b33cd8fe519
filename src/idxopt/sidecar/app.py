"""The routes. Handlers check, count tokens, queue, and wait; models run on their workers' threads."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from idxopt import __version__
from idxopt.errors import ModelError
from idxopt.sidecar.failures import Refusal, of_model, of_validation, queue_full
from idxopt.sidecar.gate import Gate
from idxopt.sidecar.metrics import Metrics
from idxopt.sidecar.scheduler import QueueFull, TooLong
from idxopt.sidecar.served import Model, Served, check_budget, served
from idxopt.sidecar.settings import SidecarSettings
from idxopt.sidecar.wire import EmbeddingsRequest, RerankRequest, embeddings_answer, rerank_answer

log = logging.getLogger(__name__)
_COUNTED_AT_ONCE = 8_192  # bytes that are tokenised on the event loop; more goes to a thread
_CLIENT_GONE = 499
_JSON = "application/json"


class Service:
    """What the handlers share. Raises ConfigError where a model does not fit the limits."""

    def __init__(self, models: Sequence[Model], settings: SidecarSettings) -> None:
        for model in models:
            check_budget(model, settings)
        self.models = models
        self.settings = settings
        self.metrics = Metrics()
        self.served: dict[str, Served] = {}

    def start(self) -> None:
        """Starts the workers."""
        for model in self.models:
            started = served(model, self.settings, self.metrics.of_model(model.id))
            self.served[model.id] = started
            self.metrics.queue(model.id, lambda worker=started.worker: worker.waiting)  # type: ignore[misc]

    def stop(self) -> None:
        """Ends the workers; what they run is finished, up to the time for draining."""
        for one in self.served.values():
            if not one.worker.stop(self.settings.drain_s):
                log.warning("the model %s was still at work when the server ended", one.model.id)

    def find(self, name: str | None, kind: Literal["embedder", "reranker"]) -> Served:
        """The model asked for; the only one of its kind where none is named. Raises Refusal."""
        fitting = [one for one in self.served.values() if one.model.kind == kind]
        if name is None and len(fitting) == 1:
            return fitting[0]
        known = ", ".join(one.model.id for one in fitting) or "none"
        if name is None:
            raise Refusal("invalid_request", f"`model` is missing: name one of {known}", "model")
        if name not in self.served:
            raise Refusal("model_not_found", f'the model "{name}" is not served here; known: {known}', "model")
        found = self.served[name]
        if found.model.kind != kind:
            what = "an embedder" if found.model.kind == "embedder" else "a reranker"
            raise Refusal("wrong_kind_of_model", f'"{name}" is {what}; known for this request: {known}', "model")
        return found

    def check_sizes(self, texts: Sequence[str], field: str) -> int:
        """The bytes of all texts. Raises Refusal (413)."""
        if len(texts) > self.settings.max_texts:
            raise Refusal(
                "too_large", f"`{field}` has {len(texts)} items, {self.settings.max_texts} are allowed", field
            )
        total = 0
        for position, text in enumerate(texts):
            size = len(text.encode())
            if size > self.settings.max_text_bytes:
                message = f"item {position} has {size:,} bytes, {self.settings.max_text_bytes:,} are allowed"
                raise Refusal("too_large", f"`{field}` {message}", f"{field}[{position}]")
            total += size
        return total

    async def run(
        self, request: Request, one: Served, context: str, texts: Sequence[str], tokens: Sequence[int], field: str
    ) -> list[Any]:
        """All answers of the model, or a Refusal; nothing is left in the queue when the client goes or time is up."""
        if self.settings.long_texts == "refuse" and one.model.max_tokens is not None:
            for position, count in enumerate(tokens):
                if count > one.model.max_tokens:
                    raise _too_long(field, position, count, one.model.max_tokens)
        try:
            return await self._within_time(request, one.worker.submit(context, texts, one.read(tokens)))
        except QueueFull as full:
            raise queue_full(full.waiting, one.worker.tokens_per_second) from None
        except TooLong as error:
            raise _too_long(field, error.position, error.tokens, one.batch_tokens) from None
        except ModelError as error:
            log.warning("%s: %s", one.model.id, error.message)
            raise of_model(error, field) from error

    async def _within_time(self, request: Request, work: Any) -> list[Any]:
        task: asyncio.Task[list[Any]] = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({task, gone}, timeout=self.settings.timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise _ClientGone
            raise Refusal("timed_out", f"no answer within {self.settings.timeout_s:g} s")
        finally:
            task.cancel()
            gone.cancel()


class _ClientGone(Exception):
    """Nobody reads the answer any more."""


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


def _too_long(field: str, position: int, tokens: int, limit: int) -> Refusal:
    return Refusal(
        "text_too_long",
        f"`{field}` item {position} has {tokens:,} tokens, {limit:,} are allowed",
        f"{field}[{position}]",
    )


async def _counted(one: Served, texts: Sequence[str], size: int, query: str | None = None) -> list[int]:
    if size <= _COUNTED_AT_ONCE:
        return one.count(texts, query)
    return await asyncio.to_thread(one.count, texts, query)


def create_app(models: Sequence[Model], settings: SidecarSettings, *, token: str | None = None) -> FastAPI:
    """The application. Workers start and end with its lifespan. `token`: the secret itself, read already."""
    service = Service(models, settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await asyncio.to_thread(service.stop)

    app = FastAPI(title="idxopt sidecar", version=__version__, lifespan=lifespan)
    app.state.service = service
    app.add_middleware(
        Gate,  # type: ignore[arg-type, unused-ignore]
        token=token,
        settings=settings,
        metrics=service.metrics,
    )
    _add_models(app, service)
    _add_states(app, service)
    _add_failures(app)
    return app


def _add_models(app: FastAPI, service: Service) -> None:
    @app.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsRequest, request: Request) -> Response:
        """Vectors of texts (OpenAI's shape)."""
        one = service.find(body.model, "embedder")
        if body.dimensions is not None and body.dimensions != one.model.dimension:
            message = f"`dimensions` must be {one.model.dimension}, vectors are not shortened: leave it out"
            raise Refusal("invalid_request", message, "dimensions")
        tokens = await _counted(one, body.input, service.check_sizes(body.input, "input"))
        vectors = await service.run(request, one, body.kind, body.input, tokens, "input")
        read = one.read(tokens)
        used = sum(
            count if vector.tokens is None else vector.tokens for vector, count in zip(vectors, read, strict=True)
        )
        service.metrics.truncated(one.model.id, sum(vector.truncated for vector in vectors))
        return Response(embeddings_answer(one.model.id, vectors, body.encoding_format, used), media_type=_JSON)

    @app.post("/v1/rerank")
    @app.post("/v2/rerank")
    async def rerank(body: RerankRequest, request: Request) -> Response:
        """Documents by their relevance to a query (Cohere's and Jina's shapes)."""
        one = service.find(body.model, "reranker")
        size = service.check_sizes(body.documents, "documents") + service.check_sizes([body.query], "query")
        tokens = await _counted(one, body.documents, size, body.query)
        scores = await service.run(request, one, body.query, body.documents, tokens, "documents")
        read = one.read(tokens)
        cut = [index for index, count in enumerate(tokens) if count > read[index]]
        service.metrics.truncated(one.model.id, len(cut))
        answer = rerank_answer(uuid.uuid4().hex, one.model.id, body, scores, sum(read), cut)
        return Response(answer, media_type=_JSON)

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        """The models served (OpenAI's shape)."""
        return {"object": "list", "data": [_listed(id_) for id_ in service.served]}

    @app.get("/v1/models/{id_:path}")
    async def model(id_: str) -> dict[str, Any]:
        """One of them."""
        if id_ not in service.served:
            raise Refusal("model_not_found", f'the model "{id_}" is not served here', "model")
        return _listed(id_)


def _listed(id_: str) -> dict[str, Any]:
    return {"id": id_, "object": "model", "created": 0, "owned_by": "idxopt"}


def _add_states(app: FastAPI, service: Service) -> None:
    @app.get("/info")
    async def info() -> dict[str, Any]:
        """Models with revision, dtype, device and limits; limits of the server."""
        limits = service.settings.model_dump(mode="json", exclude={"token", "rerankers", "similarity"})
        described = [
            {
                "id": one.model.id,
                "kind": one.model.kind,
                "revision": one.model.identity.revision,
                "dimension": one.model.dimension,
                "max_tokens": one.model.max_tokens,
                **one.model.details,
            }
            for one in service.served.values()
        ]
        return {"version": __version__, "models": described, "limits": limits}

    @app.get("/health")
    async def health() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> Response:
        """200 when every model takes work, else 503 naming those that do not."""
        idle = [id_ for id_, one in service.served.items() if not one.worker.alive]
        state = {"status": "not ready", "models": idle} if idle else {"status": "ready"}
        return Response(orjson.dumps(state), 503 if idle else 200, media_type=_JSON)

    @app.get("/metrics")
    async def metrics() -> Response:
        """Prometheus' text form."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_failures(app: FastAPI) -> None:
    def answer(refusal: Refusal) -> Response:
        return Response(refusal.body(), refusal.status, headers=refusal.headers, media_type=_JSON)

    @app.exception_handler(Refusal)
    async def refused(_request: Request, error: Exception) -> Response:
        return answer(cast(Refusal, error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: Exception) -> Response:
        errors = cast(RequestValidationError, error).errors()
        return answer(of_validation(cast(Sequence[ErrorDetails], errors)))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: Exception) -> Response:
        status = cast(HTTPException, error).status_code
        if status == 405:
            return answer(Refusal("method_not_allowed", f"{request.url.path} does not take {request.method}"))
        if status == 404:
            return answer(Refusal("not_found", f"there is no {request.url.path} here"))
        return answer(Refusal("invalid_request", "the request cannot be read"))

    @app.exception_handler(_ClientGone)
    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=_CLIENT_GONE)

    @app.exception_handler(Exception)
    async def bug(_request: Request, error: Exception) -> Response:
        return answer(Refusal("bug", f"{type(error).__name__}: this is a bug, the server's log has more"))
