"""Repeated corpora: whole documents, ids of their own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import collections
from benchmarks.collections import Collection, collection
from benchmarks.memory import write_corpus
from benchmarks.operators import first_documents
from idxopt.errors import SourceError


def small(folder: Path) -> Collection:
    with gzip.open(folder / "corpus.jsonl.gz", "wt") as file:
        for number in range(3):
            file.write(json.dumps({"_id": f"d{number}", "title": "t", "text": "x" * 50}) + "\n")
    return Collection("small", folder)


def test_repeats_until_it_is_large_enough(tmp_path: Path) -> None:
    written = write_corpus(tmp_path / "out.jsonl", [small(tmp_path)], 600)
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines(keepends=True)
    assert written == sum(map(len, lines))
    assert 600 <= written < 600 + len(lines[-1])
    ids = [json.loads(line)["_id"] for line in lines]
    assert ids[:4] == ["0/d0", "0/d1", "0/d2", "1/d0"]
    assert len(set(ids)) == len(ids)


def test_first_documents_stop_at_the_size(tmp_path: Path) -> None:
    assert [document.id for document in first_documents(small(tmp_path), 60)] == ["d0", "d1"]


def test_a_collection_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(collections, "FOLDER", tmp_path)
    with pytest.raises(SourceError, match="not there"):
        collection("scifact")
