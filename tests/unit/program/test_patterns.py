"""Regular expressions take linear time and a bounded memory, whatever the pattern."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import ProgramError
from idxopt.program.patterns import compile_pattern, compile_replacement


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*)*x", r"(\w+\s?)+!"])
def test_patterns_that_hang_a_backtracking_engine_end_soon(pattern):
    replace = compile_replacement(pattern, "-")
    start = time.monotonic()
    replace("a" * 100_000 + "c")
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "a{1001}", "[", "(", "(?P<n", r"\p{Nope}"])
def test_what_re2_does_not_know_is_refused(pattern):
    with pytest.raises(ProgramError, match="RE2 cannot compile"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"),
    [
        (r"(\d+) (\w+)", r"\2 \1", "take 5 apples", "take apples 5"),
        ("a", r"[\0]", "banana", "b[a]n[a]n[a]"),
        ("(a)|(b)", r"<\1>", "ab", "<a><>"),
        ("é+", "e", "caféé 😀 é", "cafe 😀 e"),
        ("x*", "-", "ab", "-a-b-"),
        ("a", r"\\", "bab", r"b\b"),
        ("z", "y", "abc", "abc"),
    ],
)
def test_replacement(pattern, replacement, text, expected):
    assert compile_replacement(pattern, replacement)(text) == expected


@pytest.mark.parametrize("replacement", [r"\2", r"\n", "\\", r"\g<1>"])
def test_a_replacement_that_means_nothing_is_refused(replacement):
    with pytest.raises(ProgramError, match="the replacement"):
        compile_replacement("(a)", replacement)


def test_a_replacement_cannot_blow_a_text_up():
    replace = compile_replacement("", "x" * 1_000)
    with pytest.raises(ProgramError, match="too long"):
        replace("a" * 100_000)


@given(st.text())
def test_matches_are_where_python_finds_them(text):
    import re

    assert compile_replacement(r"[a-mé😀]+", "<\\0>")(text) == re.sub(r"[a-mé😀]+", r"<\g<0>>", text)
