"""Plans, times and sizes as text: symbols, totals, what is shortened."""

import pytest

from idxopt.builds.manifest import Generation
from idxopt.cli.render.plans import lacking, plan_json, plan_lines, totals
from idxopt.cli.units import bytes_text, counted, parse_seconds, seconds_text, shortened
from idxopt.deploy.changes import Change, Cost, ProgramChange
from idxopt.deploy.intent import Estimate, Intent, Lag, Plan
from idxopt.deploy.steps import BuildIndex, Switch
from idxopt.errors import UsageError

LONG = "x" * 200


def plan(**changes) -> Plan:
    fields = {
        "schema": "idxopt-plan/1",
        "name": "handbook",
        "cluster": "prod",
        "cluster_uuid": "u",
        "intent": Intent(program={}),
        "program_hash": "h",
        "live": "1a2b3c4d",
        "generations": {"content": Generation(), "sections": Generation()},
        "source": "docs",
    }
    return Plan(**{**fields, **changes})


def rebuild() -> Plan:
    return plan(
        program_changes=(
            ProgramChange(path="views.content.steps[0].table", old=LONG, new="b", cost=Cost.REINDEX, why="stored"),
            ProgramChange(path="fusion.k", old=60, new=20, cost=Cost.QUERY_ONLY, why="read at query time"),
            ProgramChange(path="views.old", old={"a": 1}, new=None, cost=Cost.QUERY_ONLY, why="gone"),
        ),
        changes=(
            Change(
                symbol="+/-", kind="index", subject="i1", view="content", what="build", cost=Cost.REINDEX, why="rows"
            ),
        ),
        steps=(BuildIndex(view="content", index="i1"), Switch()),
        lost_on_write={"content": ("terms",), "sections": ()},
        lag=(Lag(what="docs has changed"),),
        notes=("a template of somebody overlaps",),
        estimate=Estimate(
            sampled=1_000, documents=5_000, documents_exact=False, rows=7_000, bytes=12_300_000, seconds=130, shards=1
        ),
    )


def test_a_rebuild_shows_everything_and_ends_with_the_totals():
    lines = list(plan_lines(rebuild()))
    text = "\n".join(lines)
    assert lines[0] == "handbook on prod: build 1a2b3c4d is live"
    assert "  ~ fusion.k: 60 -> 20" in lines
    assert '  - views.old: {"a": 1} removed' in lines
    assert "  +/- index i1" in lines
    assert "  =   view sections" in lines
    assert "view content: terms" in text
    assert "view sections:" not in text.partition("! ")[2], "nothing is lost there"
    assert "! docs has changed" in lines
    assert "! a template of somebody overlaps" in lines
    assert lines[-1] == (
        "Plan: 1 index to build, 0 to change, readers move; about 5,000 documents, 7,000 rows, 12 MB, 1 shard, 2 min "
        "(from 1,000 sampled documents)."
    )
    assert text.isascii()


def test_long_values_are_shortened_unless_asked_for():
    assert LONG not in "\n".join(plan_lines(rebuild()))
    assert LONG in "\n".join(plan_lines(rebuild(), full=True))


def test_nothing_to_do():
    assert totals(plan()) == "No changes: handbook is as the program says."
    assert plan_json(plan())["changes"] is False


def test_a_build_without_documents_says_what_is_missing():
    assert any("--source" in line for line in plan_lines(rebuild().model_copy(update={"source": None})))


def test_the_json_of_a_plan_reads_back_as_the_plan():
    assert Plan.model_validate(plan_json(rebuild())["plan"]) == rebuild()


@pytest.mark.parametrize(("text", "seconds"), [("30", 30), ("30s", 30), ("3m", 180), ("1.5h", 5400), ("250ms", 0.25)])
def test_times_are_read(text, seconds):
    assert parse_seconds(text, "--timeout") == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1d", "3 m", "1e3", "٣s"])
def test_other_times_are_refused(text):
    with pytest.raises(UsageError) as error:
        parse_seconds(text, "--timeout")
    assert error.value.place == "--timeout"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (12_300_000, "12 MB"), (5e9, "5.0 GB")]
)
def test_sizes_are_written(size, text):
    assert bytes_text(size) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.1, "1 s"), (89, "89 s"), (130, "2 min"), (7_200, "2.0 h")])
def test_times_are_written(seconds, text):
    assert seconds_text(seconds) == text


def test_counts_and_lengths():
    assert counted(1, "index", "indices") == "1 index"
    assert counted(2_000, "index", "indices") == "2,000 indices"
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("abcde", 5) == "abcde"


def test_a_missing_vector_is_told_with_what_it_means() -> None:
    assert lacking(("terms", "vector")) == "terms, vector (the dense leg does not find them)"
