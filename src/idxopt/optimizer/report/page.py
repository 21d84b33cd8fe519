"""The whole report: one HTML file with style, script and data in it. Nothing is loaded, nothing is sent."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from idxopt.evaluation.pages.elements import Html, el, json_block
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.report.configurations import configurations
from idxopt.optimizer.report.coverage import coverage
from idxopt.optimizer.report.derived import completed
from idxopt.optimizer.report.heat import heat
from idxopt.optimizer.report.matters import matters
from idxopt.optimizer.report.overview import finals, header, path
from idxopt.optimizer.report.pareto import pareto
from idxopt.optimizer.report.progress import progress
from idxopt.optimizer.report.queries import distribution, wins_and_losses
from idxopt.optimizer.report.rankings import rankings
from idxopt.optimizer.report.run import run_record

_VIEWS = (
    ("finals", "Result", finals),
    ("path", "Path", path),
    ("configurations", "1 Configurations", configurations),
    ("progress", "2 Progress", progress),
    ("pareto", "3 Cost", pareto),
    ("heat", "4 Kinds", heat),
    ("queries", "5 Queries", wins_and_losses),
    ("rankings", "6 Side by side", rankings),
    ("distribution", "7 Distribution", distribution),
    ("coverage", "8 Coverage", coverage),
    ("matters", "9 What matters", matters),
    ("run", "10 Run record", run_record),
)


def render(record: StudyRecord) -> str:
    """The page of a study. Tables that the record lacks and that follow from its values are made here."""
    full = completed(record)
    links = [el("a", name, href=f"#{anchor}") for anchor, name, _ in _VIEWS]
    body = el(
        "body",
        header(full),
        el("nav", links, el("button", "Download the data", type="button", data_download="data"), aria_label="Views"),
        el("main", *(view(full) for _, _, view in _VIEWS)),
        json_block(full.to_json(), id="data", data_name="study.json"),
        el("script", _file("page.js")),
    )
    return f'<!doctype html>\n<html lang="en">{_head(record.study)}{body}</html>\n'


def _head(study: str) -> Html:
    script = base64.b64encode(hashlib.sha256(_file("page.js").encode()).digest()).decode()
    # Texts of documents are hostile: whatever escaping missed could still neither run nor load anything.
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'"
    )
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="generator", content="idxopt study"),
        el("meta", http_equiv="Content-Security-Policy", content=f"{policy}; form-action 'none'"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", href="data:,"),
        el("title", f"Study {study}"),
        el("style", _file("page.css")),
    )


@cache
def _file(name: str) -> Html:
    return Html(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
