"""Running a batch: halving, order, and whose fault it is (H23), without a server."""

import asyncio
import random

import pytest

from idxopt.errors import ModelError
from idxopt.sidecar.running import Failed, out_of_memory, run_apart, run_halving
from idxopt.sidecar.scheduler import BatchLimits
from idxopt.sidecar.worker import Worker
from tests.sidecar.fakes import no_memory_above, no_memory_for


def upper(fault=lambda _texts: None):
    sizes = []

    def call(texts):
        sizes.append(len(texts))
        fault(texts)
        return [text.upper() for text in texts]

    return call, sizes


def never(_size):
    raise AssertionError("nothing should be halved")


class OutOfMemoryError(RuntimeError):
    """By name like torch's."""


def wrapped(cause):
    error = ModelError("the model failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("[ONNXRuntimeError] : 6 : Failed to allocate memory for requested buffer of size 4096"), True),
        (RuntimeError("std::bad_alloc"), True),
        (wrapped(MemoryError()), True),
        (wrapped(ValueError("shape")), False),
        (RuntimeError("device-side assert"), False),
        (None, False),
    ],
)
def test_what_counts_as_out_of_memory(error, is_memory):
    assert out_of_memory(error) is is_memory


def test_h23_halves_until_it_fits_and_keeps_count_and_order():
    texts = [f"{number} " + "word " * random.Random(number).randint(0, 50) for number in range(37)]
    random.Random(7).shuffle(texts)
    call, sizes = upper(no_memory_above(5))
    halved: list[int] = []
    assert run_halving(texts, call, on_halved=halved.append) == [text.upper() for text in texts]
    assert halved
    assert min(halved) > 5
    assert max(size for size in sizes if size <= 5) == 5


def test_h23_at_size_one_the_item_is_named():
    texts = [*"abcdefghij", "monster", *"klm"]
    call, _ = upper(no_memory_for("monster"))
    with pytest.raises(ModelError, match="out of memory") as failed:
        run_halving(texts, call, on_halved=lambda _size: None)
    assert failed.value.item == 10


def test_an_item_that_the_model_names_keeps_its_place_through_halving():
    def call(texts):
        if len(texts) > 2:
            raise MemoryError
        if "bad" in texts:
            raise ModelError("text 0 is bad", item=list(texts).index("bad"))
        return texts

    with pytest.raises(ModelError) as failed:
        run_halving(["a", "b", "c", "d", "bad", "e"], call, on_halved=lambda _size: None)
    assert failed.value.item == 4


def test_another_error_is_no_reason_to_halve():
    def call(_texts):
        raise RuntimeError("device-side  assert\ntriggered")

    with pytest.raises(ModelError, match="RuntimeError: device-side assert triggered"):
        run_halving(["a", "b"], call, on_halved=never)


def test_half_the_answers_are_no_answer():
    with pytest.raises(ModelError, match="1 answers for 2 texts"):
        run_halving(["a", "b"], lambda texts: texts[:1], on_halved=never)


def test_an_owner_whose_text_fails_does_not_take_the_others_along():
    def call(texts):
        if "bad" in texts:
            raise ModelError("text 0 is bad", item=list(texts).index("bad"))
        return [text.upper() for text in texts]

    outcome = run_apart([1, 2, 1, 2, 3], ["a", "b", "c", "bad", "d"], call, on_halved=never)
    assert outcome[1] == ["A", "C"]
    assert outcome[3] == ["D"]
    assert isinstance(outcome[2], Failed)
    assert outcome[2].error.item == 1


def test_where_no_item_is_named_each_owner_is_tried_alone():
    def call(texts):
        if "bad" in texts:
            raise RuntimeError("something in here")
        return [text.upper() for text in texts]

    outcome = run_apart([1, 2, 1, 3], ["a", "bad", "c", "d"], call, on_halved=never)
    assert (outcome[1], outcome[3]) == (["A", "C"], ["D"])
    assert isinstance(outcome[2], Failed)
    assert outcome[2].error.item is None


@pytest.mark.parametrize("item", [-1, 3, 99])
def test_an_item_that_is_none_of_the_texts_blames_nobody(item):
    def broken(texts):
        if "bad" in texts:
            raise ModelError("text is bad", item=item)
        return list(texts)

    outcome = run_apart([1, 1, 2], ["a", "bad", "b"], broken, on_halved=never)
    assert outcome[2] == ["b"]
    failed = outcome[1]
    assert isinstance(failed, Failed)
    assert failed.error.item is None


class Broken:
    """An observer with a mistake: the thread of the model ends by it."""

    def batch(self, texts, tokens, seconds):
        raise RuntimeError("a mistake")

    def halved(self, texts):
        """Not told."""

    def withdrawn(self, texts):
        """Not told."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_thread_that_has_ended():
    async def ask():
        worker = Worker("m", lambda _context, texts: list(texts), BatchLimits(1, 0.0, 10), Broken())
        asked = [worker.submit(None, ["a"], [1]) for _ in range(2)]
        ends = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), timeout=10)
        assert ends[0] == ["a"]
        assert isinstance(ends[1], ModelError)
        assert not worker.alive
        with pytest.raises(ModelError):
            await asyncio.wait_for(worker.submit(None, ["a"], [1]), timeout=10)

    asyncio.run(ask())
