"""The torch path (`make test-torch`): the provider sentence-transformers against ONNX and against the library itself,
and the sidecar with it. The cross-encoder is made here: its head is random, so it shows mechanics, not quality.
"""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from idxopt.errors import ModelError
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec
from tests.conftest import skip_or_fail
from tests.models_support import MINILM_ID, minilm_settings, minilm_spec
from tests.sidecar.serving import process

pytestmark = pytest.mark.torch

QUERY = "How do I rotate an API key?"
TEXTS = [
    "Keys are rotated on the page Security.",
    "A cat sat on the mat.",
    "x",
    "größe 猫 🐱",
    "word " * 300,
    "key " * 40,
]


@pytest.fixture(scope="module", autouse=True)
def _torch():
    if importlib.util.find_spec("sentence_transformers") is None:
        skip_or_fail("sentence-transformers is not installed here; run `make test-torch`")


@pytest.fixture(scope="module")
def cross_encoder(minilm, tmp_path_factory):
    """A checkpoint as `CrossEncoder` keeps it: all-MiniLM-L6-v2 under a new head of one label."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(7)
    folder = tmp_path_factory.mktemp("cross-encoder")
    CrossEncoder(str(minilm), num_labels=1, device="cpu").save_pretrained(str(folder))
    return folder


def open_models(specs, settings):
    return Models(specs, settings, cache=None, secret=lambda _: "")


def torch_settings(folder, **more):
    return ModelSettings(provider="sentence-transformers", path=str(folder), device="cpu", **more)


def cosines(one, other):
    return np.sum(one * other, axis=-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)


def test_vectors_equal_those_of_onnx_and_of_the_library(minilm):
    from sentence_transformers import SentenceTransformer

    spec = {"minilm": minilm_spec()}
    with open_models(spec, minilm_settings()) as onnx, open_models(spec, {MINILM_ID: torch_settings(minilm)}) as torch:
        ours = torch.embedder("minilm").embed(TEXTS, "passage")
        theirs = onnx.embedder("minilm").embed(TEXTS, "passage")
    assert cosines(ours.vectors, theirs.vectors).min() >= 0.9999
    assert (ours.tokens, ours.truncated) == (theirs.tokens, theirs.truncated)
    assert ours.truncated == (4,)
    library = SentenceTransformer(str(minilm), device="cpu")
    library.max_seq_length = 256
    assert cosines(ours.vectors, library.encode(TEXTS)).min() >= 0.9999


def test_scores_equal_those_of_the_library(cross_encoder):
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    spec = {"ce": ModelSpec(kind="reranker", id="ce", max_tokens=256)}
    with open_models(spec, {"ce": torch_settings(cross_encoder)}) as models:
        together = models.reranker("ce").score(QUERY, TEXTS)
        alone = [models.reranker("ce").score(QUERY, [text])[0] for text in TEXTS]
    library = CrossEncoder(str(cross_encoder), device="cpu", max_length=256)
    direct = library.predict([(QUERY, text) for text in TEXTS], activation_fn=Identity())
    assert together == pytest.approx(direct.tolist(), abs=1e-4)
    assert together == pytest.approx(alone, abs=1e-4)
    assert len(set(together)) == len(TEXTS)


def test_an_embedder_is_not_taken_for_a_reranker(minilm):
    spec = {"ce": ModelSpec(kind="reranker", id="ce")}
    with (
        open_models(spec, {"ce": torch_settings(minilm)}) as models,
        pytest.raises(ModelError, match="no cross-encoder"),
    ):
        models.reranker("ce")


def test_bfloat16_is_close(minilm):
    spec = {"minilm": minilm_spec()}
    settings = {MINILM_ID: torch_settings(minilm, dtype="bfloat16")}
    with open_models(spec, settings) as half, open_models(spec, minilm_settings()) as onnx:
        found, exact = (models.embedder("minilm").embed(TEXTS, "passage").vectors for models in (half, onnx))
    assert found.dtype == np.float32
    assert 0.999 <= cosines(found, exact).min() < 0.9999999


def test_the_sidecar_serves_both_from_torch(minilm, cross_encoder, tmp_path: Path):
    toml = tmp_path / "idxopt.toml"
    table = 'provider = "sentence-transformers"\ndevice = "cpu"\npath = '
    toml.write_text(f'[models.embedder]\n{table}"{minilm}"\n[models.ce]\n{table}"{cross_encoder}"\n')
    with open_models({"minilm": minilm_spec()}, minilm_settings()) as onnx:
        expected = onnx.embedder("minilm").embed(TEXTS, "passage").vectors
    with process(toml, wait_s=600) as (server, child), ThreadPoolExecutor(6) as pool:
        found = {model["id"]: (model["kind"], model["device"]) for model in server.get("/info").json()["models"]}
        assert found == {"embedder": ("embedder", "cpu"), "ce": ("reranker", "cpu")}
        answers = [answer.json() for answer in pool.map(lambda text: server.embed(text, "embedder"), TEXTS)]
        vectors = np.asarray([answer["data"][0]["embedding"] for answer in answers])
        assert cosines(vectors, expected).min() >= 0.9999
        body = {"model": "ce", "query": QUERY, "documents": TEXTS}
        results = server.post("/v1/rerank", body).json()["results"]
        assert sorted(result["index"] for result in results) == list(range(len(TEXTS)))
        scores = [result["relevance_score"] for result in results]
        assert scores == sorted(scores, reverse=True)
        child.terminate()
        assert child.wait(60) == 0
