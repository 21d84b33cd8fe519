"""The compiled artifacts of the presets: `index_templates/*.json` and `ingest_pipelines/*.json`, usable with curl.

`python -m idxopt.compiler.artifacts` writes them, `--check` compares them byte for byte. Run it in a checkout, or give
`--root`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.program.presets import PRESETS, preset

TEMPLATES = "index_templates"
PIPELINES = "ingest_pipelines"
TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True)
"""Any server engine: the artifacts do not depend on the version (one shard, as small corpora want)."""


def artifacts() -> dict[str, bytes]:
    """Relative path to content, for every preset; the program is named like its preset."""
    made: dict[str, bytes] = {}
    for name in PRESETS:
        compiled = lower(preset(name, program_name=name), TARGET, {})
        for view in compiled.views.values():
            made[f"{TEMPLATES}/{view.template_name}.json"] = _pretty(view.template)
            if view.pipeline is not None:
                made[f"{PIPELINES}/{view.template_name}.json"] = _pretty(view.pipeline)
    return made


def differences(root: Path) -> list[str]:
    """One line for each artifact under `root` that is missing, changed, or no longer made."""
    made = artifacts()
    found = []
    for path, content in made.items():
        place = root / path
        if not place.is_file():
            found.append(f"{path}: missing")
        elif place.read_bytes() != content:
            found.append(f"{path}: differs")
    for folder in (TEMPLATES, PIPELINES):
        found += [
            f"{folder}/{place.name}: no preset makes it"
            for place in sorted((root / folder).glob("*.json"))
            if f"{folder}/{place.name}" not in made
        ]
    return found


def write(root: Path) -> None:
    """Writes all artifacts under `root` and removes those that no preset makes any more."""
    made = artifacts()
    for path, content in made.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    for folder in (TEMPLATES, PIPELINES):
        for place in (root / folder).glob("*.json"):
            if f"{folder}/{place.name}" not in made:
                place.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m idxopt.compiler.artifacts", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: the current folder)")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.root)
        return 0
    found = differences(options.root)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n").encode()


if __name__ == "__main__":
    sys.exit(main())
