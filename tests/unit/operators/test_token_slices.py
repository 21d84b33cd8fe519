"""`slice` by the tokens of a model: real tokenizers of both kinds, made here; spans in code points, nothing lost."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from idxopt.operators.interpreter import Interpreter, stored_rows
from idxopt.operators.row import Document
from idxopt.operators.slice import _tokenizer
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import EMPTY_TABLES
from tests.unit.operators.generating import generating

WORDS = ["shards", "sharding", "nodes", "index", "indices", "\u00fcber", "\u65e5\u672c\u8a9e", "\U0001f642 smiles"]
CORPUS = [" ".join(WORDS), "Every index has shards. Nodes hold them.", "unindexed re-indexed"]
EMBEDDER = {"mini": {"kind": "embedder", "id": "maker/mini"}}


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]", "[CLS]"]))
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    return made


def byte_pairs() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    return made


@pytest.fixture(scope="module", params=[wordpiece, byte_pairs], ids=["wordpiece", "byte pairs"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    request.param().save(str(file))
    return file


def program(**step: int):
    return generating({"op": "slice", "unit": "mini", **step}, models=EMBEDDER, markup="text")


def rows(text: str, file: Path, **step: int):
    interpreter = Interpreter(program(**step), "parts", EMPTY_TABLES, models=StepModels({"mini": str(file)}))
    return interpreter.rows(Document("doc", {"title": "T", "text": text}))


TEXTS = st.lists(st.sampled_from([*WORDS, ".", "\n\n", "x" * 30, "\u0627\u0644", "e\u0301"]), max_size=40).map(" ".join)


@given(TEXTS | st.text(max_size=80), st.integers(1, 7))
def test_windows_partition_the_text(tokenizer, text, window):
    made = rows(text, tokenizer, window=window)
    begin = 1 if text.startswith("\ufeff") else 0
    assert "".join(row.fields["body"] for row in made) == text[begin:]
    tokens = _tokenizer(str(tokenizer)).spans(text)
    for row in made:
        start, end = row.span
        assert text[start:end] == row.fields["body"]
        starts = {first for first, last in tokens if start <= first < end and last > first}
        assert len(starts) <= window


@given(TEXTS, st.integers(2, 6), st.data())
def test_overlap_counts_tokens_and_covers_everything(tokenizer, text, window, data):
    overlap = data.draw(st.integers(0, window - 1))
    made = rows(text, tokenizer, window=window, overlap=overlap)
    covered = {place for row in made for place in range(*row.span)}
    assert covered == set(range(len(text)))
    for before, after in itertools.pairwise(made):
        assert after.span[0] <= before.span[1]
        assert after.span[0] > before.span[0]
    assert made == rows(text, tokenizer, window=window, overlap=overlap)


def test_worker_processes_cut_the_same(tokenizer):
    documents = [Document(f"d{number}", {"title": "T", "text": " ".join(WORDS) * number}) for number in range(1, 9)]
    given_models = StepModels({"mini": str(tokenizer)})
    wanted = program(window=5, overlap=2)
    made = [
        [(document.id, [row.body for row in found["parts"]]) for document, found in one]
        for one in (
            stored_rows(wanted, ["parts"], EMPTY_TABLES, documents, models=given_models, workers=workers)
            for workers in (1, 2)
        )
    ]
    assert made[0] == made[1]
    assert len(made[0][7][1]) > 3
