"""From settings to a model behind a server. Nothing is sent before the first call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from idxopt.models.folder import tokenizer_file
from idxopt.models.http.chat import HttpGenerator
from idxopt.models.http.client import Client
from idxopt.models.http.embeddings import HttpEmbedder
from idxopt.models.http.rerank import HttpReranker
from idxopt.models.http.window import Window
from idxopt.models.identity import identity_of
from idxopt.models.ports import Embedder, Generator, Reranker
from idxopt.models.settings import ModelSettings
from idxopt.models.tokens import FileTokenizer
from idxopt.program.schema import ModelSpec

ENDPOINTS = {"embedder": "/embeddings", "reranker": "/rerank", "generator": "/chat/completions"}


def open_http(
    spec: ModelSpec, settings: ModelSettings, secret: Callable[[str], str]
) -> Embedder | Reranker | Generator:
    """A model of a program with the provider `http`. `secret` reads the reference in `key`.

    Raises ConfigError for an address, a certificate, a key or a tokenizer that cannot be used.
    """
    place = f'models."{spec.id}"'
    key = secret(settings.key) if settings.key else None
    file = tokenizer_file(spec.id, settings)
    client = Client(settings, ENDPOINTS[spec.kind], key=key, place=place)
    identity = identity_of("model", {"model": spec}, {spec.id: settings})
    model = settings.model or spec.id
    match spec.kind:
        case "embedder":
            window = Window(FileTokenizer(file), spec.max_tokens, _specials(file)) if file else None
            return HttpEmbedder(client, spec, identity, model=model, batch_tokens=settings.batch_tokens, window=window)
        case "reranker":
            return HttpReranker(client, spec, identity, model=model, batch_tokens=settings.batch_tokens)
        case "generator":
            price = (settings.price_input or 0.0, settings.price_output or 0.0)
            return HttpGenerator(
                client, identity, model=model, price=price, tokenizer=FileTokenizer(file) if file else None
            )


def _specials(file: Path) -> int:
    """Tokens that the tokenizer puts around a text."""
    import tokenizers

    count: int = tokenizers.Tokenizer.from_file(str(file)).num_special_tokens_to_add(is_pair=False)
    return count
