"""One self-contained HTML page: no script, no network, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from idxopt.evaluation.pages.elements import table
from idxopt.experiments.plots import cost_plot, difference_plot
from idxopt.experiments.results import CollectionResult, Setting
from idxopt.experiments.summary import overview
from idxopt.experiments.tables import Grid, grids, sentences

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1f2328; }
table { border-collapse: collapse; margin: 1rem 0 .3rem; font-variant-numeric: tabular-nums; font-size: 13px; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #d0d7de; padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
p.note { color: #57606a; font-size: 13px; margin-top: 0; }
.scroll { overflow-x: auto; }
svg { max-width: 100%; height: auto; margin: 1rem 0; }
"""


def page(results: Sequence[CollectionResult], setting: Setting) -> str:
    """The whole page."""
    body = [
        "<h1>PRIME: representations of documents, compared</h1>",
        *_setting(setting),
        "<h2>All collections</h2>",
        *map(_table, overview(results)),
    ]
    for result in results:
        body += _collection(result)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>PRIME experiment</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _setting(setting: Setting) -> list[str]:
    lines = [f"{role}: {name}" for role, name in setting.models.items()]
    lines += [
        f"engine: {setting.engine}",
        f"idxopt {setting.idxopt}",
        f"{setting.resamples:,} resamples an interval (BCa, paired)",
        *setting.notes,
    ]
    return ["<ul>", *(f"<li>{escape(line)}</li>" for line in lines), "</ul>"]


def _collection(result: CollectionResult) -> list[str]:
    return [
        f"<h2>{escape(result.name)}</h2>",
        f"<p>Sample: {escape(result.statement)}.</p>",
        "<ul>",
        *(f"<li>{escape(sentence)}</li>" for sentence in sentences(result)),
        "</ul>",
        difference_plot(result),
        cost_plot(result),
        *map(_table, grids(result)),
    ]


def _table(grid: Grid) -> str:
    return table(grid.title, grid.header, grid.rows, note=grid.note)
