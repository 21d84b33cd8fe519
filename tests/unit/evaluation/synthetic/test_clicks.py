"""The click model against values worked out by hand, and the tables that it reads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import SourceError, UsageError
from idxopt.evaluation.synthetic.click_tables import named_columns, read_click_table
from idxopt.evaluation.synthetic.clicks import ClickModel, Pair, Shown, judge, rates

MODEL = ClickModel(least_shown=10, smoothing=1.0)
LOG = [
    Shown("keys", "a", 1, 100, 40),
    Shown("keys", "b", 2, 100, 40),
    Shown("keys", "c", 3, 100, 2),
    Shown("logs", "a", 1, 100, 20),
    Shown("logs", "c", 2, 100, 0),
    Shown("logs", "d", 3, 100, 8),
    Shown("logs", "e", 3, 9, 9),
]


def test_rates_by_position():
    assert rates(LOG) == {1: 60 / 200, 2: 40 / 200, 3: 19 / 209}


def test_grades_by_hand():
    # expected: a 30, b 20, c 100 * 19/209 = 9.09; logs: a 30, c 20, d 9.09
    # COEC: keys a 41/31 = 1.32, b 41/21 = 1.95, c 3/10.09 = .297; logs a 21/31 = .677, c 1/21, d 9/10.09 = .892
    found = judge(LOG, MODEL)
    assert found.qrels == {"keys": {"a": 2, "b": 2, "c": 0}, "logs": {"a": 1, "c": 0, "d": 1}}
    assert found.dropped == {"rarely_shown": 1}


def test_coec_by_hand():
    assert math.isclose(Pair(100, 40, 20.0).coec(1.0), 41 / 21)
    assert Pair(100, 41, 20.0).grade(1.0) == 3, "42/21 is 2"
    assert Pair(100, 40, 20.0).grade(1.0) == 2
    assert Pair(100, 0, 0.0).grade(1.0) == 0, "1/1, but never clicked"
    assert Pair(100, 1, 3.0).grade(1.0) == 1, "2/4 is .5"
    assert Pair(100, 1, 3.1).grade(1.0) == 0


def test_position_bias_is_taken_out():
    """The same number of clicks is worth more at a place where few click."""
    log = [
        Shown("q", "top", 1, 100, 10),
        Shown("q", "low", 5, 100, 10),
        Shown("r", "x", 1, 100, 70),
        Shown("r", "y", 5, 100, 2),
    ]
    assert judge(log, MODEL).qrels["q"] == {"top": 0, "low": 2}, "11/41 and 11/7"


def test_a_session_counts_once():
    one = [Shown("q", "a", 1, clicks=1, session="s")] * 50 + [Shown("Q ", "a", 3, session="s")]
    others = [Shown("q", "a", 1, clicks=n % 2, session=f"s{n}") for n in range(10)]
    found = judge([*one, *others], MODEL)
    assert found.rates == {1: 6 / 11}
    assert found.dropped["repeated_clicks"] == 49
    assert found.qrels == {"q": {"a": 2}}, "(6 + 1) / (11 * 6/11 + 1) = 1"


def test_the_place_that_was_clicked_counts_not_the_one_before():
    found = judge(
        [Shown("q", "a", 4, session="s"), Shown("q", "a", 2, clicks=1, session="s")], ClickModel(least_shown=1)
    )
    assert found.rates == {2: 1.0}


def test_robots_are_left_out():
    robot = [Shown("q", f"d{n}", 1, clicks=1, session="robot") for n in range(101)]
    people = [Shown("q", "a", 1, clicks=n % 2, session=f"s{n}") for n in range(20)]
    found = judge([*robot, *people], MODEL)
    assert found.dropped["robots"] == 1
    assert found.rates == {1: 0.5}
    assert found.qrels == {"q": {"a": 2}}


def test_what_is_left_out_is_counted():
    log = [
        Shown("write ann@example.org", "a", 1, 50, 20),
        Shown("call 555 123 4567", "a", 1, 50, 20),
        Shown("nobody clicks", "a", 1, 50, 0),
        Shown("gone", "old", 1, 50, 20),
        Shown("Good  Query", "a", 1, 50, 20),
    ]
    found = judge(log, MODEL, known={"a"})
    assert list(found.qrels) == ["good query"]
    assert found.dropped == {"personal": 2, "nothing_relevant": 2, "unknown_document": 1}


@given(
    st.lists(
        st.tuples(st.sampled_from("qr"), st.sampled_from("abc"), st.integers(1, 3), st.integers(0, 9)), max_size=30
    )
)
def test_expected_clicks_add_up_to_the_clicks_of_the_log(rows):
    from idxopt.evaluation.synthetic.clicks import _pairs

    log = [Shown(query, document, position, 9, clicks) for query, document, position, clicks in rows]
    pairs = _pairs(log, rates(log)).values()
    assert math.isclose(sum(pair.expected for pair in pairs), sum(pair.clicks for pair in pairs), abs_tol=1e-9)


def table(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_a_showing(tmp_path):
    path = table(tmp_path, 'Search Term,doc_id,Rank,Clicked,Session ID\n"keys, old",d1,1,true,s\nkeys,d2,2,0,\n')
    assert list(read_click_table(path)) == [
        Shown("keys, old", "d1", 1, 1, 1, "s"),
        Shown("keys", "d2", 2, 1, 0, None),
    ]


def test_a_line_with_counts(tmp_path):
    path = table(tmp_path, "query\tdocument\tposition\timpressions\tclicks\nkeys\td1\t1\t100\t40\n")
    assert list(read_click_table(path)) == [Shown("keys", "d1", 1, 100, 40)]


def test_columns_can_be_named(tmp_path):
    path = table(tmp_path, "suche;treffer;platz;klicks\nkeys;d1;1;1\n")
    named = named_columns(["query=suche", "document=treffer", "position=platz", "clicks=klicks"])
    assert list(read_click_table(path, named)) == [Shown("keys", "d1", 1, 1, 1)]
    with pytest.raises(SourceError, match="query or document or position or clicks") as caught:
        list(read_click_table(path))
    assert caught.value.remedy == "name it with --column query=NAME"
    with pytest.raises(SourceError, match="no column 'x'"):
        list(read_click_table(path, {"query": "x"}))
    for wrong in ("query", "query=", "color=x"):
        with pytest.raises(UsageError, match="names no column"):
            named_columns([wrong])


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("keys,d1,one,1,5", "position 'one'"),
        ("keys,d1,-1,1,5", "position '-1'"),
        ("keys,d1,1,maybe,5", "clicks 'maybe'"),
        ("keys,d1,1,6,5", "6 clicks and 5 impressions"),
        (",d1,1,1,5", "no query"),
        ("keys,,1,1,5", "no document"),
        ("keys,d1,1,1,inf", "impressions 'inf'"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, says):
    path = table(tmp_path, f"query,document,position,clicks,impressions\nkeys,d0,1,0,1\n{row}\n")
    with pytest.raises(SourceError, match=says) as caught:
        list(read_click_table(path))
    assert caught.value.place == f"{path}:3"
