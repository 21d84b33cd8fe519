"""The provider `onnx`: embedders and cross-encoders by ONNX Runtime, the light default on a CPU."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Encoding

from idxopt.errors import ConfigError, ModelError
from idxopt.models.batches import DeviceFull
from idxopt.models.configured import check_onnx_dtype, no_generators
from idxopt.models.encoding import EncodingEmbedder, EncodingReranker, check_labels
from idxopt.models.folder import ModelFolder, fingerprint, longest, onnx_file, read_folder
from idxopt.models.pooling import pooled, unit_rows, warn_of_prompts
from idxopt.models.ports import ModelIdentity, TextKind, Vectors
from idxopt.models.settings import ModelSettings, Pooling
from idxopt.models.tokens import padded, read_tokenization, text_tokens
from idxopt.program.schema import ModelSpec

_DYNAMIC = b"DynamicQuantize"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_FULL = ("bad_alloc", "Failed to allocate memory", "out of memory")


def open_onnx(spec: ModelSpec, settings: ModelSettings, identity: ModelIdentity) -> OnnxEmbedder | OnnxReranker:
    """An embedder or a reranker from a folder. Raises ConfigError and ModelError."""
    place = f'models."{spec.id}"'
    if spec.kind == "generator":
        raise no_generators(spec.id, "onnx")
    check_onnx_dtype(spec.id, settings)
    folder = read_folder(spec.id, settings)
    file = onnx_file(spec.id, settings)
    network = Network(file, settings, place, folder.pad_id)
    if spec.kind == "reranker":
        return OnnxReranker(spec, settings, identity, folder, network)
    warn_of_prompts(spec, folder)
    return OnnxEmbedder(spec, settings, identity, folder, network)


class Network:
    """One ONNX file and how it is called."""

    def __init__(self, file: Path, settings: ModelSettings, place: str, pad_id: int) -> None:
        self.place = place
        self._pad_id = pad_id
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised
        # Threads that spin while they wait take the processor from the engine's and from other models.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if settings.threads is not None:
            options.intra_op_num_threads = settings.threads
        providers = _execution(settings.device, place)
        self.on_cpu = providers == ["CPUExecutionProvider"]
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, providers=providers)
        except Exception as error:  # the runtime's exceptions have no common base of their own
            raise ModelError(
                f"ONNX Runtime cannot load {file.name} ({str(error)[:200]})",
                place=place,
                remedy="copy or export the file anew",
            ) from error
        inputs = {one.name: one for one in self._session.get_inputs()}
        unknown = sorted(inputs.keys() - set(_INPUTS))
        if unknown or "input_ids" not in inputs:
            raise ModelError(
                f"{file.name} wants the inputs {', '.join(sorted(inputs))}",
                place=place,
                remedy=f"export it with {', '.join(_INPUTS)} only",
            )
        self._inputs = list(inputs)
        self._int: Any = np.int32 if inputs["input_ids"].type == "tensor(int32)" else np.int64
        self.outputs: dict[str, list[Any]] = {str(one.name): list(one.shape) for one in self._session.get_outputs()}
        self.alone = holds(file, _DYNAMIC)
        self.variant = fingerprint(file)

    def output(self, *ranks: int) -> str:
        """The first output with that many axes. Raises ModelError."""
        for rank in ranks:
            for name, shape in self.outputs.items():
                if len(shape) == rank:
                    return name
        raise ModelError(
            f"the model's outputs are {', '.join(self.outputs)}, none of the expected form",
            place=self.place,
            remedy="export it for feature extraction (embedder) or sequence classification (reranker)",
        )

    def run(self, encodings: Sequence[Encoding], output: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """(the output, mask of the tokens that were read). Raises DeviceFull and ModelError."""
        ids, mask, types = padded(encodings, self._pad_id, self._int)
        given = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        try:
            (found,) = self._session.run([output], {name: given[name] for name in self._inputs})
        except Exception as error:
            if any(sign in str(error) for sign in _FULL):
                raise DeviceFull from error
            raise ModelError(
                f"ONNX Runtime failed ({str(error)[:200]})", place=self.place, remedy="check the model's file"
            ) from error
        return np.asarray(found), mask.astype(bool)


class OnnxEmbedder(EncodingEmbedder):
    """A TokenEmbedder. Texts of a model with dynamic quantisation run one at a time: its activations are scaled by the
    whole batch, so that batch mates would change a vector.
    """

    def __init__(
        self, spec: ModelSpec, settings: ModelSettings, identity: ModelIdentity, folder: ModelFolder, network: Network
    ) -> None:
        super().__init__(spec, settings, identity, **_encoding(spec, folder, network))
        self._network = network
        self._pooling = self._way(settings, folder)
        self._output = network.output(3, 2)
        width = network.outputs[self._output][-1]
        self._dimension = width if isinstance(width, int) else folder.width or spec.dimension or 0
        self._normalizes = folder.normalizes
        self.variant = f"onnx {network.variant} {self._pooling}"

    def token_vectors(self, texts: Sequence[str], kind: TextKind) -> list[Vectors]:
        """Raises ModelError, also for a file that gives only pooled vectors."""
        if len(self._network.outputs[self._output]) != 3:
            raise ModelError(
                "the model's file gives no vectors of single tokens",
                place=self._network.place,
                remedy="export it for feature extraction, with last_hidden_state",
            )
        return super().token_vectors(texts, kind)

    def _pooled(self, encodings: list[Encoding]) -> Vectors:
        states, mask = self._network.run(encodings, self._output)
        if states.ndim == 2:
            return states.astype(np.float32)
        return pooled(states, mask, self._pooling, normalize=self._normalizes)

    def _tokens(self, encodings: list[Encoding]) -> list[Vectors]:
        states, _ = self._network.run(encodings, self._output)
        return [unit_rows(rows[text_tokens(encoding)]) for encoding, rows in zip(encodings, states, strict=True)]

    def _way(self, settings: ModelSettings, folder: ModelFolder) -> Pooling:
        stages = [name for name in folder.modules if not (settings.pooling and name.startswith("Pooling"))]
        pooling = settings.pooling or folder.pooling
        if stages or pooling is None:
            raise ConfigError(
                f"the model has stages that the provider onnx does not run: {', '.join(stages) or 'no pooling'}",
                place=self._network.place,
                remedy="use the provider sentence-transformers",
            )
        return pooling


class OnnxReranker(EncodingReranker):
    """A cross-encoder with one logit."""

    def __init__(
        self, spec: ModelSpec, settings: ModelSettings, identity: ModelIdentity, folder: ModelFolder, network: Network
    ) -> None:
        super().__init__(spec, settings, identity, **_encoding(spec, folder, network))
        self._network = network
        self._output = network.output(2)
        labels = network.outputs[self._output][-1]
        if isinstance(labels, int):  # else a name: the file leaves it open
            check_labels(labels, network.place)

    def _logits(self, encodings: list[Encoding]) -> list[float]:
        logits, _ = self._network.run(encodings, self._output)
        return [float(row[0]) for row in logits]


def _encoding(spec: ModelSpec, folder: ModelFolder, network: Network) -> dict[str, Any]:
    """How texts are encoded for a network, as an Encoder wants to be told."""
    return {
        "tokenization": read_tokenization(folder.tokenizer),
        "limit": longest(spec.max_tokens, folder, f"{network.place}.max_tokens"),
        "place": network.place,
        "on_cpu": network.on_cpu,
        "alone": network.alone,
    }


def holds(file: Path, name: bytes) -> bool:
    """Whether a file has these bytes (an ONNX graph names its operators in plain text)."""
    with file.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(name) >= 0


def _execution(device: str | None, place: str) -> list[Any]:
    name, _, number = (device or "cpu").partition(":")
    if name == "cpu":
        return ["CPUExecutionProvider"]
    if name == "cuda" and "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), "CPUExecutionProvider"]
    raise ConfigError(
        f"this ONNX Runtime has no device {device}",
        place=f"{place}.device",
        remedy='use "cpu", or install onnxruntime-gpu for "cuda"',
    )
