"""Running one batch: halved when memory runs out, item by item where one is to blame, in order, never partial.

`call` is the model: some texts in, as many answers out, in order. Nothing here knows what an answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from idxopt.errors import ModelError

Answer = TypeVar("Answer")
Call = Callable[[Sequence[str]], Sequence[Answer]]

_MEMORY_TYPES = {"OutOfMemoryError", "MemoryError"}
_MEMORY_WORDS = ("out of memory", "failed to allocate memory", "bad_alloc", "bad allocation", "can't allocate memory")


def out_of_memory(error: BaseException | None) -> bool:
    """True when an error, or one that caused it, says that memory ran out: Python's own, torch's, ONNX Runtime's."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if {kind.__name__ for kind in type(error).__mro__} & _MEMORY_TYPES:
            return True
        if any(words in str(error).lower() for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def run_halving(texts: Sequence[str], call: Call[Answer], *, on_halved: Callable[[int], None]) -> list[Answer]:
    """All answers in order. `on_halved` is told the size that was too much.

    Raises ModelError: with the item's position in `texts` where one text alone needs more memory than there is or an
    item was named by the model; every other error of the model becomes one, too.
    """
    try:
        answers = list(call(texts))
    except Exception as error:
        if not out_of_memory(error):
            raise _as_model_error(error, len(texts)) from error
        if len(texts) == 1:
            raise ModelError(
                "the model ran out of memory on this text alone",
                item=0,
                remedy="shorten it, lower the model's max_tokens, or give the model more memory",
            ) from error
        on_halved(len(texts))
    else:
        if len(answers) != len(texts):
            raise ModelError(f"the model gave {len(answers)} answers for {len(texts)} texts")
        return answers
    middle = (len(texts) + 1) // 2
    first = run_halving(texts[:middle], call, on_halved=on_halved)
    try:
        return first + run_halving(texts[middle:], call, on_halved=on_halved)
    except ModelError as error:
        if error.item is not None:
            error.item += middle
        raise


def _as_model_error(error: Exception, texts: int) -> ModelError:
    """An item that is none of the texts names nobody: the worker's thread must not end over it."""
    if isinstance(error, ModelError):
        if error.item is not None and not 0 <= error.item < texts:
            error.item = None
        return error
    return ModelError(f"the model failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


@dataclass(frozen=True, slots=True)
class Failed:
    """Why one owner gets no answer."""

    error: ModelError


def run_apart(
    owners: Sequence[int], texts: Sequence[str], call: Call[Answer], *, on_halved: Callable[[int], None]
) -> dict[int, list[Answer] | Failed]:
    """Like `run_halving`, for texts of several owners: an owner whose text fails does not take the others with it.

    By owner its answers in the order of its texts, or why it has none. `item` counts within the owner's texts.
    """
    done: dict[int, list[Answer] | Failed] = {}
    left = list(range(len(texts)))
    while left:
        try:
            answers = run_halving([texts[index] for index in left], call, on_halved=on_halved)
        except ModelError as error:
            guilty = owners[left[error.item]] if error.item is not None else None
            if guilty is None:
                return done | _one_by_one(owners, texts, left, call, on_halved, error)
            error.item = _within(owners, left[error.item or 0])
            done[guilty] = Failed(error)
            left = [index for index in left if owners[index] != guilty]
        else:
            for index, answer in zip(left, answers, strict=True):
                kept = done.setdefault(owners[index], [])
                assert isinstance(kept, list)
                kept.append(answer)
            return done
    return done


def _within(owners: Sequence[int], index: int) -> int:
    return sum(owner == owners[index] for owner in owners[:index])


def _one_by_one(
    owners: Sequence[int],
    texts: Sequence[str],
    left: Sequence[int],
    call: Call[Answer],
    on_halved: Callable[[int], None],
    error: ModelError,
) -> dict[int, list[Answer] | Failed]:
    """Each owner alone, when the model named no item and more than one may be to blame."""
    whose = dict.fromkeys(owners[index] for index in left)
    if len(whose) == 1:
        return {owner: Failed(error) for owner in whose}
    done: dict[int, list[Answer] | Failed] = {}
    for owner in whose:
        own = [texts[index] for index in left if owners[index] == owner]
        try:
            done[owner] = run_halving(own, call, on_halved=on_halved)
        except ModelError as failed:
            done[owner] = Failed(failed)
    return done
