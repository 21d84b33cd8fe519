"""Requests as curl lines that an administrator can review and run.

Lines use `$URL` (and whatever credentials the shell's own curl configuration has): no address and no secret is printed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from idxopt.compiler.lowered import Compiled, CompiledView


@dataclass(frozen=True, slots=True)
class Request:
    """One REST request. `path` is made of decoded parts; `body` is JSON, a list of JSON lines (`lines`), or absent."""

    method: str
    path: tuple[str, ...]
    body: Any = None
    query: Mapping[str, str] | None = None
    lines: bool = False


def render(request: Request) -> str:
    """One request as a curl command, over several lines where it has a body."""
    address = "/".join(quote(part, safe="_-.*,") for part in request.path)
    if request.query:
        address += "?" + urlencode(request.query)
    command = f'curl -fsS -X {shlex.quote(request.method)} "$URL"/{shlex.quote(address)}'
    if request.body is None:
        return command
    if request.lines:
        kind, text = "application/x-ndjson", "".join(f"{_json(line)}\n" for line in request.body)
    else:
        kind, text = "application/json", _json(request.body, indent=2)
    return f"{command} -H 'Content-Type: {kind}' --data-binary {shlex.quote(text)}"


def script(requests: Iterable[Request], *, title: str) -> str:
    """A shell script of requests, stopping at the first that fails. Set `URL` before running it."""
    comment = title.replace("\n", " ")
    head = f'# {comment}\nset -eu\n: "${{URL:?set URL to the address of the engine}}"\n'
    return head + "".join(f"\n{render(request)}\n" for request in requests)


def view_requests(view: CompiledView, *, priority: int | None = None) -> list[Request]:
    """What puts one view's artifacts on an engine: template, pipeline, index (without the load and the switch)."""
    template = dict(view.template) if priority is None else {**view.template, "priority": priority}
    requests = [Request("PUT", ("_index_template", view.template_name), template)]
    if view.pipeline_name is not None:
        requests.append(Request("PUT", ("_ingest", "pipeline", view.pipeline_name), view.pipeline))
    requests.append(Request("PUT", (view.index,), view.index_body))
    return requests


def compiled_requests(compiled: Compiled) -> list[Request]:
    """The requests of all views, in the program's order."""
    return [request for view in compiled.views.values() for request in view_requests(view)]


def _json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=dict)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: only its escape can be printed
        return json.dumps(value, indent=indent, default=dict)
    return text.replace("\x7f", "\\u007f")
