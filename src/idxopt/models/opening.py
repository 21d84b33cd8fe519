"""From a program's models and the settings to objects that work: opened on demand, kept open, one for all threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from idxopt.errors import ConfigError
from idxopt.models.checks import CheckedEmbedder, CheckedReranker
from idxopt.models.configured import check_model, no_settings, no_token_vectors, no_tokenizer
from idxopt.models.identity import identity_of, maxsim_of, spec_of
from idxopt.models.ports import Embedder, Generator, ModelIdentity, Reranker, TokenEmbedder, Tokenizer
from idxopt.models.settings import ModelSettings
from idxopt.program.model_checks import EXTRACTIVE, MAXSIM
from idxopt.program.schema import ModelSpec

if TYPE_CHECKING:
    from idxopt.models.cache import VectorCache

Given: TypeAlias = Embedder | Reranker | Generator
Secret: TypeAlias = Callable[[str], str]


class Models:
    """The models of one program. Thread-safe; `close` frees weights, connections and the cache.

    `cache`: folder of the vectors on disk (None: none are kept). `secret`: reads a reference. `given`: objects made in
    Python, by the program's name of the model.
    """

    def __init__(
        self,
        specs: Mapping[str, ModelSpec],
        settings: Mapping[str, ModelSettings],
        *,
        cache: Path | None,
        secret: Secret,
        given: Mapping[str, Given] | None = None,
    ) -> None:
        self._specs = dict(specs)
        self._settings = dict(settings)
        self._folder = cache
        self._secret = secret
        self._given = dict(given or {})
        self._lock = threading.RLock()
        self._raw: dict[str, Any] = {}
        self._ready: dict[str, Any] = {}
        self._cache: VectorCache | None = None

    def embedder(self, name: str) -> Embedder:
        """Checked and, with a cache folder, remembered on disk. Raises ConfigError and ModelError."""
        return cast(Embedder, self._once(name, "embedder", self._embedder))

    def reranker(self, name: str) -> Reranker:
        """Raises ConfigError and ModelError."""
        return cast(Reranker, self._once(name, "reranker", self._reranker))

    def generator(self, name: str) -> Generator:
        """Raises ConfigError and ModelError."""
        return cast(Generator, self._once(name, "generator", self._open))

    def tokenizer(self, name: str) -> Tokenizer:
        """Raises ConfigError where no tokenizer file is known."""
        from idxopt.models.tokens import FileTokenizer

        file = self.tokenizer_file(name)
        if file is None:
            raise no_tokenizer(self._spec(name).id)
        with self._lock:
            key = f"tokenizer {file}"
            if key not in self._ready:
                self._ready[key] = FileTokenizer(file)
            return cast(Tokenizer, self._ready[key])

    def tokenizer_file(self, name: str) -> Path | None:
        """The tokenizer.json of a model; None where the settings name none. Raises ConfigError for a wrong path."""
        from idxopt.models.folder import tokenizer_file

        spec = self._spec(name)
        if spec.id.startswith(MAXSIM):
            return self.tokenizer_file(maxsim_of(spec, self._specs))
        settings = self._settings.get(spec.id)
        return tokenizer_file(spec.id, settings) if settings else None

    def identity(self, name: str) -> ModelIdentity:
        """What the model is, without loading it."""
        spec = self._spec(name)
        if name in self._given:
            return self._given[name].identity
        if spec.id == EXTRACTIVE:
            return self.generator(name).identity
        return identity_of(name, self._specs, self._settings)

    def check(self, name: str) -> None:
        """Whether the model can be opened, as far as that is known without its weights and without a network. An
        object made in Python can. Raises ConfigError and ModelError.
        """
        spec = self._spec(name)
        if name in self._given:
            return
        if spec.id.startswith(MAXSIM) and (over := maxsim_of(spec, self._specs)) in self._given:
            if not hasattr(self._given[over], "token_vectors"):
                raise no_token_vectors(over, self._spec(over).id)
            return
        check_model(name, self._specs, self._settings, self._secret)

    def currency(self, name: str) -> str:
        """What the prices of a model are in; empty for one without settings."""
        settings = self._settings.get(self._spec(name).id)
        return settings.currency if settings is not None else ""

    @contextmanager
    def for_specs(self, specs: Mapping[str, ModelSpec]) -> Iterator[Models]:
        """The models of another build of the program, which may name others: these where they are the same, else new
        ones, closed at the end.
        """
        if dict(specs) == self._specs:
            yield self
            return
        same = {name: one for name, one in self._given.items() if specs.get(name) == self._specs.get(name)}
        with Models(specs, self._settings, cache=self._folder, secret=self._secret, given=same) as others:
            yield others

    def close(self) -> None:
        """Closes what was opened; what was given stays open, it is its owner's."""
        with self._lock:
            opened = [self._cache, *self._raw.values()]
            self._cache = None
            self._raw.clear()
            self._ready.clear()
        for one in opened:
            close = getattr(one, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _spec(self, name: str) -> ModelSpec:
        return spec_of(name, self._specs)

    def _once(self, name: str, kind: str, opened: Callable[[str], Any]) -> Any:
        spec = self._spec(name)
        if spec.kind != kind:
            raise ConfigError(
                f'the kind of the model "{name}" is {spec.kind}, not {kind}',
                place="models",
                remedy=f"name a model of the kind {kind}",
            )
        with self._lock:
            if name not in self._ready:
                self._ready[name] = opened(name)
            return self._ready[name]

    def _embedder(self, name: str) -> Embedder:
        spec = self._spec(name)
        inner = self._open(name)
        checked = CheckedEmbedder(
            inner, dimension=spec.dimension, similarity=spec.similarity or "cosine", place=f'models."{spec.id}"'
        )
        if self._folder is None:
            return checked
        from idxopt.models.cache import CachedEmbedder, VectorCache

        if self._cache is None:
            self._cache = VectorCache(self._folder)
        return CachedEmbedder(checked, self._cache, variant=getattr(inner, "variant", ""))

    def _reranker(self, name: str) -> Reranker:
        spec = self._spec(name)
        if spec.id.startswith(MAXSIM) and name not in self._given:
            return self._maxsim(name, maxsim_of(spec, self._specs))
        return CheckedReranker(self._open(name), place=f'models."{spec.id}"')

    def _maxsim(self, name: str, over: str) -> Reranker:
        from idxopt.models.maxsim import MaxSim

        embedder = self._open(over)
        if not hasattr(embedder, "token_vectors"):
            raise no_token_vectors(over, self._spec(over).id)
        prefix = self._spec(over).passage_prefix
        maxsim = MaxSim(cast(TokenEmbedder, embedder), self.identity(name), self.tokenizer(over), passage_prefix=prefix)
        return CheckedReranker(maxsim, place="models")

    def _open(self, name: str) -> Any:
        """The provider's own object, unwrapped."""
        if name in self._given:
            return self._given[name]
        with self._lock:
            if name not in self._raw:
                self._raw[name] = open_model(
                    self._spec(name), self._settings, self._secret, identity_of(name, self._specs, self._settings)
                )
            return self._raw[name]


def open_model(
    spec: ModelSpec, settings: Mapping[str, ModelSettings], secret: Secret, identity: ModelIdentity
) -> Given:
    """A provider's object for one model. Providers are imported here on demand: most commands need none.

    Raises ConfigError without settings, or when a package is missing; ModelError when the files are not usable.
    """
    if spec.id == EXTRACTIVE:
        from idxopt.models.extractive import Extractive

        return Extractive()
    chosen = settings.get(spec.id)
    if chosen is None:
        raise no_settings(spec.id)
    match chosen.provider:
        case "onnx":
            from idxopt.models.onnx import open_onnx

            return open_onnx(spec, chosen, identity)
        case "sentence-transformers":
            from idxopt.models.sentence_transformers import open_sentence_transformers

            return open_sentence_transformers(spec, chosen, identity)
        case "http":
            from idxopt.models.http.opening import open_http

            return open_http(spec, chosen, secret)
