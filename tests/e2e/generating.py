"""A site whose program needs texts of a language model, and the answers of one behind a real HTTP server."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.e2e.runner import program, write_json
from tests.model_servers.server import Request, chat

DOCUMENTS = 6
SECTIONS = 2
USAGE = {"prompt_tokens": 120, "completion_tokens": 60, "total_tokens": 180}
_PART = re.compile(r"^Part \d+:\n", re.MULTILINE)


def text_of(number: int) -> str:
    """A page with two sections of prose, a code fence and a table."""
    return (
        f"# Page {number}\n\n"
        f"## Limits of service {number}\n\n"
        f"This is one of the nicer parts of the manual, and it has been written with much care by many people. The API "
        f"of service {number} accepts {100 + number} requests a second for each account. Therefore a client that sends "
        f"more must wait and repeat the request. It is a lovely thing to know and to talk about over lunch.\n\n"
        f"```\nlimit = {100 + number}\n```\n\n"
        f"## Costs of service {number}\n\n"
        f"Everybody likes to read about money, and so this part of the manual is read more often than the others. "
        f"Service {number} costs {number + 3} USD for a million requests, because each of them is stored for 90 days. "
        f"There is much more that could be said about it, and some of it will be said at another time.\n\n"
        f"| tier | price |\n|---|---|\n| basic | {number} |\n"
    )


def write_site(folder: Path, url: str, *, documents: int = DOCUMENTS, **settings: Any) -> Path:
    """docs.jsonl, program.json and idxopt.toml; the generator `small` is `maker/small` behind `url`."""
    lines = [json.dumps({"_id": f"d{n}", "title": f"Page {n}", "text": text_of(n)}) for n in range(documents)]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    step = {"op": "enrich", "with": "restructure", "into": "dense", "generator": "small"}
    wanted = program(models={"small": {"kind": "generator", "id": "maker/small"}}, rerank=None)
    del wanted["rerank"]
    wanted["source"]["metadata"] = {}
    wanted["views"]["content"]["steps"] = [step]
    write_json(folder / "program.json", wanted)
    named = {"provider": "http", "url": url, "timeout_s": 10.0, "retries": 0, "concurrency": 2, **settings}
    named = {"price_input": 1.0, "price_output": 2.0, **named}
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in named.items())
    (folder / "idxopt.toml").write_text(
        'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n'
        f'[models."maker/small"]\n{table}\n',
        encoding="utf-8",
    )
    return folder


def parts_of(request: Request) -> list[str]:
    """The parts of the section that a request asks to rewrite."""
    asked = request.body["messages"][-1]["content"].partition("\n\nAn earlier answer")[0]
    return [part.strip() for part in _PART.split(asked)[1:]]


def shortened(part: str) -> str:
    """A faithful answer: the first and the last sentence, which say nothing, are left out."""
    return ". ".join(part.split(". ")[1:-1]) + "."


def rewriting(rewrite: Callable[[str], str] = shortened) -> Callable[[Request], web.Response]:
    """Answers every request for a restructured section."""

    def answer(request: Request) -> web.Response:
        made = json.dumps({"parts": [rewrite(part) for part in parts_of(request)]})
        return web.json_response(chat(made, usage=USAGE))

    return answer
