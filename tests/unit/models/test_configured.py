"""What is known of a model's configuration without opening it."""

import re
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from idxopt.errors import ConfigError
from idxopt.models.configured import check_model
from idxopt.models.opening import Models
from idxopt.models.ports import TextKind, Vectors
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec
from tests.unit.models.stubs import StubEmbedder

SPECS = {
    "e": ModelSpec(kind="embedder", id="org/e", dimension=3, similarity="cosine"),
    "late": ModelSpec(kind="reranker", id="maxsim:e"),
    "g": ModelSpec(kind="generator", id="org/g"),
    "x": ModelSpec(kind="generator", id="extractive"),
}
HTTP = {"provider": "http", "url": "http://127.0.0.1:9/v1"}


def check(name: str, **tables: dict[str, Any]) -> None:
    settings = {f"org/{key}": ModelSettings(**table) for key, table in tables.items()}
    check_model(name, SPECS, settings, secret)


def secret(reference: str) -> str:
    if reference == "env:SET":
        return "key"
    raise ConfigError(f"{reference} is not set", place="models", remedy="export it")


@pytest.fixture
def folder(tmp_path):
    """A folder whose weights no runtime could load: they are not looked at."""
    for name in ("config.json", "tokenizer.json", "model.onnx"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_what_can_be_opened(folder):
    onnx = {"provider": "onnx", "path": str(folder)}
    check("x")
    check("e", e=onnx)
    check("late", e=onnx)
    check("e", e={**HTTP, "key": "env:SET"})
    check("g", g=HTTP)


@pytest.mark.parametrize(
    ("name", "tables", "says", "remedy"),
    [
        ("e", {}, 'where the model "org/e" runs', r'\[models."org/e"\]'),
        ("late", {}, 'where the model "org/e" runs', r'\[models."org/e"\]'),
        ("late", {"e": HTTP}, "no vectors of single tokens", "onnx or sentence-transformers"),
        ("e", {"e": {"provider": "onnx", "path": "/nowhere/at/all"}}, "no folder", "config.json"),
        ("g", {"g": {"provider": "onnx", "path": "/nowhere/at/all"}}, "runs no generators", "http"),
        ("e", {"e": {**HTTP, "url": "ftp://x"}}, "no address", "http://"),
        ("e", {"e": {**HTTP, "ca": "/nowhere/ca.pem"}}, "CA certificate", "PEM"),
        ("e", {"e": {**HTTP, "key": "env:UNSET"}}, "not set", "export"),
        ("e", {"e": {**HTTP, "tokenizer": "/nowhere/at/all"}}, "no tokenizer", "tokenizer.json"),
    ],
)
def test_what_cannot_is_told_with_a_remedy(name, tables, says, remedy):
    with pytest.raises(ConfigError, match=says) as caught:
        check(name, **tables)
    assert re.search(remedy, caught.value.remedy or "")


def test_a_folder_without_its_weights(folder):
    (folder / "model.onnx").unlink()
    with pytest.raises(ConfigError, match=r"has no model\.onnx"):
        check("e", e={"provider": "onnx", "path": str(folder)})
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match="no folder"):
        check("e", e={"provider": "onnx", "path": str(folder)})


def test_an_object_made_in_python_needs_no_settings():
    class Tokens(StubEmbedder):
        """One with vectors of tokens."""

        def token_vectors(self, texts: Sequence[str], kind: TextKind) -> list[Vectors]:
            raise AssertionError("a check asks for no vectors")

    with Models(SPECS, {}, cache=None, secret=secret, given={"e": Tokens()}) as models:
        models.check("e")
        models.check("late")
    with Models(SPECS, {}, cache=None, secret=secret, given={"e": StubEmbedder()}) as models:
        models.check("e")
        with pytest.raises(ConfigError, match="no vectors of single tokens"):
            models.check("late")
