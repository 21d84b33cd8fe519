"""A real language model behind a real server: one document through. What it writes is not judged, only that it holds.

`IDXOPT_TEST_LLM_URL` names a server that speaks OpenAI's chat interface (llama.cpp with a small model will do); model
servers are no part of a test environment, so the test is left out where it names none, in CI too.
"""

import json
import os
from pathlib import Path

import pytest

from idxopt.text.structure import parse
from tests.e2e.generating import text_of, write_site
from tests.e2e.runner import run
from tests.e2e.test_generation import APPLY, stored

URL = os.environ.get("IDXOPT_TEST_LLM_URL")
pytestmark = pytest.mark.skipif(not URL, reason="IDXOPT_TEST_LLM_URL names no server of a language model")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    model = os.environ.get("IDXOPT_TEST_LLM_MODEL", "smollm2")
    assert URL is not None  # the test is left out otherwise
    return write_site(tmp_path, URL, documents=1, model=model, concurrency=1, timeout_s=600.0)


def test_one_document_through(site: Path) -> None:
    ran = run(*APPLY, "--yes", "--budget", "1")
    assert ran.code == 0, ran.err
    assert "generated 2 texts" in ran.out
    dense = stored(site)["d0"]["idxopt"]["dense"]
    headings = [(one.level, one.text) for one in parse(dense, "markdown").headings]
    assert headings == [(one.level, one.text) for one in parse(text_of(0), "markdown").headings]
    assert "limit = 100" in dense
    told = run("fidelity", "program.json", "--source", "docs.jsonl")
    assert told.code == 0
    assert "numbers kept" in told.out
    print(ran.out, ran.err, told.out, dense, sep="\n")
    again = json.loads(run("fidelity", "program.json", "--source", "docs.jsonl", "--json").out)
    assert again["missing_texts"] == 0
    assert sum(again["sections"].values()) == 3


def test_a_cent_is_refused_before_anything_is_sent(site: Path) -> None:
    assert URL is not None
    write_site(site, URL, documents=1, model="smollm2", price_input=100.0, price_output=100.0)
    ran = run(*APPLY, "--yes", "--budget", "0.01")
    assert ran.code == 6
    assert "budget is reached" in ran.err
    print(ran.err)
