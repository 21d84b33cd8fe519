"""Which build of a canary a key falls to: even, stable, and only growing with the share."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.builds.canary import Canary
from idxopt.search.query import SearchQuery
from idxopt.search.split import arm_of_key, assigned, split_key

KEYS = [f"session-{number}" for number in range(100_000)]


def canary(share: float, salt: str = "salt") -> Canary:
    return Canary(
        name="handbook", incumbent="a" * 8, candidate="b" * 8, share=share, salt=salt, started="2026-01-01", who="me"
    )


def candidates(share: float, salt: str = "salt") -> set[str]:
    split = canary(share, salt)
    return {key for key in KEYS if arm_of_key(split_key("", key), split) == "candidate"}


@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 0.99])
def test_the_share_over_a_hundred_thousand_keys(share: float) -> None:
    # Four standard deviations of a binomial share.
    assert abs(len(candidates(share)) / len(KEYS) - share) < 4 * (share * (1 - share) / len(KEYS)) ** 0.5


def test_a_larger_share_only_adds_keys() -> None:
    shares = [0.01, 0.05, 0.2, 0.6]
    taken = [candidates(share) for share in shares]
    assert all(small < large for small, large in itertools.pairwise(taken))


def test_another_salt_takes_other_keys() -> None:
    one, other = candidates(0.1), candidates(0.1, "other")
    assert 0.08 < len(one & other) / len(one) < 0.12


def test_the_hash_stays_the_same_over_releases() -> None:
    split = canary(0.5)
    words = "shard replica merge query node alias".split()
    assert "".join(arm_of_key(f"q:{word}", split)[0] for word in words) == "ciicic"


@given(st.text(), st.text())
def test_the_session_decides_where_there_is_one(text: str, other: str) -> None:
    split = canary(0.5)
    assert assigned(SearchQuery(text, session_key="s1"), split) == assigned(SearchQuery(other, session_key="s1"), split)
    assert split_key(f"  {text} ", None) == split_key(text, None)


def test_case_and_white_space_make_no_other_query() -> None:
    assert split_key("Rotate  API\nkeys ", None) == split_key("rotate api keys", None)
    assert split_key("s1", None) != split_key("", "s1")
