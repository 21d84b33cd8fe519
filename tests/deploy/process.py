"""One apply in a process of its own, to be killed: `python -m tests.deploy.process JSON`.

Keys: `url` or `folder`, `name`, `data`, `cache`, `generation` (text that the run is to change), and optionally
`kill_at` (the n-th step of the disk after which the process kills itself), `trace` (a file for the list of those
steps), `wait` (a file to wait for before the commit), `share` (a canary is started instead).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from idxopt.engines.embedded import EmbeddedEngine, durable
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from tests.deploy.harness import program, put_live, start


def engine_of(task: dict[str, Any]) -> Engine:
    if "url" in task:
        return OpenSearchEngine.connect(task["url"], timeout_s=30)
    steps: list[str] = []

    def hook(step: durable.Step, path: Path) -> None:
        steps.append(step)
        if len(steps) == task.get("kill_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "trace" in task:
            with Path(task["trace"]).open("a") as trace:
                trace.write(f"{step} {path.suffix}\n")

    durable.hook = hook
    return EmbeddedEngine(task["folder"])


def main(task: dict[str, Any]) -> None:
    engine = engine_of(task)
    wanted = program(task["name"])
    if "share" in task:
        start(engine, wanted, Path(task["data"]), Path(task["cache"]), task["share"])
        engine.close()
        return
    put_live(
        engine,
        wanted,
        Path(task["data"]),
        Path(task["cache"]),
        intent={"rebuild": task.get("rebuild", True), "take_over": task.get("take_over")},
        keep=0,
    )
    engine.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
