"""Findings about texts are kept only where somebody remembers, and within bounds."""

from __future__ import annotations

from idxopt.operators.remembering import Memory, once, remembering


class Counting:
    """`len`, counting what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_nothing_is_kept_unless_somebody_remembers() -> None:
    find = Counting()
    assert [once("length", "abc", find), once("length", "abc", find)] == [3, 3]
    assert find.asked == ["abc", "abc"]


def test_a_finding_is_made_once_for_its_kind_and_text() -> None:
    find, memory = Counting(), Memory()
    with remembering(memory):
        values = [once(what, text, find) for what in ("a", "b") for text in ("x", "yy", "x")]
    with remembering(memory):
        values.append(once("a", "x", find))
    assert values == [1, 2, 1, 1, 2, 1, 1]
    assert find.asked == ["x", "yy", "x", "yy"]


def test_what_was_used_longest_ago_goes_first() -> None:
    find = Counting()
    with remembering(Memory(max_characters=5)):
        for text in ("aa", "bb", "aa", "cc", "aa", "bb"):
            once("length", text, find)
    assert find.asked == ["aa", "bb", "cc", "bb"]
