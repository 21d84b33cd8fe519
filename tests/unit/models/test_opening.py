"""Models: opened once and on demand, told apart by kind, every refusal with a remedy."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idxopt.errors import ConfigError, ModelError
from idxopt.models.cache import FILE_NAME
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec
from tests.unit.models.stubs import DIMENSION, StubEmbedder, vector_of

SPECS = {
    "e": ModelSpec(kind="embedder", id="org/embedder", dimension=DIMENSION, similarity="cosine", query_prefix="q: "),
    "ce": ModelSpec(kind="reranker", id="org/ce"),
    "late": ModelSpec(kind="reranker", id="maxsim:e"),
    "lost": ModelSpec(kind="reranker", id="maxsim:ce"),
    "small": ModelSpec(kind="generator", id="extractive"),
    "big": ModelSpec(kind="generator", id="org/big"),
}


def models(cache: Path | None = None, settings: dict[str, ModelSettings] | None = None, **given: Any) -> Models:
    return Models(SPECS, settings or {}, cache=cache, secret=lambda _: "", given=given)


def local(path: Path, **more: Any) -> dict[str, ModelSettings]:
    return {"org/embedder": ModelSettings(provider="onnx", path=str(path), **more)}


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, None])
def test_a_given_model_is_checked_and_nothing_of_a_bad_batch_is_kept(tmp_path, value):
    """H22."""

    def spoil(texts, vectors):
        return [
            [value] * DIMENSION if text == "text 3" else vector.tolist()
            for text, vector in zip(texts, vectors, strict=True)
        ]

    texts = [f"text {number}" for number in range(8)]
    with models(tmp_path, e=StubEmbedder(spoil=spoil)) as opened, pytest.raises(ModelError, match="text 3") as caught:
        opened.embedder("e").embed(texts, "passage")
    assert caught.value.item == 3
    good = StubEmbedder()
    with models(tmp_path, e=good) as opened:
        found = opened.embedder("e").embed(texts, "passage").vectors
    assert sorted(good.asked) == texts
    assert np.allclose(found, [vector_of(text) for text in texts])
    assert not good.closed  # its owner's


def test_half_of_the_answer_is_no_answer(tmp_path):
    half = StubEmbedder(spoil=lambda texts, vectors: np.stack(vectors[: len(texts) // 2]))
    with models(tmp_path, e=half) as opened, pytest.raises(ModelError, match="4 vectors came back for 8 texts"):
        opened.embedder("e").embed([str(number) for number in range(8)], "passage")


def test_a_model_is_opened_once(tmp_path):
    with models(tmp_path, e=StubEmbedder()) as opened:
        assert opened.embedder("e") is opened.embedder("e")
        assert (tmp_path / FILE_NAME).exists() is False
        opened.embedder("e").embed(["a"], "query")
        assert (tmp_path / FILE_NAME).exists()


def test_no_cache_folder_no_file(tmp_path):
    stub = StubEmbedder()
    with models(None, e=stub) as opened:
        opened.embedder("e").embed(["a"], "query")
        opened.embedder("e").embed(["a"], "query")
    assert stub.asked == ["a", "a"]


@pytest.mark.parametrize(
    ("ask", "says", "remedy"),
    [
        (lambda m: m.embedder("nobody"), 'no model "nobody"', "big, ce, e"),
        (lambda m: m.embedder("ce"), "is reranker, not embedder", "kind embedder"),
        (lambda m: m.generator("e"), "is embedder", "kind generator"),
        (lambda m: m.embedder("e"), 'where the model "org/embedder" runs', '[models."org/embedder"]'),
        (lambda m: m.generator("big"), 'where the model "org/big" runs', '[models."org/big"]'),
        (lambda m: m.tokenizer("e"), "tokenizer", "tokenizer ="),
        (lambda m: m.reranker("lost"), "names no embedder", "its embedders (e)"),
        (lambda m: m.identity("lost"), "names no embedder", "its embedders (e)"),
    ],
)
def test_refusals_say_what_to_do(ask, says, remedy):
    with models() as opened, pytest.raises(ConfigError) as caught:
        ask(opened)
    assert says in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_maxsim_wants_vectors_of_tokens():
    with models(e=StubEmbedder()) as opened, pytest.raises(ConfigError, match="no vectors of single tokens"):
        opened.reranker("late")


def test_identities_need_nothing_but_the_program(tmp_path):
    plain = models()
    assert plain.identity("e").details == {
        "dimension": DIMENSION,
        "similarity": "cosine",
        "query_prefix": "q: ",
    }
    elsewhere = models(settings=local(tmp_path / "nowhere", threads=3))
    assert elsewhere.identity("e").key == plain.identity("e").key
    pooled = models(settings=local(tmp_path / "nowhere", pooling="cls"))
    assert pooled.identity("e").key != plain.identity("e").key
    assert plain.identity("late").key != pooled.identity("late").key
    assert plain.identity("small").kind == "generator"
    assert models(e=StubEmbedder()).identity("e").id == "stub"


def test_a_folder_that_is_not_there(tmp_path):
    with models(settings=local(tmp_path / "nowhere")) as opened, pytest.raises(ConfigError, match="there is no folder"):
        opened.embedder("e")


def test_a_file_that_is_no_network(tmp_path, minilm):
    (tmp_path / "model.onnx").write_bytes(b"no network")
    settings = {"org/embedder": ModelSettings(provider="onnx", path=str(tmp_path), tokenizer=str(minilm))}
    with models(settings=settings) as opened, pytest.raises(ModelError, match=r"cannot load model\.onnx"):
        opened.embedder("e")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"device": "tpu"}, "no device tpu"),
        ({"dtype": "float16"}, "computes as its file says"),
        ({"file": "model_q4.onnx"}, "has no model_q4.onnx"),
        ({"tokenizer": "/nowhere"}, "no tokenizer"),
    ],
)
def test_settings_that_onnx_cannot_follow(minilm, more, says):
    with models(settings=local(minilm, **more)) as opened, pytest.raises(ConfigError, match=says):
        opened.embedder("e")


def test_a_program_that_asks_for_too_much(minilm):
    spec = ModelSpec(kind="embedder", id="org/embedder", max_tokens=513)
    with (
        Models({"e": spec}, local(minilm), cache=None, secret=lambda _: "") as opened,
        pytest.raises(ConfigError, match="513 tokens, and the model reads at most 512"),
    ):
        opened.embedder("e")


def test_a_dimension_that_is_not_the_model_s(minilm):
    with models(settings=local(minilm)) as opened, pytest.raises(ModelError, match="384 dimensions, not 8"):
        opened.embedder("e").embed(["a"], "passage")


def test_prefixes_are_read_and_counted(minilm):
    spec = ModelSpec(kind="embedder", id="org/embedder", query_prefix="query: ")
    with Models({"e": spec}, local(minilm), cache=None, secret=lambda _: "") as opened:
        embedder = opened.embedder("e")
        query, passage = embedder.embed(["a cat"], "query"), embedder.embed(["query: a cat"], "passage")
        assert (query.tokens, passage.tokens) == ((6,), (6,))
        assert query.vectors.tobytes() == passage.vectors.tobytes()
        assert query.vectors.tobytes() != embedder.embed(["a cat"], "passage").vectors.tobytes()


def test_other_weights_under_the_same_name_are_not_mixed_up(tmp_path, minilm, minilm_int8):
    spec = ModelSpec(kind="embedder", id="org/embedder")
    found = []
    for folder in (minilm, minilm_int8, minilm):
        with Models({"e": spec}, local(folder), cache=tmp_path, secret=lambda _: "") as opened:
            found.append(opened.embedder("e").embed(["a cat"], "passage").vectors.tobytes())
    assert found[0] == found[2] != found[1]


def test_a_model_without_dynamic_quantisation_is_batched_and_one_with_it_is_not(minilm, minilm_int8, minilm_dynamic):
    from idxopt.models.onnx import holds

    found = [holds(folder / "model.onnx", b"DynamicQuantize") for folder in (minilm, minilm_int8, minilm_dynamic)]
    assert found == [False, False, True]
