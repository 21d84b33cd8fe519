"""The ONNX graph against the same tensors in plain numpy."""

import json

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from scipy.special import erf, softmax


def normalised(x, w, name, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return centred / scale * w[f"{name}.weight"] + w[f"{name}.bias"]


def hidden_states(w, config, ids, mask):
    """Devlin et al. 2018, in float64."""
    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    batch, length = ids.shape

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def by_head(x):
        return x.reshape(batch, length, heads, width // heads).swapaxes(1, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = normalised(x + w["embeddings.position_embeddings.weight"][:length], w, "embeddings.LayerNorm", epsilon)
    away = np.where(mask[:, None, None, :] == 1, 0.0, -np.inf)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (by_head(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        weights = softmax(query @ key.swapaxes(2, 3) / np.sqrt(width / heads) + away, axis=-1)
        mixed = (weights @ value).swapaxes(1, 2).reshape(batch, length, width)
        attended = linear(mixed, f"{layer}.attention.output.dense")
        x = normalised(x + attended, w, f"{layer}.attention.output.LayerNorm", epsilon)
        wide = linear(x, f"{layer}.intermediate.dense")
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        x = normalised(x + linear(wide, f"{layer}.output.dense"), w, f"{layer}.output.LayerNorm", epsilon)
    return x


@pytest.fixture(scope="module")
def batch():
    """Three texts of 2, 17 and 60 tokens."""
    ids = np.random.default_rng(5).integers(1000, 30_000, (3, 60))
    mask = (np.arange(60) < np.array([[2], [17], [60]])).astype(np.int64)
    return ids, mask


def run(folder, ids, mask):
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return session.run(None, inputs)[0]


def tensors(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    found = load_file(folder / "model.safetensors")
    return {name.removeprefix("bert."): value.astype(np.float64) for name, value in found.items()}, config


def test_the_graph_computes_what_the_tensors_say(minilm, batch):
    weights, config = tensors(minilm)
    expected, found = hidden_states(weights, config, *batch), run(minilm, *batch)
    kept = batch[1].astype(bool)
    cosines = np.sum(expected * found, -1) / np.linalg.norm(expected, axis=-1) / np.linalg.norm(found, axis=-1)
    assert cosines[kept].min() >= 0.99999
    assert np.abs(expected - found)[kept].max() < 1e-4


def test_the_classifier_computes_what_the_tensors_say(cross_encoder, batch):
    weights, config = tensors(cross_encoder)
    first = hidden_states(weights, config, *batch)[:, 0]
    pooled = np.tanh(first @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    expected = pooled @ weights["classifier.weight"].T + weights["classifier.bias"]
    assert run(cross_encoder, *batch) == pytest.approx(expected, abs=1e-5)
