"""The provider http against our own sidecar, with a real model: as if the model ran here."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec
from idxopt.sidecar.served import of_embedder, of_reranker
from tests.conftest import skip_or_fail
from tests.models_support import MINILM_ID, ModelUnavailableError, minilm_folder, minilm_settings, minilm_spec
from tests.sidecar.fakes import FakeEmbedder, Words, pause
from tests.sidecar.serving import serving

KEY = "token-of-the-sidecar"
RERANKER = ModelSpec(kind="reranker", id="maxsim:minilm")
SPECS = {"minilm": minilm_spec(), "maxsim": RERANKER}
TEXTS = ["rotate an API key", "größe 猫 🐱", "bake a cake " * 400, "x", "Keys are rotated in the console. " * 20]


def there(url: str, **changes: object) -> ModelSettings:
    return ModelSettings.model_validate({"provider": "http", "url": url, "key": "env:TOKEN", "timeout_s": 60} | changes)


@pytest.fixture(scope="module")
def here() -> Iterator[Models]:
    missing = ""
    try:
        found = minilm_settings()
    except ModelUnavailableError as error:
        missing = str(error)
    if missing:
        skip_or_fail(missing)
    with Models(SPECS, found, cache=None, secret=str) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(here: Models) -> Iterator[str]:
    served = [
        of_embedder(MINILM_ID, here.embedder("minilm"), tokenizer=here.tokenizer("minilm")),
        of_reranker(RERANKER.id, here.reranker("maxsim"), tokenizer=here.tokenizer("maxsim")),
    ]
    with serving(served, token=KEY) as running:
        yield running.url


def test_vectors_are_those_of_the_model_run_here(here: Models, url: str) -> None:
    expected = here.embedder("minilm").embed(TEXTS, "passage")
    tokenizer = str(minilm_folder())
    with Models(SPECS, {MINILM_ID: there(url, tokenizer=tokenizer)}, cache=None, secret=lambda _: KEY) as served:
        found = served.embedder("minilm").embed(TEXTS, "passage")
        assert served.identity("minilm").key == here.identity("minilm").key
    assert np.sum(found.vectors * expected.vectors, axis=1).min() > 0.99999
    assert found.truncated == expected.truncated == (2,)
    assert found.tokens == expected.tokens
    with Models(SPECS, {MINILM_ID: there(url)}, cache=None, secret=lambda _: KEY) as blind:
        cut_there = blind.embedder("minilm").embed(TEXTS, "passage")
    assert (cut_there.tokens, cut_there.truncated) == (None, ())
    assert np.sum(cut_there.vectors * expected.vectors, axis=1).min() > 0.99999


def test_scores_are_those_of_the_reranker_run_here(here: Models, url: str) -> None:
    expected = here.reranker("maxsim").score("how to change a key", TEXTS)
    spec = ModelSpec(kind="reranker", id="served/maxsim")
    settings = {spec.id: there(url, model=RERANKER.id)}
    with Models({"r": spec}, settings, cache=None, secret=lambda _: KEY) as served:
        assert served.reranker("r").score("how to change a key", TEXTS) == pytest.approx(expected, abs=1e-5)


def test_a_full_queue_only_makes_callers_wait() -> None:
    """The sidecar answers 429 with Retry-After; nobody loses a text."""
    slow = FakeEmbedder(fault=pause(0.05))
    model = of_embedder("fake", slow, similarity="dot", tokenizer=Words())
    spec = ModelSpec(kind="embedder", id="fake", dimension=slow.dimension, similarity="dot")
    with (
        serving([model], queue=4, max_texts=4, batch_tokens=64) as running,
        Models(
            {"e": spec},
            {"fake": there(running.url, key=None, concurrency=8, retries=20, batch_tokens=16)},
            cache=None,
            secret=str,
        ) as served,
        ThreadPoolExecutor(8) as pool,
    ):
        texts = [f"{number} words of a text that fills a request alone, about sixty of them" for number in range(24)]
        found = list(pool.map(lambda text: served.embedder("e").embed([text], "query").vectors[0], texts))
        refused = running.get("/metrics").text
    assert np.array_equal(np.stack(found), slow.embed(texts, "query").vectors)
    assert 'status="429"' in refused
