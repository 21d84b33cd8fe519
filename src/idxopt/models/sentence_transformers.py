"""The provider `sentence-transformers`: torch on a CPU or GPU. The only module that imports a deep-learning framework.

Texts are tokenised and batched as for the provider onnx; only the network runs in torch. So both count, cut and order
texts alike.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Tokenization

from idxopt.errors import ConfigError, ModelError
from idxopt.models.batches import DeviceFull
from idxopt.models.configured import no_generators, no_torch
from idxopt.models.encoding import Encoder, EncodingEmbedder, EncodingReranker, check_labels
from idxopt.models.folder import ModelFolder, fingerprint, longest, read_folder
from idxopt.models.pooling import pooled, unit_rows, warn_of_prompts
from idxopt.models.ports import ModelIdentity, Vectors
from idxopt.models.settings import ModelSettings
from idxopt.models.tokens import padded, text_tokens, unbounded
from idxopt.program.schema import ModelSpec

if TYPE_CHECKING:
    import torch

_FULL = ("out of memory", "can't allocate memory", "not enough memory")
_CLASSIFIER = "ForSequenceClassification"
_UNBOUNDED = 10**6

_log = logging.getLogger(__name__)


def open_sentence_transformers(
    spec: ModelSpec, settings: ModelSettings, identity: ModelIdentity
) -> TorchEmbedder | TorchReranker:
    """An embedder or a cross-encoder from a folder, or by its name on the model hub where there is no `path`.

    Raises ConfigError (torch is not installed, no such device) and ModelError (the files are not usable).
    """
    place = f'models."{spec.id}"'
    if spec.kind == "generator":
        raise no_generators(spec.id, "sentence-transformers")
    folder = read_folder(spec.id, settings) if settings.path else None
    if folder and spec.kind == "reranker":
        _expect_classifier(folder.architectures, place)
    runtime = _Runtime(settings, spec.id, place)
    if spec.kind == "reranker":
        return TorchReranker(spec, settings, identity, folder, runtime)
    if folder:
        warn_of_prompts(spec, folder)
    return TorchEmbedder(spec, settings, identity, folder, runtime)


class _Runtime:
    """torch, the device and the number type."""

    def __init__(self, settings: ModelSettings, id_: str, place: str) -> None:
        # Read when torch is loaded. Threads that spin while they wait took ten times the time where the processors are
        # shared with the engine and other models.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import sentence_transformers
            import torch
        except ImportError as error:
            raise no_torch(id_) from error
        self.torch = torch
        self.library = sentence_transformers
        self.place = place
        self.device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = getattr(torch, settings.dtype)
        try:
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise ConfigError(
                f"torch has no device {self.device} here",
                place=f"{place}.device",
                remedy='use "cpu", or install torch for this device',
            ) from error
        if settings.threads is not None:
            torch.set_num_threads(settings.threads)

    def load(self, make: Callable[..., Any], spec: ModelSpec, settings: ModelSettings, **options: Any) -> Any:
        """The library's model in evaluation mode. Its progress bars go to the log."""
        name = settings.path or settings.model or spec.id
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                model = make(
                    name,
                    device=self.device,
                    revision=None if settings.path else spec.revision or None,
                    model_kwargs={"torch_dtype": self.dtype},
                    **options,
                )
        except Exception as error:  # anything from OSError to the library's own
            raise ModelError(
                f"the model cannot be loaded ({type(error).__name__}: {str(error)[:200]})",
                place=self.place,
                remedy="name its folder with `path`, and check that the copy is complete",
            ) from error
        _log.debug("%s", said.getvalue())
        return model.eval()

    def on_device(self, encodings: Sequence[Encoding], pad_id: int, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """The network's inputs, padded on the right."""
        arrays = zip(
            ("input_ids", "attention_mask", "token_type_ids"), padded(encodings, pad_id, np.int64), strict=True
        )
        return {name: self.torch.from_numpy(array).to(self.device) for name, array in arrays if name in names}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Without gradients; a full memory becomes DeviceFull, anything else of torch a ModelError."""
        full = False
        try:
            with self.torch.inference_mode():
                yield
        except self.torch.OutOfMemoryError:
            full = True
        except RuntimeError as error:
            if not any(sign in str(error) for sign in _FULL):
                raise ModelError(
                    f"torch failed ({str(error)[:200]})", place=self.place, remedy="check the model and the device"
                ) from error
            full = True
        if full:  # outside the handler, whose traceback holds on to the tensors
            if self.device.startswith("cuda"):
                self.torch.cuda.empty_cache()
            raise DeviceFull


class _OnTorch(Encoder):
    """A library's model, and what its network is called with."""

    def __init__(
        self,
        spec: ModelSpec,
        settings: ModelSettings,
        identity: ModelIdentity,
        folder: ModelFolder | None,
        runtime: _Runtime,
        model: Any,
    ) -> None:
        self._runtime = runtime
        self._model = model
        self._names = tuple(model.tokenizer.model_input_names)
        self._pad_id = int(model.tokenizer.pad_token_id or 0)
        limit = longest(spec.max_tokens, folder, f"{runtime.place}.max_tokens") if folder else spec.max_tokens
        own = model.max_seq_length or model.tokenizer.model_max_length
        if limit is None and own and own < _UNBOUNDED:
            limit = int(own)
        super().__init__(
            spec,
            settings,
            identity,
            _tokenization(model, runtime.place),
            limit=limit,
            place=runtime.place,
            on_cpu=runtime.device == "cpu",
        )

    @property
    def device(self) -> str:
        """As torch names it."""
        return str(self._runtime.device)


class TorchEmbedder(_OnTorch, EncodingEmbedder):
    """A TokenEmbedder over a SentenceTransformer. Its own prompts are not used, the program's prefixes are."""

    def __init__(
        self,
        spec: ModelSpec,
        settings: ModelSettings,
        identity: ModelIdentity,
        folder: ModelFolder | None,
        runtime: _Runtime,
    ) -> None:
        model = runtime.load(runtime.library.SentenceTransformer, spec, settings)
        super().__init__(spec, settings, identity, folder, runtime, model)
        self._pooling = settings.pooling
        self._normalizes = folder.normalizes if folder else False
        stages = [name for name in folder.modules if not name.startswith("Pooling")] if folder else []
        if self._pooling and stages:
            raise ConfigError(
                f"`pooling` would leave out stages of the model: {', '.join(stages)}",
                place=f"{runtime.place}.pooling",
                remedy="leave `pooling` out",
            )
        self._dimension = self._found_dimension(spec)
        self.variant = f"torch {settings.dtype} {self._pooling or ''} {_weights(folder)}"

    def _pooled(self, encodings: list[Encoding]) -> Vectors:
        if self._pooling:
            mask = np.asarray(padded(encodings, self._pad_id, np.int64)[1], dtype=bool)
            states = self._output(encodings, "token_embeddings")
            return pooled(states, mask, self._pooling, normalize=self._normalizes)
        return self._output(encodings, "sentence_embedding")

    def _tokens(self, encodings: list[Encoding]) -> list[Vectors]:
        states = self._output(encodings, "token_embeddings")
        return [unit_rows(rows[text_tokens(encoding)]) for encoding, rows in zip(encodings, states, strict=True)]

    def _output(self, encodings: Sequence[Encoding], name: str) -> Vectors:
        with self._runtime.running():
            found = self._model(self._runtime.on_device(encodings, self._pad_id, self._names))
            return np.asarray(found[name].float().cpu().numpy(), dtype=np.float32)

    def _found_dimension(self, spec: ModelSpec) -> int:
        """As the library says, or as a first text shows."""
        say = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        return int(say() or 0) or spec.dimension or self._pooled(self._encoded(["a"], "passage")).shape[1]


class TorchReranker(_OnTorch, EncodingReranker):
    """A cross-encoder with one logit."""

    def __init__(
        self,
        spec: ModelSpec,
        settings: ModelSettings,
        identity: ModelIdentity,
        folder: ModelFolder | None,
        runtime: _Runtime,
    ) -> None:
        model = runtime.load(runtime.library.CrossEncoder, spec, settings)
        super().__init__(spec, settings, identity, folder, runtime, model)
        self._network = model.model
        config = getattr(self._network, "config", None)
        if folder is None:
            _expect_classifier(tuple(getattr(config, "architectures", None) or ()), runtime.place)
        check_labels(getattr(config, "num_labels", 0), runtime.place)

    def _logits(self, encodings: list[Encoding]) -> list[float]:
        with self._runtime.running():
            found = self._network(**self._runtime.on_device(encodings, self._pad_id, self._names))
            return [float(row[0]) for row in found.logits.float().cpu().numpy()]


def _tokenization(model: Any, place: str) -> Tokenization:
    """The model's own tokenizer, as it was before it was told to cut and pad. Raises ConfigError where it is no fast
    one.
    """
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ConfigError(
            "the model has no fast tokenizer",
            place=place,
            remedy="add a tokenizer.json to its folder, or serve it by another program and use the provider http",
        )
    return unbounded(Tokenization.from_str(backend.to_str()))


def _expect_classifier(architectures: Sequence[str], place: str) -> None:
    """Anything else would be given a fresh, random head, and would score at random."""
    if not any(name.endswith(_CLASSIFIER) for name in architectures):
        raise ModelError(
            f"the model is no cross-encoder ({', '.join(architectures) or 'it names no architecture'})",
            place=place,
            remedy=f"name a model whose config.json has an architecture ...{_CLASSIFIER}",
        )


def _weights(folder: ModelFolder | None) -> str:
    """Fingerprints of the weights' files."""
    if folder is None:
        return ""
    files: list[Path] = sorted(folder.path.glob("*.safetensors")) or sorted(folder.path.glob("pytorch_model*.bin"))
    return " ".join(fingerprint(file) for file in files)
