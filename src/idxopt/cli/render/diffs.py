"""The difference of two programs, as a unified diff or by an external tool."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idxopt.errors import ConfigError


def unified(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], name: str, *, sides: tuple[str, str] = ("live", "planned")
) -> str:
    """A unified diff of the canonical programs, one value a line. `sides`: what the two are called."""
    lines = difflib.unified_diff(
        [] if old is None else _text(old).splitlines(keepends=True),
        _text(new).splitlines(keepends=True),
        f"{sides[0]}/{name}.json",
        f"{sides[1]}/{name}.json",
    )
    return "".join(lines)


def external(old: Mapping[str, Any] | None, new: Mapping[str, Any], name: str) -> str | None:
    """What the tool of IDXOPT_EXTERNAL_DIFF says about the two programs; None when the variable is not set."""
    tool = os.environ.get("IDXOPT_EXTERNAL_DIFF")
    if not tool:
        return None
    with tempfile.TemporaryDirectory(prefix="idxopt-diff-") as folder:
        files = []
        for side, program in (("live", old or {}), ("planned", new)):
            file = Path(folder, f"{side}-{name}.json")
            file.write_text(_text(program), encoding="utf-8")
            files.append(str(file))
        try:
            done = subprocess.run([*shlex.split(tool), *files], capture_output=True, text=True, check=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot be run ({error})", place="IDXOPT_EXTERNAL_DIFF", remedy="name a program that takes two files"
            ) from error
    if done.returncode > 1:
        raise ConfigError(
            f"ended with exit code {done.returncode}: {done.stderr.strip()[:200]}",
            place="IDXOPT_EXTERNAL_DIFF",
            remedy="name a program that takes two files, as diff does",
        )
    return done.stdout


def _text(program: Mapping[str, Any]) -> str:
    return json.dumps(program, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
