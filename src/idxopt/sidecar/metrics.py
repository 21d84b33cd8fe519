"""What /metrics shows, in Prometheus' form. One registry a server, so that two in one process do not meet."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered", "route", "status")
        self._seconds = self._histogram("request_seconds", "Time of a request", _SECONDS, "route")
        self._texts = self._counter("texts", "Texts that a model read", "model")
        self._tokens = self._counter("tokens", "Tokens that a model read", "model")
        self._truncated = self._counter("truncated", "Texts cut at the model's limit", "model")
        self._batch = self._histogram("batch_texts", "Texts of a batch", _TEXTS, "model")
        self._batch_seconds = self._histogram("batch_seconds", "Time of a batch", _SECONDS, "model")
        self._halved = self._counter("halved_batches", "Batches halved because memory ran out", "model")
        self._withdrawn = self._counter("withdrawn_texts", "Texts dropped because their client had gone", "model")
        self._queue = Gauge(
            "idxopt_sidecar_queue_texts", "Texts that wait for a model", ["model"], registry=self.registry
        )

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(f"idxopt_sidecar_{name}", help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str, buckets: tuple[float, ...], label: str) -> Histogram:
        return Histogram(f"idxopt_sidecar_{name}", help_, [label], buckets=buckets, registry=self.registry)

    def request(self, route: str, status: int, seconds: float) -> None:
        """One answered request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def truncated(self, model: str, texts: int) -> None:
        """Texts of one request that were cut."""
        if texts:
            self._truncated.labels(model).inc(texts)

    def queue(self, model: str, waiting: Callable[[], float]) -> None:
        """Where the length of a queue is read when somebody asks."""
        self._truncated.labels(model)
        self._queue.labels(model).set_function(waiting)

    def of_model(self, model: str) -> ModelMetrics:
        """The observer of one model's worker."""
        return ModelMetrics(
            self._texts.labels(model),
            self._tokens.labels(model),
            self._batch.labels(model),
            self._batch_seconds.labels(model),
            self._halved.labels(model),
            self._withdrawn.labels(model),
        )

    def text(self) -> bytes:
        """The page."""
        return generate_latest(self.registry)


class ModelMetrics:
    """Counters of one model; its worker's observer."""

    def __init__(
        self,
        texts: Counter,
        tokens: Counter,
        batch: Histogram,
        batch_seconds: Histogram,
        halved: Counter,
        withdrawn: Counter,
    ) -> None:
        self._texts = texts
        self._tokens = tokens
        self._batch = batch
        self._batch_seconds = batch_seconds
        self._halved = halved
        self._withdrawn = withdrawn

    def batch(self, texts: int, tokens: int, seconds: float) -> None:
        self._texts.inc(texts)
        self._tokens.inc(tokens)
        self._batch.observe(texts)
        self._batch_seconds.observe(seconds)

    def halved(self, _texts: int) -> None:
        """A batch was too much for the memory."""
        self._halved.inc()

    def withdrawn(self, texts: int) -> None:
        if texts:
            self._withdrawn.inc(texts)
