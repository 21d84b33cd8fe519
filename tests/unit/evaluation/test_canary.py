"""Figures of a canary's arms: from a run log, and from clicks."""

import dataclasses
import random

import numpy as np
import pytest
from scipy import stats

from idxopt.builds.canary import Canary
from idxopt.errors import EvaluationError
from idxopt.evaluation.bootstrap import unpaired_interval
from idxopt.evaluation.canary import log_figures, quantile_interval
from idxopt.evaluation.canary_clicks import click_figures, split_by
from idxopt.evaluation.synthetic.clicks import Shown
from idxopt.search.runlog import Entry, key_hash
from idxopt.search.split import arm_of_key, split_key

CANARY = Canary(
    name="handbook",
    incumbent="a" * 8,
    candidate="b" * 8,
    share=0.5,
    salt="salt",
    started="2026-01-01T00:00:00.000Z",
    who="me",
)


def entry(arm: str, ms: float = 1.0, **changes: object) -> Entry:
    build = CANARY.incumbent if arm == "incumbent" else CANARY.candidate
    values = {"at": "2026-01-02T00:00:00.000Z", "query": "q", "key": f"k{ms}", "docs": (), "total": 1}
    return Entry(**{**values, "arm": arm, "build": build, "ms": ms, **changes})  # type: ignore[arg-type]


def test_counts_latency_and_empty_answers_by_arm() -> None:
    entries = [entry("incumbent", float(n), total=n % 4) for n in range(200)]
    entries += [entry("candidate", 2.0 * n, key=f"c{n}", total=1) for n in range(200)]
    entries += [
        entry("incumbent", 9_999.0, fallback=True, key="f1"),
        entry("incumbent", 9_999.0, chosen=True),
        entry("incumbent", 9_999.0, at="2025-12-31T23:59:59.999Z"),
        entry("incumbent", 9_999.0, build="c" * 8),
        dataclasses.replace(entry("incumbent", 9_999.0), arm=None),
    ]
    figures = log_figures(entries, CANARY)
    assert (figures.incumbent.answers, figures.candidate.answers, figures.fallbacks) == (200, 200, 1)
    assert figures.incumbent.zero is not None
    assert figures.incumbent.zero.mean == 0.25
    assert figures.incumbent.p50 is not None
    assert figures.incumbent.p50.mean == 99.5
    assert figures.candidate.p95 is not None
    assert figures.candidate.p95.low is not None
    assert figures.candidate.p95.low < figures.candidate.p95.mean == pytest.approx(378.1)
    assert not figures.small
    assert not figures.mismatch
    assert figures.share is not None
    assert (figures.share.n, figures.share.mean) == (401, 201 / 401)


def test_a_share_that_cannot_be_and_arms_too_small() -> None:
    figures = log_figures([entry("incumbent", float(n)) for n in range(40)], CANARY)
    assert figures.mismatch
    assert figures.small == ["candidate: 0 answers, 30 are the least that anything is concluded from"]
    empty = log_figures([], CANARY)
    assert empty.share is None
    assert len(empty.small) == 2


def test_quantiles_are_covered_as_often_as_they_say() -> None:
    chance = np.random.default_rng(1)
    truth = float(np.quantile(stats.expon().ppf(np.linspace(0.0001, 0.9999, 9_999)), 0.95))
    intervals = [quantile_interval(list(chance.exponential(size=200)), 0.95) for _ in range(400)]
    held = sum(one.low is not None and one.high is not None and one.low <= truth <= one.high for one in intervals)
    assert 0.92 <= held / 400 <= 0.99
    assert quantile_interval([1.0, 2.0], 0.95).low is None


def test_unpaired_intervals_against_welch() -> None:
    chance = np.random.default_rng(2)
    a, b = list(chance.normal(0.0, 1.0, 80)), list(chance.normal(0.5, 2.0, 60))
    found = unpaired_interval(a, b)
    welch = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert found.method == "bca"
    assert found.mean == pytest.approx(np.mean(b) - np.mean(a))
    assert found.low == pytest.approx(welch.low, abs=0.1)
    assert found.high == pytest.approx(welch.high, abs=0.1)
    large = unpaired_interval(a * 100, b * 100)
    assert large.method == "normal"
    assert large.low is not None
    assert large.low > found.low  # type: ignore[operator]
    assert unpaired_interval([1.0], [2.0, 3.0]).low is None
    assert unpaired_interval([1.0, 1.0], [2.0, 2.0]).method == "constant"


def sessions(n: int, candidate: float, incumbent: float = 0.3, seed: int = 1) -> list[Shown]:
    """Three results a session; the first result is clicked with a probability that depends on the arm."""
    chance = random.Random(seed)
    rows = []
    for number in range(n):
        session = f"s{number}"
        better = arm_of_key(split_key("", session), CANARY) == "candidate"
        clicked = chance.random() < (candidate if better else incumbent)
        rows += [Shown("Query", f"d{p}", p, 1, int(clicked and p == 1), session) for p in range(1, 4)]
    return rows


def test_a_difference_in_clicks_is_found_and_none_is_not() -> None:
    better = click_figures(sessions(800, 0.5), CANARY, "session")
    assert [one.finding for one in better.metrics] == ["better"] * 3
    assert better.searches == better.units
    assert sum(better.units.values()) == 800
    assert better.metrics[0].detectable is not None
    assert 0.05 < better.metrics[0].detectable < 0.15
    worse = click_figures(sessions(800, 0.1), CANARY, "session")
    assert worse.metrics[1].finding == "worse"
    same = [click_figures(sessions(200, 0.3, seed=seed), CANARY, "session") for seed in range(15)]
    assert sum(one.metrics[0].finding != "no clear difference" for one in same) <= 3
    few = click_figures(sessions(20, 1.0, 0.0), CANARY, "session")
    assert {one.finding for one in few.metrics} == {"too few to tell"}
    assert len(few.small) == 2


def test_the_metrics_of_one_session() -> None:
    rows = [Shown("a", "d1", 0, 1, 0, "s"), Shown("a", "d2", 1, 1, 1, "s"), Shown("a", "d3", 2, 1, 1, "s")]
    found = click_figures([*rows, Shown("b", "d1", 0, 1, 1, "s"), Shown("c", "d1", 0, 1, 0, "s")], CANARY, "session")
    arm = arm_of_key(split_key("", "s"), CANARY)
    means = [one.candidate if arm == "candidate" else one.incumbent for one in found.metrics]
    assert [mean.mean for mean in means if mean is not None] == pytest.approx([1 / 3, 2 / 3, (0.5 + 1) / 3])


def test_counts_of_nobody_in_particular() -> None:
    rows = [Shown("a", "d1", 1, 100, 20), Shown("a", "d2", 2, 90, 30), Shown("A ", "d3", 3, 50, 0)]
    found = click_figures(rows, CANARY, "query")
    assert sum(found.units.values()) == 1
    assert sum(found.searches.values()) == 100
    (means,) = [[one.incumbent or one.candidate for one in found.metrics]]
    assert [mean.mean for mean in means if mean is not None] == pytest.approx([0.2, 0.5, 0.35])


def test_robots_and_empty_logs() -> None:
    robot = [Shown(f"q{n}", "d", 1, 1, 1, "robot") for n in range(101)]
    assert click_figures([*robot, Shown("q", "d", 1, 1, 1, "s")], CANARY, "session").robots == 1
    with pytest.raises(EvaluationError):
        click_figures(robot, CANARY, "session")


def test_what_the_split_went_by() -> None:
    rows = [Shown("One query", "d", 1, 1, 1, "s1"), Shown("two", "d", 1, 1, 0, "s2")]
    assert split_by(rows, set()) == "session"
    assert split_by([Shown("one", "d", 1)], set()) == "query"
    assert split_by(rows, {key_hash(split_key("one query", None))}) == "query"
    assert split_by(rows, {key_hash(split_key("", "s1"))}) == "session"
