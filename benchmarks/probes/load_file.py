"""Puts one corpus live and says how long it took: `python -m benchmarks.probes.load_file CORPUS PLACE CACHE`."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from benchmarks.deployment import apply, program, remove
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.program.schema import Program


def memory_program() -> Program:
    """Both of what could grow with the corpus: corpus tables, and several rows a document."""
    english = {"analyzer": "english"}
    return program(
        "memory-benchmark",
        {
            "content": {
                "steps": [
                    {"op": "discard", "span": {"repeated_lines": {"min_docs": 1000}}},
                    {"op": "normalize", "scheme": "split_identifiers", "keep_original": True},
                ],
                "lexical": {"fields": {"title": english, "body": english}},
            },
            "sections": {
                "steps": [{"op": "slice", "unit": "headings"}],
                "lexical": {"fields": {"body": english}},
            },
        },
        source={"fields": {"title": "title", "body": "text"}, "markup": "markdown"},
    )


def _engine(place: str) -> Engine:
    return OpenSearchEngine.connect(place, timeout_s=120.0) if "://" in place else EmbeddedEngine(place)


def main(corpus: str, place: str, cache: str) -> None:
    """One apply, and everything removed again."""
    engine = _engine(place)
    wanted = memory_program()
    applied = apply(engine, wanted, corpus, Path(cache))
    remove(engine, wanted.name)
    engine.close()
    largest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    unit = 1 if sys.platform == "darwin" else 1024
    answer = {"documents": applied.rows["content"], "seconds": applied.seconds, "largest": largest * unit}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
