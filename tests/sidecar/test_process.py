"""`idxopt serve models` as a process, all-MiniLM-L6-v2 by ONNX Runtime: vectors, truncation, draining, mistakes."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai
import pytest
import requests

from idxopt.models.opening import Models
from tests.models_support import MINILM_ID, minilm_settings, minilm_spec, minilm_toml
from tests.sidecar.serving import process

SENTENCES = [
    "How do I rotate an API key?",
    "Keys are rotated on the page Security.",
    "A cat sat on the mat.",
    "größe 猫 🐱",
    "word " * 90,
    "x",
]
LONG = "the quick brown fox jumps over the lazy dog " * 60
MAXSIM = f"maxsim:{MINILM_ID}"


def vectors(response):
    assert response.status_code == 200, response.text
    return np.asarray([item["embedding"] for item in response.json()["data"]], np.float32)


def cosines(one, other):
    return np.sum(one * other, axis=-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)


@pytest.fixture(scope="module")
def toml(minilm, tmp_path_factory):
    file = tmp_path_factory.mktemp("sidecar") / "idxopt.toml"
    file.write_text(minilm_toml() + f'[sidecar]\nrerankers = ["{MAXSIM}"]\nbatch_tokens = 512\n')
    return file


@pytest.fixture(scope="module")
def server(toml):
    with process(toml) as (running, _):
        yield running


def test_vectors_are_those_of_the_model(server):
    with Models({"minilm": minilm_spec()}, minilm_settings(), cache=None, secret=lambda _: "") as models:
        direct = models.embedder("minilm").embed(SENTENCES, "passage").vectors
    served = vectors(server.embed(SENTENCES, MINILM_ID))
    assert served.shape == (6, 384)
    assert cosines(served, direct).min() >= 0.99999
    assert np.linalg.norm(served, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_vector_does_not_depend_on_its_batch_mates_or_its_encoding(server):
    together = vectors(server.embed([*SENTENCES, LONG], MINILM_ID))
    for text, vector in zip(SENTENCES, together, strict=False):
        assert cosines(vectors(server.embed(text, MINILM_ID))[0], vector) >= 0.99999
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    decoded = [item.embedding for item in client.embeddings.create(model=MINILM_ID, input=[*SENTENCES, LONG]).data]
    assert cosines(np.asarray(decoded, np.float32), together).min() >= 0.99999


def test_h21_a_long_text_is_cut_the_same_alone_and_in_lists(server):
    alone, listed, beside = (server.embed(texts, MINILM_ID) for texts in (LONG, [LONG], ["short", LONG]))
    assert [answer.json()["truncated"] for answer in (alone, listed, beside)] == [[0], [0], [1]]
    assert [answer.json()["usage"]["prompt_tokens"] for answer in (alone, listed, beside)] == [256, 256, 256 + 3]
    first = vectors(alone)[0]
    assert cosines(vectors(listed)[0], first) >= 0.9999
    assert cosines(vectors(beside)[1], first) >= 0.9999
    assert cosines(vectors(server.embed(LONG[:40], MINILM_ID))[0], first) < 0.99


def test_reranking_by_maxsim_finds_the_answer(server):
    body = {"model": MAXSIM, "query": SENTENCES[0], "documents": SENTENCES[1:4]}
    results = server.post("/v1/rerank", body).json()["results"]
    assert results[0]["index"] == 0
    assert sorted(item["index"] for item in results) == [0, 1, 2]
    assert all(isinstance(item["relevance_score"], float) for item in results)
    assert server.post("/v2/rerank", {**body, "documents": [LONG]}).status_code == 413  # over the budget of a batch


def test_info_names_provider_device_and_dtype(server):
    found = {model["id"]: model for model in server.get("/info").json()["models"]}
    assert set(found) == {MINILM_ID, MAXSIM}
    assert found[MINILM_ID].items() >= {
        "kind": "embedder", "provider": "onnx", "device": "cpu", "dtype": "float32", "dimension": 384, "max_tokens": 256
    }.items()  # fmt: skip


def test_clients_at_once_get_their_own_vectors(server):
    texts = [f"sentence number {number} " + "with words " * (number % 7) for number in range(64)]
    together = vectors(server.embed(texts, MINILM_ID))
    with ThreadPoolExecutor(16) as pool:
        single = list(pool.map(lambda text: vectors(server.embed(text, MINILM_ID))[0], texts))
    assert cosines(np.stack(single), together).min() >= 0.99999


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_requests_finish_and_takes_no_more(toml, number):
    with process(toml, "--model", MINILM_ID) as (server, child), ThreadPoolExecutor(4) as pool:
        running = [
            pool.submit(server.embed, [f"{LONG} {part} {item}" for item in range(6)], MINILM_ID) for part in "ab"
        ]
        metrics = "idxopt_sidecar_queue_texts"
        deadline = time.monotonic() + 20
        while not any(
            line.startswith(metrics) and float(line.split()[-1]) > 0
            for line in server.get("/metrics").text.splitlines()
        ):
            assert time.monotonic() < deadline
        child.send_signal(number)
        refused = False
        while not refused and child.poll() is None:
            try:
                requests.get(f"{server.url}/health", timeout=2)
                time.sleep(0.05)
            except requests.ConnectionError:
                refused = True
        assert refused or child.poll() is not None
        assert [vectors(one.result()).shape for one in running] == [(6, 384)] * 2
        assert child.wait(20) == 0


def serve(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "idxopt", "serve", "models", *arguments], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("", [], "there is no model to serve"),
        ('[sidecar]\ntoken = "hunter2"\n', [], "sidecar.token: is not a secret reference"),
        ("[sidecar]\nqueue = 5\n", [], "queue must be at least max_texts"),
        ("[sidecar]\nwait = 5\n", [], "did you mean wait_ms?"),
        ("MODEL", ["--model", "other"], 'there is no [models."other"]'),
        ("MODEL[sidecar]\nbatch_tokens = 100\n", [], "set it to 256 or more"),
        ('MODEL[sidecar]\ntoken = "env:IDXOPT_NOT_SET_ANYWHERE"\n', [], "IDXOPT_NOT_SET_ANYWHERE is not set"),
        ("MODEL", ["--host", "192.0.2.1"], "cannot listen there"),
        ('[models.x]\nprovider = "http"\nurl = "http://127.0.0.1:9"\n', ["--model", "x"], "is of another server"),
        ('[models.x]\nprovider = "onnx"\npath = "nowhere"\n', [], "nowhere"),
    ],
)
def test_mistakes_of_the_configuration_are_told_before_anything_listens(minilm, tmp_path, text, arguments, told):
    file = tmp_path / "idxopt.toml"
    file.write_text(text.replace("MODEL", minilm_toml()))
    done = serve("--config", str(file), "--port", "0", *arguments)
    assert done.returncode in (1, 64), done.stderr
    assert told in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "remedy: " in done.stderr
    assert done.stdout == ""


def test_it_warns_when_others_may_reach_it_without_a_token(toml, server):
    assert not any("warning" in line for line in server.told)
    with process(toml, "--host", "0.0.0.0", "--model", MINILM_ID) as (reachable, child):
        assert any(line.startswith("warning: anybody who reaches 0.0.0.0") for line in reachable.told)
        child.terminate()
        assert child.wait(20) == 0
