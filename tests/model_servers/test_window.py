"""Texts counted and cut here, where the tokenizer of a served model is configured; and H21 over HTTP."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing

from idxopt.errors import ConfigError
from idxopt.models.http.chat import HttpGenerator
from idxopt.models.http.embeddings import HttpEmbedder
from tests.model_servers.server import ModelServer

Make = Callable[..., HttpEmbedder]


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    """A token a character, and two around every text."""
    found = Tokenizer(WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}, unk_token="[UNK]"))
    found.pre_tokenizer = Split(Regex("."), "isolated")
    found.post_processor = TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 1), ("[SEP]", 2)])
    found.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def test_h21_a_text_is_cut_and_counted_alone_and_in_a_list(server: ModelServer, embedder: Make, tokenizer: str) -> None:
    model = embedder(tokenizer=tokenizer, max_tokens=10, passage_prefix="p:")
    alone = model.embed(["0123456789"], "passage")
    among = model.embed(["ab", "0123456789", "\U0001f600\U0001f600"], "passage")
    assert [request.body["input"] for request in server.requests] == [
        ["p:012345"],
        ["p:ab", "p:012345", "p:\U0001f600\U0001f600"],
    ]
    assert (alone.truncated, alone.tokens) == ((0,), (10,))
    assert (among.truncated, among.tokens) == ((1,), (6, 10, 6))
    assert (alone.vectors[0] == among.vectors[1]).all()


def test_without_a_limit_texts_are_only_counted(server: ModelServer, embedder: Make, tokenizer: str) -> None:
    found = embedder(tokenizer=tokenizer).embed(["x" * 5_000], "query")
    assert (found.tokens, found.truncated) == ((5_002,), ())
    assert server.requests[0].body["input"] == ["x" * 5_000]


def test_without_a_tokenizer_nothing_is_known(server: ModelServer, embedder: Make) -> None:
    found = embedder(max_tokens=10).embed(["x" * 5_000], "query")
    assert (found.tokens, found.truncated) == (None, ())
    assert server.requests[0].body["input"] == ["x" * 5_000]


def test_a_tokenizer_that_is_not_there_is_named(embedder: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no tokenizer at"):
        embedder(tokenizer=str(tmp_path / "missing"))


def test_tokens_of_a_generator(generator: Callable[..., HttpGenerator], tokenizer: str) -> None:
    text = "Sch\u00f6n \U0001f600"
    assert generator(tokenizer=tokenizer).count_tokens(text) == 7
    assert generator().count_tokens(text) == 11  # bytes: an upper estimate
    assert generator().count_tokens("\ud800") == 3
