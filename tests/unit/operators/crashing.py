"""Work for a pool of processes: it doubles numbers, and dies over some items."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def make(folder: str) -> Callable[[list[Any]], list[Any]]:
    def double(items: list[Any]) -> list[Any]:
        print("a library that prints", file=sys.stdout, flush=True)
        return [_one(item, Path(folder)) for item in items]

    return double


def _one(item: Any, folder: Path) -> Any:
    if item == "dies":
        os._exit(7)
    if item == "dies once":
        mark = folder / "died"
        if not mark.exists():
            mark.touch()
            os._exit(7)
        return "lived"
    if item == "pid":
        return os.getpid()
    return item * 2
