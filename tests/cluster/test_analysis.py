"""Analysis and lower case of real nodes against ours: real collections, scripts and emoji, every code point."""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from idxopt.text.analysis import analyzer
from idxopt.text.identifiers import _NEWER_CAPITALS, lowercase

COLLECTIONS = ["scifact", "cranfield", "awsdocs_small", "medquad_pages", "covidqa_docs", "chroma_chunking"]
DOCUMENTS = 300
MAX_TOKENS = 9_000  # a node answers at most 10,000 tokens a request
SCRIPTS = [
    "it's Bob\u2019s dog\uff07s 3.14 1,234.5 a:b a_b _a_ __ C# C++ node.js can't O'Neil",
    '\u05d0"\u05d1"\u05d2 \u05d0\' \u05e6\u05d4"\u05dc',
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u17d7\u1780\u17b6 \u1019\u103c\u1014\u103a\u1019\u102c",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8 \uff8a\uff9d\uff76\uff78 \u30a2_\u30a4",
    "\ud55c\uad6d\uc5b4 \u4e2d\u6587\u5b57\u7b26 \U00020000\U00020001",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0939\u093f\u0928\u094d\u0926\u0940 \u0661\u0662\u0663",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fb \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "#\ufe0f\u20e3 *\u20e3 1\ufe0f\u20e3 # \u20e3",
    "\u2139\u200d\u263a \u24c2\ufe0f \u263a\ufe0e \U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u0130stanbul I\u0131 \u039f\u0394\u039f\u03a3 \u03a3 stra\u00dfe \u1e9e \u01c5 \u10a0\u1c90",
    "a\u00adb a\u200bb a\ufeffb e\u0301 \u0301 a\u2060b \x00 \x1f",
    "a" * 256 + " " + "a" * 254 + ".b " + "_" * 300 + "a " + "\U0001d400" * 130,
]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def client(cluster_url: str) -> Iterator[OpenSearch]:
    client = OpenSearch(cluster_url, timeout=60)
    yield client
    client.close()


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts together as long as their tokens fit into one answer; one that does not fit alone is cut."""
    batch: list[str] = []
    tokens = 0
    for text in texts:
        while (count := len(analyzer("standard")(text))) > MAX_TOKENS:
            text = text[: len(text) // 2]
        if batch and tokens + count > MAX_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += count
    if batch:
        yield batch


def differences(client: OpenSearch, name: str, texts: Sequence[str]) -> tuple[int, list[tuple[list[str], list[str]]]]:
    """How many tokens were compared, and the batches whose tokens differ."""
    count, found = 0, []
    for batch in batches(texts):
        answer = client.indices.analyze(body={"analyzer": name, "text": batch})
        theirs = [token["token"] for token in answer["tokens"]]
        ours = [token for text in batch for token in analyzer(name)(text)]
        count += len(ours)
        if ours != theirs:
            found.append((ours, theirs))
    return count, found


def documents(shared: Path, collection: str) -> list[str]:
    """The first documents of a collection: id, title and text."""
    with gzip.open(shared / "datasets" / collection / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in islice(lines, DOCUMENTS)]
    return [f"{record['_id']}\n{record.get('title', '')}\n{record['text']}" for record in records]


@pytest.mark.parametrize("name", ["standard", "english"])
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_tokens_of_real_documents(client: OpenSearch, shared: Path, collection: str, name: str) -> None:
    count, found = differences(client, name, documents(shared, collection))
    assert found == []
    assert count > 10_000


@pytest.mark.parametrize("name", ["standard", "english"])
@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_tokens_of_scripts_and_emoji(client: OpenSearch, text: str, name: str) -> None:
    count, found = differences(client, name, [text])
    assert found == []
    assert count > 0


@pytest.mark.parametrize("text", ["", "Two Words", " \n\u3000", "\U0001f600"])
def test_keyword(client: OpenSearch, text: str) -> None:
    answer = client.indices.analyze(body={"analyzer": "keyword", "text": [text]})
    assert [token["token"] for token in answer["tokens"]] == analyzer("keyword")(text)


def test_every_code_point_has_the_tokens_of_the_node(client: OpenSearch) -> None:
    texts = [f"a{chr(code)}b" for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000]
    lines = [" | ".join(texts[at : at + 500]) for at in range(0, len(texts), 500)]
    _, found = differences(client, "standard", lines)
    assert found == []


def simulate(client: OpenSearch, script: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    body = {
        "pipeline": {"processors": [{"script": {"lang": "painless", "source": script}}]},
        "docs": [{"_index": "i", "_id": str(number), "_source": {"text": text}} for number, text in enumerate(texts)],
    }
    return [held["doc"]["_source"] for held in client.ingest.simulate(body=body)["docs"]]


def test_lower_case_as_one_call_of_java(client: OpenSearch) -> None:
    """The call that the docstring of `lowercase` names, over every code point that is no newer capital letter."""
    script = "ctx.lower = ctx.text.replace('\u0130', 'i').replace('\u03a3', '\u03c3').toLowerCase(Locale.ROOT)"
    known = re.sub(f"[{_NEWER_CAPITALS}\ud800-\udfff]", "", "".join(map(chr, range(1, 0x110000))))
    texts = [*SCRIPTS, *(known[at : at + 100_000] for at in range(0, len(known), 100_000))]
    for text, source in zip(texts, simulate(client, script, texts), strict=True):
        assert source["lower"] == lowercase(text)
