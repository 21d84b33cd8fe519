"""`[models."ID"]` of idxopt.toml: read, checked, its paths from the file's folder."""

import re
from pathlib import Path

import pytest

from idxopt.config import load_config
from idxopt.config.models import open_models
from idxopt.errors import ConfigError
from idxopt.models.settings import ModelSettings
from idxopt.program.validate import program_from
from tests.models_support import MINILM_ID

SECRET = "sk-never-shown"


def written(folder: Path, text: str) -> str:
    file = folder / "idxopt.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_paths_count_from_the_file(tmp_path):
    text = '[models."org/a"]\nprovider = "onnx"\npath = "m/a"\ntokenizer = "/t"\n[models."org/b"]\nprovider = "http"\n'
    config = load_config(written(tmp_path, text + 'url = "http://localhost:1/v1"\nca = "ca.pem"\nkey = "env:K"\n'))
    a, b = config.models["org/a"], config.models["org/b"]
    assert (a.path, a.tokenizer) == (str(tmp_path / "m" / "a"), "/t")
    assert (b.ca, b.key, b.timeout_s, b.path) == (str(tmp_path / "ca.pem"), "env:K", 60.0, None)
    assert set(config.clusters) == {"local"}


@pytest.mark.parametrize(
    ("table", "place", "says", "remedy"),
    [
        ('provider = "onx"\npath = "m"', "provider", "is unknown", "'onnx'"),
        ('path = "m"', "provider", "is missing", "add it"),
        ('provider = "onnx"', "", "needs a path", "folder"),
        ('provider = "http"', "", "needs a url", "http://"),
        ('provider = "onnx"\npath = "m"\ndevise = "cpu"', "devise", "unknown key", "device"),
        ('provider = "onnx"\npath = "m"\ndtype = "int4"', "dtype", "is unknown", "float32"),
        ('provider = "onnx"\npath = "m"\nbatch_tokens = 1', "batch_tokens", "too small", "16"),
        (
            f'provider = "http"\nurl = "http://x"\nkey = "{SECRET}"',
            "key",
            "no secret reference|not a secret",
            "env:NAME",
        ),
        (f'provider = "http"\nurl = "http://me:{SECRET}@x"', "", "holds a user or password", "reference"),
    ],
)
def test_mistakes_are_named_and_secrets_are_not_repeated(tmp_path, table, place, says, remedy):
    with pytest.raises(ConfigError, match=says) as caught:
        load_config(written(tmp_path, f'[models."org/a"]\n{table}\n'))
    found = str(caught.value)
    assert found.startswith(f'{tmp_path / "idxopt.toml"}: models."org/a"{"." if place else ""}{place}: ')
    assert remedy in found
    assert SECRET not in found


def test_models_must_be_tables(tmp_path):
    with pytest.raises(ConfigError, match="must hold tables"):
        load_config(written(tmp_path, 'models = "org/a"\n'))


def test_a_program_s_models_open_with_the_cache_in_its_folder(tmp_path, minilm, monkeypatch):
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    value = {
        "schema": "idxopt/1",
        "name": "p",
        "source": {"fields": {"title": "title", "body": "text"}},
        "models": {
            "e": {"kind": "embedder", "id": MINILM_ID, "dimension": 384, "similarity": "cosine"},
            "late": {"kind": "reranker", "id": "maxsim:e"},
        },
        "views": {"content": {"dense": {"model": "e", "text": ["title"]}}},
    }
    program = program_from(value, "p.json")
    toml = f'[models."{MINILM_ID}"]\nprovider = "onnx"\npath = "{minilm}"\n'
    with open_models(program, load_config(written(tmp_path, toml))) as models:
        assert models.embedder("e").embed(["a cat"], "passage").vectors.shape == (1, 384)
        assert models.reranker("late").score("cat", ["a cat", "a dog"])[0] > 0.5
    assert (tmp_path / "cache" / "embeddings" / "vectors.sqlite3").is_file()


DOCS = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_example_of_the_documentation_is_read(tmp_path):
    example = re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL)[0]
    assert [one.provider for one in load_config(written(tmp_path, example)).models.values()] == [
        "onnx",
        "http",
        "sentence-transformers",
    ]


def test_every_key_is_documented():
    assert [name for name in ModelSettings.model_fields if f"`{name}`" not in DOCS] == []
