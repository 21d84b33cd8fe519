"""Real trouble, in processes of their own: too little memory, and kill -9 in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from idxopt.models.cache import CHUNK, CachedEmbedder, VectorCache
from tests.unit.models.stubs import StubEmbedder, vector_of

ROOT = Path(__file__).resolve().parents[3]

SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec

ONE_BATCH = 1_000_000
settings = ModelSettings(provider="onnx", path=sys.argv[1], threads=1, batch_tokens=ONE_BATCH)
models = Models({"e": ModelSpec(kind="embedder", id="e")}, {"e": settings}, cache=None, secret=lambda _: "")
embedder = models.embedder("e")
texts = [f"text {number} " + "and more words " * number for number in range(48)]
alone = embedder.embed(texts[:3], "passage").vectors
size = next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]
resource.setrlimit(resource.RLIMIT_AS, (int(size) * 1024 + 150 * 2**20, -1))
batches = []
found = embedder.embed(texts, "passage", on_progress=lambda done, _: batches.append(done))
assert len(batches) > 1, "one batch was enough: the limit does not bind"
assert found.vectors.shape == (48, 384)
assert ((alone * found.vectors[:3]).sum(axis=1) >= 0.99999).all()
"""

UNTIL_KILLED = """
import sys, time
from pathlib import Path
import numpy as np
from idxopt.models.cache import CachedEmbedder, VectorCache
from tests.unit.models.stubs import StubEmbedder

def slowly(texts, vectors):
    time.sleep(0.1)
    print(len(texts), flush=True)
    return np.stack(vectors)

texts = [f"text {number:05d}" for number in range(100_000)]
CachedEmbedder(StubEmbedder(spoil=slowly), VectorCache(Path(sys.argv[1]))).embed(texts, "passage")
"""


def started(code: str, argument: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(argument)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the size of a process is read from /proc")
def test_a_batch_that_does_not_fit_into_memory_is_halved(minilm):
    """H23, by a limit on the process's memory."""
    process = started(SHORT_OF_MEMORY, minilm)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said


def test_a_killed_load_is_resumed_with_the_same_bits(tmp_path):
    process = started(UNTIL_KILLED, tmp_path)
    assert process.stdout is not None
    for _ in range(4):
        process.stdout.readline()
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    stub = StubEmbedder()
    texts = [f"text {number:05d}" for number in range(6 * CHUNK)]
    found = CachedEmbedder(stub, VectorCache(tmp_path)).embed(texts, "passage")
    assert stub.asked == texts[len(texts) - len(stub.asked) :]
    assert CHUNK <= len(stub.asked) <= 3 * CHUNK
    assert [row.tobytes() for row in found.vectors] == [vector_of(text).tobytes() for text in texts]
