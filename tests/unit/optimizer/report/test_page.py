import json
import re
import shutil
import subprocess
from dataclasses import replace

import html5lib
import pytest

from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.report.derived import completed
from idxopt.optimizer.report.page import render
from idxopt.optimizer.report.run import program_diff
from tests.unit.optimizer.report.records import HOSTILE, URL_ID, empty, filled

VIEWS = ["finals", "path", "configurations", "progress", "pareto", "heat", "queries", "rankings", "distribution"]
VIEWS += ["coverage", "matters", "run"]
NS = "{http://www.w3.org/1999/xhtml}"
RECORDS = {
    "empty": empty(),
    "no trial": filled(0),
    "one trial, one query": filled(1, queries=1),
    "all refused": filled(6, steps=0),
    "many": filled(40, queries=120),
    "more queries than rows": filled(2, queries=700),
}


def parsed(page: str):
    """The tree of the page; the parser is strict: any error of syntax raises."""
    return html5lib.HTMLParser(strict=True).parse(page)


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_every_view_is_there_and_the_page_is_valid(record):
    tree = parsed(render(record))
    sections = [one.get("id") for one in tree.iter(f"{NS}section")]
    assert sections == VIEWS
    for one in tree.iter(f"{NS}section"):
        shown = list(one.iter(f"{NS}table")) + [p for p in one.iter(f"{NS}p") if p.get("class") == "nothing"]
        assert shown or one.get("id") == "rankings", one.get("id")
    ids = [one.get("id") for one in tree.iter() if one.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_nothing_is_loaded_from_anywhere(record):
    tree = parsed(render(record))
    for one in tree.iter():
        for name, value in one.attrib.items():
            if name in ("src", "srcset", "data", "action", "formaction", "poster", "background"):
                pytest.fail(f"{one.tag} loads {value}")
            if "href" in str(name):
                assert value.startswith(("#", "data:")), value
    style = "".join(one.text or "" for one in tree.iter(f"{NS}style"))
    assert "url(" not in style
    assert "@import" not in style


def test_texts_of_documents_stay_texts():
    record = filled(12)
    tree = parsed(render(record))
    scripts = list(tree.iter(f"{NS}script"))
    assert [one.get("type") for one in scripts] == ["application/json", None]
    assert not list(tree.iter(f"{NS}img"))
    assert len(list(tree.iter(f"{NS}style"))) == 1
    for one in tree.iter():
        assert not [name for name in one.attrib if str(name).startswith("on")]
    titles = {"".join(one.itertext()) for one in tree.iter(f"{NS}strong")}
    for text in HOSTILE:
        if "\x00" not in text:
            assert text in titles
    assert "a\ufffdb\ufffdc\ufffd" in titles


def test_foreign_texts_keep_their_direction_to_themselves():
    tree = parsed(render(filled(3)))
    right_to_left = [one for one in tree.iter() if one.text and "\u05e9" in one.text and one.tag != f"{NS}script"]
    held = {one.tag for one in right_to_left} - {"{http://www.w3.org/2000/svg}title"}
    assert held <= {f"{NS}bdi", f"{NS}mark", f"{NS}option"}


def test_the_data_in_the_page_are_the_record():
    record = filled(8)
    tree = parsed(render(record))
    block = next(one for one in tree.iter(f"{NS}script") if one.get("id") == "data")
    assert StudyRecord.from_json(block.text) == completed(record)


def test_a_query_is_found_by_its_id_even_if_that_is_an_address():
    page = render(filled(3))
    tree = parsed(page)
    assert URL_ID in [one.get("data-query") for one in tree.iter(f"{NS}article")]
    links = [one.get("href") for one in tree.iter(f"{NS}a")]
    assert any(link.startswith("#q=https%3A%2F%2Fexample.org%2Fa%3Fb") for link in links)


def test_the_script_is_the_only_one_that_the_policy_lets_run():
    import base64
    import hashlib

    tree = parsed(render(empty()))
    script = next(one for one in tree.iter(f"{NS}script") if one.get("type") is None)
    policy = next(one.get("content") for one in tree.iter(f"{NS}meta") if one.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def text_of(page: str) -> str:
    return " ".join("".join(parsed(page).itertext()).split())


def test_synthetic_judgments_and_unfinished_studies_are_said_first():
    record = filled(4)
    assert "Synthetic judgments: The judgments of cranfield were made by idxopt queries make." in text_of(
        render(record)
    )
    real = replace(record, synthetic=None, sets=tuple(replace(one, synthetic=False) for one in record.sets))
    assert "Synthetic judgments" not in text_of(render(real))
    assert "Unfinished" not in text_of(render(real))
    assert "Unfinished" in text_of(render(replace(real, finished=False)))


def test_the_gain_of_a_step_is_named_by_the_metric_that_it_passed_on():
    record = filled(4)
    path = tuple(
        replace(step, metric=metric) for step, metric in zip(record.path, ("Recall@100", "nDCG@10") * 2, strict=False)
    )
    page = text_of(render(replace(record, path=path)))
    gain = record.path[0].gain
    assert re.search(rf"Recall@100 \W*{re.escape(f'{gain.mean:+.3f}'.replace('0.', '.'))}", page)
    assert f"1 {record.path[0].kind}, Recall@100" in page


def test_means_have_their_interval_and_n():
    page = text_of(render(filled(10)))
    shown = re.findall(r"[+-]?\d?\.\d{3} \[[+-]?\d?\.\d{3}, [+-]?\d?\.\d{3}\] n=\d+", page)
    assert len(shown) > 50


def test_the_diff_marks_lines_that_changed():
    changed = program_diff({"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert '<span class="removed">-  &quot;b&quot;: 2\n</span>' in changed
    assert '<span class="added">+  &quot;b&quot;: 3\n</span>' in changed
    assert "nothing that was tried was kept" in program_diff({"a": 1}, {"a": 1})


def test_a_long_table_of_queries_says_what_it_leaves_out():
    assert "The 20 queries in the middle are only in the data." in text_of(render(RECORDS["more queries than rows"]))


def test_equal_records_give_equal_pages():
    assert render(filled(7)) == render(filled(7))


def test_in_a_browser_no_text_runs_and_the_deep_link_is_followed(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    page = tmp_path / "report.html"
    page.write_text(render(filled(12)), encoding="utf-8")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    done = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"{page.as_uri()}#q=q4"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    tree = html5lib.parse(done.stdout.decode())
    title = next(one for one in tree.iter(f"{NS}title"))
    assert title.text is not None
    assert title.text.startswith("Study cranfield")
    shown = [one.get("data-query") for one in tree.iter(f"{NS}article") if one.get("hidden") is None]
    assert shown == ["q4"]
    panels = [one.get("hidden") for one in tree.iter(f"{NS}div") if one.get("class") == "panel"]
    assert None in panels
    assert "" in panels
    data = next(one.text for one in tree.iter(f"{NS}script") if one.get("id") == "data")
    assert data is not None
    assert json.loads(data)["study"].startswith("cranfield")
