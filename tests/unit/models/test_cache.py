"""Vectors on disk: the same bits again, whatever happened to the file or the process in between."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from idxopt.errors import ModelError
from idxopt.models.cache import CHUNK, FILE_NAME, CachedEmbedder, CachedVector, VectorCache
from tests.unit.models.stubs import DIMENSION, StubEmbedder, vector_of

TEXTS = ["one", "two", "one", "three words here", "half \ud83d", ""]


def embedder(folder: Path, stub: StubEmbedder, **options) -> CachedEmbedder:
    return CachedEmbedder(stub, VectorCache(folder), **options)


def rows(count: int, start: int = 0) -> dict[bytes, CachedVector]:
    return {
        f"{start + number:032d}".encode(): CachedVector(vector_of(str(number)), None, cut=False)
        for number in range(count)
    }


def test_a_text_is_embedded_once(tmp_path):
    stub = StubEmbedder()
    first = embedder(tmp_path, stub).embed(TEXTS, "passage")
    assert sorted(stub.asked) == sorted(set(TEXTS))
    again = embedder(tmp_path, stub).embed(TEXTS[::-1], "passage")
    assert len(stub.asked) == len(set(TEXTS))
    assert again.vectors[::-1].tobytes() == first.vectors.tobytes()
    assert [row.tobytes() for row in first.vectors] == [vector_of(text).tobytes() for text in TEXTS]


def test_counts_and_cuts_are_remembered(tmp_path):
    texts = ["a b", "word " * 20, "c", "word " * 20]
    stub = StubEmbedder()
    first = embedder(tmp_path, stub).embed(texts, "passage")
    again = embedder(tmp_path, stub).embed(texts, "passage")
    assert (first.tokens, first.truncated) == ((2, 20, 1, 20), (1, 3))
    assert (again.tokens, again.truncated) == (first.tokens, first.truncated)


def test_kind_model_and_weights_are_told_apart(tmp_path):
    stub = StubEmbedder()
    cached = embedder(tmp_path, stub)
    cached.embed(["one"], "passage")
    cached.embed(["one"], "query")
    embedder(tmp_path, stub, variant="other weights").embed(["one"], "passage")
    assert (stub.asked, stub.kinds) == (["one"] * 3, ["passage", "query", "passage"])
    other = StubEmbedder(id="other")
    embedder(tmp_path, other).embed(["one"], "passage")
    assert other.asked == ["one"]


def test_progress_counts_texts_from_the_cache_and_repeated_ones(tmp_path):
    cached = embedder(tmp_path, StubEmbedder())
    cached.embed(["text 1", "text 2"], "passage")
    said: list[tuple[int, int]] = []
    texts = [f"text {number % 700}" for number in range(2 * CHUNK)]
    cached.embed(texts, "passage", on_progress=lambda done, count: said.append((done, count)))
    assert len(said) == 2
    assert said[-1] == (2 * CHUNK, 2 * CHUNK)
    assert said == sorted(said)


def test_what_was_finished_before_an_error_is_kept(tmp_path):
    """H22: the bad batch leaves nothing behind, the ones before it stay, and the rest comes after a repair."""
    texts = [f"text {number:04d}" for number in range(3 * CHUNK)]
    bad = texts[2 * CHUNK + 5]

    def spoil(asked, vectors):
        if bad in asked:
            raise ModelError("the vector of text 5 is all zeros", item=asked.index(bad))
        return np.stack(vectors)

    stub = StubEmbedder(spoil=spoil)
    with pytest.raises(ModelError, match=f"text {2 * CHUNK + 5} is all zeros") as caught:
        embedder(tmp_path, stub).embed(texts, "passage")
    assert caught.value.item == 2 * CHUNK + 5
    good = StubEmbedder()
    found = embedder(tmp_path, good).embed(texts, "passage")
    assert good.asked == texts[2 * CHUNK :]
    assert len(found.vectors) == len(texts)


@pytest.mark.parametrize("damage", ["zeros in the middle", "cut", "no database", "a text file's version"])
def test_a_damaged_file_is_made_anew(tmp_path, damage):
    stub = StubEmbedder()
    cache = VectorCache(tmp_path)
    cache.put(rows(2000))
    first = CachedEmbedder(stub, cache).embed(TEXTS, "passage")
    cache.close()
    file = tmp_path / FILE_NAME
    data = bytearray(file.read_bytes())
    match damage:
        case "zeros in the middle":
            data[4096 : len(data) - 4096] = bytes(len(data) - 8192)
        case "cut":
            del data[len(data) // 2 :]
        case "no database":
            data[:100] = b"x" * 100
        case _:
            data[60:64] = (77).to_bytes(4, "big")  # user_version
    file.write_bytes(bytes(data))
    again = embedder(tmp_path, stub).embed(TEXTS, "passage")
    assert again.vectors.tobytes() == first.vectors.tobytes()
    third = embedder(tmp_path, stub).embed(TEXTS, "passage")
    assert third.vectors.tobytes() == first.vectors.tobytes()
    assert len(stub.asked) == 2 * len(set(TEXTS))


def test_a_row_with_turned_bits_counts_as_absent(tmp_path):
    cache = VectorCache(tmp_path)
    cache.put(rows(3))
    cache.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("update vectors set vector = zeroblob(32) where rowid = 2")
    connection.close()
    assert len(cache.get(list(rows(3)))) == 2


def test_a_vector_of_another_length_counts_as_absent(tmp_path):
    stub = StubEmbedder()
    cache = VectorCache(tmp_path)
    keys: list[bytes] = []

    class Spy(VectorCache):
        def get(self, wanted):
            keys.extend(wanted)
            return {}

    CachedEmbedder(stub, Spy(tmp_path)).embed(["one"], "passage")
    cache.put({keys[0]: CachedVector(np.ones(DIMENSION + 1, np.float32), None, cut=False)})
    found = CachedEmbedder(stub, cache).embed(["one"], "passage")
    assert found.vectors.shape == (1, DIMENSION)


def test_the_file_stays_within_its_bound(tmp_path):
    bound = 1 << 20
    cache = VectorCache(tmp_path, max_bytes=bound)
    for start in range(0, 20_000, 1000):
        cache.put(rows(1000, start))
    cache.close()
    assert (tmp_path / FILE_NAME).stat().st_size < 1.5 * bound
    assert len(cache.get(list(rows(1000, 19_000)))) == 1000
    assert len(cache.get(list(rows(1000, 0)))) == 0


def test_threads_share_a_cache(tmp_path):
    cached = embedder(tmp_path, StubEmbedder())
    failed: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 30):
                found = cached.embed([f"text {number}", f"text {number + 1}"], "passage").vectors
                assert found[0].tobytes() == vector_of(f"text {number}").tobytes()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(start * 10,)) for start in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


PROCESS = """
import sys
from pathlib import Path
from tests.unit.models.stubs import StubEmbedder, vector_of
from idxopt.models.cache import CachedEmbedder, VectorCache
cached = CachedEmbedder(StubEmbedder(), VectorCache(Path(sys.argv[1])))
for number in range(40):
    texts = [f"text {number + more}" for more in range(20)]
    found = cached.embed(texts, "passage").vectors
    assert all(row.tobytes() == vector_of(text).tobytes() for row, text in zip(found, texts))
"""


def test_processes_share_a_cache(tmp_path):
    """All of them make the file."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], said
    stub = StubEmbedder()
    embedder(tmp_path, stub).embed([f"text {number}" for number in range(59)], "passage")
    assert stub.asked == []


def test_a_cache_that_cannot_be_written_stops_indexing_and_lets_queries_pass(tmp_path):
    (tmp_path / "file").write_text("no folder")
    cached = embedder(tmp_path / "file", StubEmbedder())
    with pytest.raises(ModelError, match="cache of vectors cannot be used") as caught:
        cached.embed(["one"], "passage")
    assert "IDXOPT_CACHE_DIR" in str(caught.value)
    assert cached.embed(["one"], "query").vectors[0].tobytes() == vector_of("one").tobytes()
