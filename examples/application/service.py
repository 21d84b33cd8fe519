"""A search service of one's own: the canary's split by session, and the run log that `idxopt canary status` reads.

python service.py product-docs --log run.jsonl
curl 'localhost:8000/?q=max+retry+count' -H 'X-Session: visitor 7'
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import make_server

from idxopt.builds.resolver import Resolver
from idxopt.config import connect, load_config
from idxopt.errors import IdxoptError
from idxopt.search import Searcher, SearchQuery
from idxopt.search.runlog import RunLog

Environment = dict[str, Any]
Application = Callable[[Environment, Callable[..., Any]], Iterable[bytes]]


def open_searcher(name: str, log: Path) -> Searcher:
    """Over the engine of idxopt.toml. One for the whole process: it looks for a new live build or canary by itself."""
    engine = connect(*load_config().profile(None))
    return Searcher(engine, Resolver(engine, name), log=RunLog(log))


def application(searcher: Searcher) -> Application:
    """A WSGI application: `?q=` is the query, the header `X-Session` says whose it is."""

    def answer(environ: Environment, start: Callable[..., Any]) -> Iterable[bytes]:
        body: dict[str, Any]
        text = parse_qs(environ.get("QUERY_STRING", "")).get("q", [""])[0]
        try:
            result = searcher.search(SearchQuery(text, session_key=environ.get("HTTP_X_SESSION")))
        except IdxoptError as error:
            status, body = "500 Internal Server Error", {"error": error.message}
        else:
            # `arm`: the build that answered, None while no canary runs. Keep it with clicks, if you log them.
            status, body = "200 OK", {"arm": result.arm, "documents": [hit.doc_id for hit in result.hits]}
        start(status, [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]

    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the public name that is searched")
    parser.add_argument("--log", type=Path, default=Path("run.jsonl"), help="the run log; a file for each process")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    with make_server("localhost", given.port, application(open_searcher(given.name, given.log))) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
