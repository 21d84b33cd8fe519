"""What every embedder does, with real weights: known cosines, order, batch mates, cutting, what it counts."""

import random
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from idxopt.models.ports import Embedder
from tests.contract.providers import EMBEDDERS, LIMIT, embedder

FIRST = ["The cat sits outside", "A man is playing guitar", "The new movie is awesome"]
SECOND = ["The dog plays in the garden", "A woman watches TV", "The new movie is so great"]
PUBLISHED = [0.2838, -0.0327, 0.8939]  # documentation of sentence-transformers, all-MiniLM-L6-v2
QUANTISED = 0.06  # how far int8 weights and activations may move a cosine
LONG = " ".join(f"word{number} of a text that goes on" for number in range(120))
COUNTS = ("onnx", "onnx-int8", "onnx-dynamic", "sentence-transformers", "http")


@pytest.fixture(scope="module", params=EMBEDDERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str, request: pytest.FixtureRequest) -> Iterator[Embedder]:
    with embedder(name, request.getfixturevalue) as found:
        yield found


def cosines(a, b):
    return np.sum(a * b, axis=1)


def test_cosines_are_the_published_ones(model, name):
    found = cosines(model.embed(FIRST, "query").vectors, model.embed(SECOND, "passage").vectors)
    tolerance = 5e-5 if "int8" not in name and "dynamic" not in name else QUANTISED
    assert found == pytest.approx(PUBLISHED, abs=tolerance)


def test_vectors_are_float32_of_length_1(model):
    found = model.embed([*FIRST, LONG, ""], "passage").vectors
    assert (found.dtype, found.shape, found.flags.c_contiguous) == (np.float32, (5, 384), True)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert model.dimension == 384


def test_no_text_at_all_is_no_vector(model):
    assert model.embed([], "passage").vectors.shape == (0, 384)


def test_order_survives_sorting_by_length(model):
    """H23."""
    texts = [f"text {number} " + "and more " * (number * 7 % 40) for number in range(60)]
    random.Random(3).shuffle(texts)
    together = model.embed(texts, "passage").vectors
    places = random.Random(4).sample(range(60), 12)
    alone = np.concatenate([model.embed([texts[place]], "passage").vectors for place in places])
    assert cosines(alone, together[places]).min() >= 0.99999
    assert len(together) == 60


def test_a_vector_does_not_depend_on_its_batch_mates(model):
    alone = model.embed([FIRST[0]], "passage").vectors
    for mates in ([LONG], ["x"], [LONG, "", "😀" * 30, FIRST[1]], ["1e30 " * 50]):
        among = model.embed([FIRST[0], *mates], "passage").vectors
        assert cosines(alone, among[:1])[0] >= 0.99999
        last = model.embed([*mates, FIRST[0]], "passage").vectors
        assert cosines(alone, last[-1:])[0] >= 0.99999


def test_a_long_text_is_cut_alike_alone_and_in_a_list(model, name):
    """H21."""
    alone = model.embed([LONG], "passage")
    beside = model.embed(["short", LONG], "passage")
    first = model.embed([LONG, "short"], "passage")
    assert cosines(alone.vectors, beside.vectors[1:])[0] >= 0.9999
    assert cosines(alone.vectors, first.vectors[:1])[0] >= 0.9999
    if name in COUNTS:
        assert (alone.truncated, beside.truncated, first.truncated) == ((0,), (1,), (0,))
        assert (alone.tokens, beside.tokens) == ((LIMIT,), (3, LIMIT))
    other = model.embed([LONG + " and a different end"], "passage")
    assert cosines(alone.vectors, other.vectors)[0] >= 0.9999


def test_tokens_are_counted_with_special_ones(model, name):
    found = model.embed(["The cat sits outside", ""], "passage")
    assert found.tokens == ((6, 2) if name in COUNTS else None)
    assert found.truncated == ()


def test_text_that_no_encoding_has_is_embedded(model):
    found = model.embed(
        ["half of a pair: \ud83d", "nul \x00 and bell \x07", "\u202eRTL\u202c עברית", "日本語"], "passage"
    )
    assert np.isfinite(found.vectors).all()


def test_progress_ends_at_all(model):
    said: list[tuple[int, int]] = []
    model.embed([f"text {number} " + "x " * number for number in range(40)], "passage", on_progress=_into(said))
    assert said[-1] == (40, 40)
    assert said == sorted(said)


def test_threads_share_one_embedder(model):
    expected = model.embed(FIRST, "passage").vectors
    found: list[float] = []

    def work() -> None:
        found.extend(cosines(model.embed([*FIRST, LONG], "passage").vectors[:3], expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert min(found) >= 0.99999


def _into(said: list[tuple[int, int]]):
    return lambda done, count: said.append((done, count))
