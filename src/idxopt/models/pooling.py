"""From the states of tokens to one vector a text."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from idxopt.models.folder import ModelFolder
from idxopt.models.ports import Vectors
from idxopt.models.settings import Pooling
from idxopt.program.schema import ModelSpec

_TINY = np.float32(np.finfo(np.float32).tiny)
_log = logging.getLogger(__name__)


def pooled(states: npt.NDArray[Any], mask: npt.NDArray[np.bool_], way: Pooling, *, normalize: bool = False) -> Vectors:
    """(texts, tokens, width) and (texts, tokens) to (texts, width); padding on the right has no part in it."""
    lengths = mask.sum(axis=1)
    if way == "cls":
        vectors = states[:, 0]
    elif way == "last":
        vectors = states[np.arange(len(states)), np.maximum(lengths, 1) - 1]
    else:
        vectors = np.where(mask[..., None], states, 0).sum(axis=1, dtype=np.float32) / np.maximum(lengths, 1)[:, None]
    return unit_rows(vectors) if normalize else vectors.astype(np.float32)


def unit_rows(vectors: npt.NDArray[Any]) -> Vectors:
    """Each row of length 1; a row of zeros stays one."""
    rows: Vectors = vectors.astype(np.float32)
    lengths: Vectors = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, _TINY)).astype(np.float32, copy=False)


def warn_of_prompts(spec: ModelSpec, folder: ModelFolder) -> None:
    """The program's prefixes decide, for they are in a view's hash; a folder with others is worth a line of the log."""
    known = {prompt for prompt in folder.prompts.values() if prompt}
    if known and not spec.query_prefix and not spec.passage_prefix:
        _log.warning(
            '"%s" was trained with prefixes (%s), and the program sets none (query_prefix, passage_prefix)',
            spec.id,
            ", ".join(f'{task}: "{prompt}"' for task, prompt in sorted(folder.prompts.items()) if prompt),
        )
