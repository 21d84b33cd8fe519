"""What a model's folder says of it: the files of Hugging Face and sentence-transformers; no weights are loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from idxopt.errors import ConfigError, ModelError
from idxopt.models.settings import ModelSettings, Pooling

ONNX_FILES = ("model.onnx", "onnx/model.onnx")
_POOLING: Mapping[str, Pooling] = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
_LAST = ("lasttoken", "last")
# Positions of these families start behind the padding id, so that their tables are longer than their longest text.
_OFFSET_FAMILIES = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "longformer", "data2vec-text"}
_SAMPLE = 1 << 20
_UNBOUNDED = 10**6  # tokenizers say "no limit" with very large numbers


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """`pooling` None: the folder says nothing, or a way that only the provider sentence-transformers knows (`modules`).

    `max_tokens`: special tokens included. `width`: of the hidden states. `modules`: stages after the encoder that
    neither pool nor normalise. `prompts`: prefixes by task that the model was trained with.
    """

    path: Path
    tokenizer: Path
    pooling: Pooling | None
    max_tokens: int | None
    positions: int | None
    width: int | None
    pad_id: int = 0
    normalizes: bool = False
    architectures: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)


def read_folder(id_: str, settings: ModelSettings) -> ModelFolder:
    """Raises ConfigError where the folder or its tokenizer is not there, ModelError where a file is not readable."""
    place = f'models."{id_}"'
    assert settings.path is not None  # the settings of a local provider
    path = Path(settings.path)
    if not path.is_dir():
        raise ConfigError(
            f"there is no folder {path}", place=f"{place}.path", remedy="name the folder with the model's config.json"
        )
    config = _json(path / "config.json")
    modules = _json(path / "modules.json", default=[])
    stages = [(str(stage.get("type", "")).rsplit(".", 1)[-1], str(stage.get("path", ""))) for stage in modules]
    positions = _positions(config)
    wanted = _json(path / "sentence_bert_config.json").get("max_seq_length")
    wanted = wanted or _json(path / "tokenizer_config.json").get("model_max_length")
    limits = [int(limit) for limit in (wanted, positions) if isinstance(limit, int | float) and limit < _UNBOUNDED]
    pooling, other = _pooling(path, stages)
    tokenizer = tokenizer_file(id_, settings)
    assert tokenizer is not None  # there is a path
    return ModelFolder(
        path=path,
        tokenizer=tokenizer,
        pooling=pooling,
        max_tokens=min(limits) if limits else None,
        positions=positions,
        width=config.get("hidden_size"),
        pad_id=config.get("pad_token_id") or 0,
        normalizes=any(kind == "Normalize" for kind, _ in stages),
        architectures=tuple(config.get("architectures") or ()),
        modules=other,
        prompts=_json(path / "config_sentence_transformers.json").get("prompts") or {},
    )


def tokenizer_file(id_: str, settings: ModelSettings) -> Path | None:
    """The tokenizer.json that the settings name, or that of the model's folder; None where there is neither.

    Raises ConfigError where the one named is not there.
    """
    named = settings.tokenizer or settings.path
    if named is None:
        return None
    file = Path(named)
    if file.is_dir():
        file = file / "tokenizer.json"
    if not file.is_file():
        key = "tokenizer" if settings.tokenizer else "path"
        raise ConfigError(
            f"there is no tokenizer at {file}",
            place=f'models."{id_}".{key}',
            remedy="give `tokenizer`: a tokenizer.json, or a folder that has one",
        )
    return file


def onnx_file(id_: str, settings: ModelSettings) -> Path:
    """The ONNX file named by `file`, else `model.onnx` or `onnx/model.onnx`. Raises ConfigError."""
    assert settings.path is not None
    path = Path(settings.path)
    for name in [settings.file] if settings.file else ONNX_FILES:
        if (path / name).is_file():
            return path / name
    others = ", ".join(sorted(str(file.relative_to(path)) for file in path.rglob("*.onnx"))[:10])
    wanted = settings.file or " or ".join(ONNX_FILES)
    raise ConfigError(
        f"the folder {path} has no {wanted}",
        place=f'models."{id_}".file',
        remedy=f"name one of its files ({others})"
        if others
        else "export the model to ONNX, or use the provider sentence-transformers",
    )


def longest(spec_limit: int | None, folder: ModelFolder, place: str) -> int | None:
    """The limit in tokens that counts: the program's where it has one, else the folder's.

    Raises ConfigError where the program asks for more positions than the model has.
    """
    if spec_limit is None:
        return folder.max_tokens
    if folder.positions is not None and spec_limit > folder.positions:
        raise ConfigError(
            f"the program asks for {spec_limit} tokens, and the model reads at most {folder.positions}",
            place=place,
            remedy="lower `max_tokens` of the model in the program",
        )
    return spec_limit


def fingerprint(file: Path) -> str:
    """16 hex digits of a file's size and of its start, middle and end: other weights, other vectors in the cache."""
    size = file.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with file.open("rb") as handle:
        for start in (0, size // 2, max(0, size - _SAMPLE)):
            handle.seek(start)
            found.update(handle.read(_SAMPLE))
    return found.hexdigest()[:16]


def _positions(config: Mapping[str, Any]) -> int | None:
    found = config.get("max_position_embeddings")
    if not isinstance(found, int) or found <= 0:
        return None
    offset = (config.get("pad_token_id") or 0) + 1 if config.get("model_type") in _OFFSET_FAMILIES else 0
    return found - offset


def _pooling(path: Path, stages: list[tuple[str, str]]) -> tuple[Pooling | None, tuple[str, ...]]:
    """(pooling, stages that are neither encoder, known pooling nor normalisation). No modules at all: the mean."""
    pooling: Pooling | None = None if stages else "mean"
    other = []
    for kind, folder in stages:
        if kind == "Pooling":
            config = _json(path / folder / "config.json")
            modes = _modes(config)
            if len(modes) == 1 and modes[0] in _POOLING:
                pooling = _POOLING[modes[0]]
            elif len(modes) == 1 and modes[0] in _LAST:
                pooling = "last"
            else:
                other.append(f"Pooling ({', '.join(modes)})")
        elif kind not in ("Transformer", "Normalize"):
            other.append(kind)
    return pooling, tuple(other)


def _modes(config: Mapping[str, Any]) -> list[str]:
    """Old files have one truth value a mode, newer ones the mode's name."""
    named = config.get("pooling_mode")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list | tuple):
        return [str(mode) for mode in named]
    prefix = "pooling_mode_"
    return [key.removeprefix(prefix) for key, value in config.items() if key.startswith(prefix) and value is True]


def _json(file: Path, default: Any = None) -> Any:
    """A JSON file's value; `default` ({} where left out) when there is no such file. Raises ModelError."""
    empty = {} if default is None else default
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return empty
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, type(error).__name__) from error
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _unreadable(file, "no JSON") from error
    if not isinstance(value, type(empty)):
        raise _unreadable(file, "another kind of JSON value than expected")
    return cast(Any, value)


def _unreadable(file: Path, why: str) -> ModelError:
    return ModelError(
        f"the model's file cannot be read ({why})", place=str(file), remedy="copy the model's folder anew"
    )
