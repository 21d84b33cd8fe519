"""A BERT encoder as an ONNX graph, made from a checkpoint's tensors without any deep-learning framework.

The graph has the usual names (`input_ids`, `attention_mask`, `token_type_ids` -> `last_hidden_state`) and is laid out
as exporters lay it out, so that ONNX Runtime finds the patterns that it fuses.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

OPSET = 17
MASKED = -10_000.0  # added to the scores of masked tokens; its exp is 0 in float32

Array = npt.NDArray[Any]


class _Graph:
    """Nodes and constants, as they come."""

    def __init__(self, weights: Mapping[str, Array], prefix: str) -> None:
        self.weights = {name.removeprefix(prefix): value for name, value in weights.items()}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        self.constants.setdefault(name, value)
        return name

    def number(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, np.float32))

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name].astype(np.float32))

    def linear(self, x: str, name: str) -> str:
        """x W^T + b, as checkpoints keep W."""
        w = self.constant(f"{name}.weight^T", np.ascontiguousarray(self.weights[f"{name}.weight"].T, np.float32))
        return self.add("Add", self.add("MatMul", x, w), self.weight(f"{name}.bias"))

    def layer_norm(self, x: str, name: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, x: str) -> str:
        """The exact one, with erf."""
        erf = self.add("Erf", self.add("Div", x, self.number("sqrt2", np.sqrt(2.0))))
        return self.add(
            "Mul",
            self.add("Mul", x, self.add("Add", erf, self.number("one", 1.0))),
            self.number("half", 0.5),
        )


def _mask(g: _Graph) -> str:
    """(batch, 1, 1, sequence): 0 where a token is read, MASKED where it is padding."""
    axes1, axes2 = g.constant("axis1", np.array([1], np.int64)), g.constant("axis2", np.array([2], np.int64))
    wide = g.add("Unsqueeze", g.add("Unsqueeze", "attention_mask", axes1), axes2)
    kept = g.add("Cast", wide, to=TensorProto.FLOAT)
    away = g.add("Sub", g.number("one", 1.0), kept)
    return g.add("Mul", away, g.number("masked", MASKED))


def _embeddings(g: _Graph, epsilon: float) -> str:
    words = g.add("Gather", g.weight("embeddings.word_embeddings.weight"), "input_ids")
    types = g.add("Gather", g.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    zero, one = g.constant("from0", np.array([0], np.int64)), g.constant("axis1", np.array([1], np.int64))
    length = g.add("Slice", g.add("Shape", "input_ids"), one, g.constant("to2", np.array([2], np.int64)), zero)
    positions = g.add("Slice", g.weight("embeddings.position_embeddings.weight"), zero, length, zero)
    return g.layer_norm(g.add("Add", g.add("Add", words, types), positions), "embeddings.LayerNorm", epsilon)


def _attention(g: _Graph, x: str, mask: str, layer: str, heads: int, width: int) -> str:
    shape = g.constant("heads", np.array([0, 0, heads, width // heads], np.int64))

    def split(part: str, order: list[int]) -> str:
        return g.add("Transpose", g.add("Reshape", g.linear(x, f"{layer}.attention.self.{part}"), shape), perm=order)

    query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
    root = g.number("root", np.sqrt(width / heads))
    scores = g.add("Add", g.add("Div", g.add("MatMul", query, key), root), mask)
    mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
    joined = g.add(
        "Reshape",
        g.add("Transpose", mixed, perm=[0, 2, 1, 3]),
        g.constant("joined", np.array([0, 0, width], np.int64)),
    )
    return g.linear(joined, f"{layer}.attention.output.dense")


def bert_model(weights: Mapping[str, Array], config: Mapping[str, Any]) -> onnx.ModelProto:
    """The encoder of a `BertModel` checkpoint (exact GELU, absolute positions), in float32: last_hidden_state.

    A `BertForSequenceClassification` has its head too, and gives logits.
    """
    assert config["hidden_act"] == "gelu"
    classifier = "classifier.weight" in weights
    g = _Graph(weights, "bert.")
    x = _encoder(g, config)
    if classifier:
        first = g.add("Gather", x, g.constant("first", np.array(0, np.int64)), axis=1)
        g.linear(g.add("Tanh", g.linear(first, "pooler.dense")), "classifier")
    output, shape = ("logits", [1]) if classifier else ("last_hidden_state", ["sequence", config["hidden_size"]])
    g.nodes[-1].output[0] = output
    return _model(g, output, ["batch", *shape])


def _encoder(g: _Graph, config: Mapping[str, Any]) -> str:
    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    mask = _mask(g)
    x = _embeddings(g, epsilon)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        attended = g.add("Add", _attention(g, x, mask, layer, heads, width), x)
        x = g.layer_norm(attended, f"{layer}.attention.output.LayerNorm", epsilon)
        wide = g.gelu(g.linear(x, f"{layer}.intermediate.dense"))
        x = g.layer_norm(g.add("Add", g.linear(wide, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm", epsilon)
    return x


def _model(g: _Graph, output: str, shape: list[Any]) -> onnx.ModelProto:
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        g.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in names],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in g.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="idxopt-tests")
    model.ir_version = 8  # what every ONNX Runtime since 1.13 reads
    onnx.checker.check_model(model)
    return model


def write_onnx(folder: Path) -> None:
    """Put `model.onnx` beside the `config.json` and `model.safetensors` of a folder."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    onnx.save(bert_model(load_file(folder / "model.safetensors"), config), str(folder / "model.onnx"))


def write_cross_encoder(encoder: Path, folder: Path, *, layers: int, seed: int) -> None:
    """A cross-encoder from the first layers of an encoder's folder and a random head: it shows that scores are
    computed alike, not that they rank well. Writes config.json, model.safetensors and model.onnx.
    """
    config = json.loads((encoder / "config.json").read_text(encoding="utf-8"))
    config |= {
        "architectures": ["BertForSequenceClassification"],
        "num_hidden_layers": layers,
        "id2label": {"0": "relevance"},
        "label2id": {"relevance": 0},
    }
    weights: dict[str, Array] = {
        f"bert.{name}": value
        for name, value in load_file(encoder / "model.safetensors").items()
        if not name.startswith("encoder.") or int(name.split(".")[2]) < layers
    }
    head = np.random.default_rng(seed).normal(size=(1, config["hidden_size"])) / np.sqrt(config["hidden_size"])
    weights |= {"classifier.weight": head.astype(np.float32), "classifier.bias": np.zeros(1, np.float32)}
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    onnx.save(bert_model(weights, config), str(folder / "model.onnx"))
