"""The JSON Schema of program.json, for editors: `python -m idxopt.program.export [--check] [FILE]`.

It is made from the models, so it says what shape a program has; what only the cross checks know (a field that exists at
a step, a parameter without a meaning) it does not say. A test compares the exported file with the models.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from idxopt.program.schema import Program

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFAULT_FILE = Path("schema/program.schema.json")


def program_schema() -> dict[str, Any]:
    """The JSON Schema of a program."""
    return {"$schema": DIALECT, **Program.model_json_schema(by_alias=True)}


def exported() -> str:
    """The text of the exported file."""
    return json.dumps(program_schema(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Writes the file; with `--check` writes nothing and returns 1 where it is not what the models say."""
    parser = argparse.ArgumentParser(
        prog="python -m idxopt.program.export", description="Export the schema of programs."
    )
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args(arguments)
    file: Path = options.file
    text = exported()
    if not options.check:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return 0
    if file.is_file() and file.read_text("utf-8") == text:
        return 0
    sys.stderr.write(f"{file} is not what the models say; run: python -m idxopt.program.export\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
