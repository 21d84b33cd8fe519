"""Names, and what is ours."""

from typing import Any

import pytest

from idxopt.builds import names
from idxopt.compiler import identity
from idxopt.engines.port import IndexState
from tests.unit.builds.samples import body_of


def state(name: str, meta: dict[str, Any] | None) -> IndexState:
    return IndexState(name, "u", {}, {} if meta is None else {"_meta": meta}, {})


def test_an_index_is_ours_only_under_its_real_name() -> None:
    meta = body_of("a--content--00000000", "a")["mappings"]["_meta"]
    assert names.owned(state("a--content--00000000", meta))
    assert names.owned(state("a--content--00000000", meta), "a")
    assert not names.owned(state("a--content--00000000", meta), "b")
    assert not names.owned(state("clone", meta))
    assert names.view_hash(state("a--content--00000000", meta)) == "0" * 64
    assert names.view_hash(state("clone", meta)) is None


@pytest.mark.parametrize("meta", [None, {}, {"idxopt": "x"}, {"idxopt": {"owner": "somebody", "index": "i"}}])
def test_other_marks_are_not_ours(meta: dict[str, Any] | None) -> None:
    assert not names.owned(state("i", meta))
    assert names.view_hash(state("i", meta)) is None


def test_fences_are_of_exactly_one_name() -> None:
    token = "0123456789abcdef"
    assert names.lock_token("a", names.lock_alias("a", token)) == token
    assert names.lock_token("a", names.lock_alias("a-b", token)) is None
    assert names.lock_token("a-b", names.lock_alias("a", token)) is None
    assert names.lock_token("a", names.lock_alias(f"a-{token}", token)) is None


def test_markers_name_their_build() -> None:
    assert names.marker_alias("a", "12345678") == "a--live--12345678"
    assert names.marked_build("a", "a--live--12345678") == "12345678"
    assert names.marked_build("a", "a--live--") is None
    assert names.marked_build("a", "a--content") is None
    assert names.marked_build("a", "a-b--live--12345678") is None
    assert names.view_alias("a", "questions") == "a--questions"


def test_the_mark_is_the_compiler_s() -> None:
    assert names.OWNER == identity.OWNER
    meta = identity.index_meta("a", "content", "0" * 64, {})
    assert names.owned(state(identity.index_name("a", "content", "0" * 64), meta), "a")
