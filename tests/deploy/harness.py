"""A small collection, a program of four views, and the steps of a deployment, for tests of every promise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from idxopt.builds.lock import LockSettings
from idxopt.builds.resolver import Resolver
from idxopt.deploy.apply import apply_plan
from idxopt.deploy.canary import Split, Started, start_canary
from idxopt.deploy.intent import Intent, Plan
from idxopt.deploy.observed import observe
from idxopt.deploy.options import Applied, ApplyOptions
from idxopt.deploy.plan import make_plan
from idxopt.deploy.rollback import rollback_plan
from idxopt.engines.port import Engine, Reader
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from idxopt.search import Searcher, SearchQuery
from idxopt.sources.opening import open_source

WORDS = (
    "index shard replica segment merge query filter score analyzer token snapshot alias template node cluster".split()
)


def documents(n: int = 40) -> list[dict[str, Any]]:
    """`n` documents with headings, identifiers and a language; words differ by number, so that queries rank."""
    made = []
    for number in range(n):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 2, 3, 5, 7)]
        body = (
            f"# Page {number}\n\nAbout {' '.join(words)} and refreshInterval{number % 7}.\n\n"
            f"## First part\n\n{words[0]} {words[1]} twice {words[0]}.\n\n"
            f"## Second part\n\n{words[2]} with {words[3]} under max_clause_count.\n"
        )
        made.append(
            {
                "_id": f"doc-{number:03d}",
                "title": f"{words[0]} {words[4]} {number}",
                "text": body,
                "lang": "de" if number % 4 == 0 else "en",
            }
        )
    return made


def write_documents(path: Path, made: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(document) + "\n" for document in made), encoding="utf-8")
    return path


def program(name: str = "handbook", *, views: int = 4, **changes: Any) -> Program:
    """Up to four views: content, titles, sections, identifiers. `changes` replace top-level keys."""
    text = {"analyzer": "english"}
    split = {"op": "normalize", "field": "body", "scheme": "split_identifiers", "keep_original": True}
    made: dict[str, Any] = {
        "content": {"steps": [split], "lexical": {"fields": {"title": text, "body": text}}},
        "titles": {"lexical": {"fields": {"title": {**text, "weight": 2.0}}}},
        "sections": {"steps": [{"op": "slice", "unit": "headings"}], "lexical": {"fields": {"body": text}}},
        "leads": {
            "steps": [{"op": "enrich", "with": "lead", "words": 12, "into": "lead"}],
            "lexical": {"fields": {"lead": text}},
        },
    }
    value = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "views": dict(list(made.items())[:views]),
    }
    return program_from({**value, **changes}, "test")


def options(tmp_path: Path, **changes: Any) -> ApplyOptions:
    """Fast locks, one worker."""
    made = ApplyOptions(cache=tmp_path / "cache", lock=LockSettings(heartbeat_s=0.5, ttl_s=2.0), workers=1, grace_s=0.0)
    return replace(made, **changes)


def plan_of(reader: Reader, wanted: Program, **intent: Any) -> Plan:
    return make_plan(observe(reader, wanted.name), Intent(program=canonical(wanted), **intent), cluster="test")


def put_live(
    engine: Engine,
    wanted: Program,
    data: Path,
    tmp_path: Path,
    *,
    intent: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Applied:
    """Plan and apply in one go."""
    plan = plan_of(engine, wanted, **(intent or {}))
    source = open_source(str(data), wanted, engine=engine)
    return apply_plan(engine, plan, options(tmp_path, **changes), source=source)


def start(engine: Engine, wanted: Program, data: Path, tmp_path: Path, share: float = 0.5, **changes: Any) -> Started:
    """Starts a canary. `changes`: of the options, or `intent`."""
    plan = plan_of(engine, wanted, **changes.pop("intent", {}))
    source = open_source(str(data), wanted, engine=engine)
    return start_canary(engine, plan, options(tmp_path, **changes), Split(share), source=source)


def roll_back(engine: Engine, name: str, tmp_path: Path, *, to: str | None = None, **changes: Any) -> Applied:
    plan = rollback_plan(observe(engine, name), to=to, cluster="test")
    return apply_plan(engine, plan, options(tmp_path, **changes))


def answers(
    reader: Reader, name: str, queries: tuple[str, ...] = ("shard replica", "refresh interval", "merge")
) -> list[Any]:
    """What a reader sees, down to the scores."""
    searcher = Searcher(reader, Resolver(reader, name, ttl=0.0))
    return [
        [(hit.doc_id, hit.score, sorted(hit.legs)) for hit in searcher.search(SearchQuery(query, k=20)).hits]
        for query in queries
    ]
