"""program.json to a checked `Program`: one clear error for a bad one, at its JSON path, with the nearest valid name."""

from __future__ import annotations

import ast
import difflib
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from idxopt.errors import ProgramError
from idxopt.program.checks import problems
from idxopt.program.problems import Location, Problem, nearest
from idxopt.program.reading import json_path, read_object
from idxopt.program.schema import Program
from idxopt.program.steps import GENERATED
from idxopt.program.wording import plain_words, shown


def load_program(path: str | Path) -> Program:
    """The program in a file. Raises ProgramError; its `place` is `FILE: JSON path`, or `FILE:LINE:COLUMN`."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ProgramError("no such file", remedy=_nearest_file(Path(path)), place=str(path)) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ProgramError(f"cannot be read ({reason})", remedy="check the path and rights", place=str(path)) from error
    return parse_program(data, str(path))


def _nearest_file(path: Path) -> str:
    """A remedy that names the file beside it whose name is most alike."""
    try:
        beside = {file.stem: file.name for file in path.parent.iterdir() if file.suffix == path.suffix}
    except OSError:
        beside = {}
    close = difflib.get_close_matches(path.stem, beside, n=1)
    return f'did you mean "{path.with_name(beside[close[0]])}"?' if close else "check the path of the program"


def parse_program(data: bytes | str, place: str) -> Program:
    """The program in `data`. `place` is how messages name it (a file name).

    Raises ProgramError for the first problem (by JSON path; where the shape is right, causes before their effects) with
    the number of the others.
    """
    return program_from(read_object(data, place), place)


def program_from(value: dict[str, Any], place: str) -> Program:
    """A program from an object that is already read (a manifest, a preset); errors as `parse_program`."""
    try:
        program = Program.model_validate(value)
    except ValidationError as error:
        _refuse(_by_path(error.errors(include_url=False), value), place)
    else:
        _refuse(list(problems(program)), place)
        return program
    raise AssertionError("a validation error has at least one problem")


def _refuse(found: Sequence[Problem], place: str) -> None:
    if not found:
        return
    first, others = found[0], len({problem.location for problem in found[1:]} - {found[0].location})
    more = f" (and {others} more {'problem' if others == 1 else 'problems'})" if others else ""
    path = json_path(first.location)
    raise ProgramError(first.message + more, remedy=first.remedy, place=f"{place}: {path}" if path else place)


def _order(location: Location) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (0, part) for part in location]


def _by_path(errors: Iterable[ErrorDetails], value: dict[str, Any]) -> list[Problem]:
    wrong_type_last = sorted(errors, key=lambda error: error["type"].endswith("_type"))
    found = [_problem(error, value) for error in wrong_type_last]
    deepest = {problem.location for problem in found}
    found = [
        problem
        for problem in found
        if not any(other[: len(problem.location)] == problem.location != other for other in deepest)
    ]
    return sorted(found, key=lambda problem: _order(problem.location))


def _problem(error: ErrorDetails, value: dict[str, Any]) -> Problem:
    location = _location(error, value)
    kind, context = error["type"], error.get("ctx", {})
    given = error["input"]
    if kind == "extra_forbidden":
        known = _known_fields(location[:-1], value)
        return Problem(location, f"unknown field {shown(location[-1])}", nearest(str(location[-1]), known))
    if kind == "union_tag_invalid":
        return _bad_tag(location, str(context["tag"]), str(context["expected_tags"]), value)
    if kind == "literal_error":
        return Problem(location, f"unknown value {shown(given)}", nearest(str(given), _literals(context["expected"])))
    if kind == "string_pattern_mismatch":
        return Problem(location, f"{shown(given)} is no valid name", _pattern_remedy(str(context["pattern"])))
    message, remedy = plain_words(error)
    named = message if kind in ("missing", "value_error") else f"{shown(given)} {message}"
    return Problem(location, named, remedy or "correct it")


def _location(error: ErrorDetails, value: dict[str, Any]) -> Location:
    """The error's path in the document: pydantic's own names of union members taken out."""
    location: list[str | int] = []
    here: Any = value
    last = len(error["loc"]) - 1
    for number, part in enumerate(error["loc"]):
        present = part in here if isinstance(here, dict) else isinstance(here, list) and isinstance(part, int)
        if present:
            here = here[part]
        elif not (number == last and error["type"] == "missing"):
            continue
        location.append(part)
    return tuple(location)


def _bad_tag(location: Location, tag: str, expected: str, value: dict[str, Any]) -> Problem:
    """An unknown `op`, or an unknown `with` of an `enrich` step."""
    step = _at(location, value)
    if not isinstance(step, dict):
        return Problem(location, "a step is a JSON object", 'write {"op": "...", ...}')
    key = "with" if step.get("op") == "enrich" else "op"
    known = _literals(expected)
    if key == "with":
        known = [name for name in known if name != "generated"] + list(GENERATED)
    if key not in step:
        return Problem((*location, key), "is missing", f"use one of {', '.join(sorted(known))}")
    return Problem(
        (*location, key), f"unknown {'operator' if key == 'op' else 'form'} {shown(tag)}", nearest(tag, known)
    )


def _literals(expected: Any) -> list[str]:
    """Names out of pydantic's `'a', 'b' or 'c'`."""
    literal = ast.literal_eval("[" + str(expected).replace(" or ", ", ") + "]")
    return [str(name) for name in literal]


def _pattern_remedy(pattern: str) -> str:
    if "(-[" in pattern:
        return "use lowercase letters, digits and single hyphens, as in product-docs"
    return "start with a lowercase letter and go on with lowercase letters, digits and underscores, as in first_line"


def _at(location: Location, value: Any) -> Any:
    for part in location:
        value = value[part]
    return value


def _known_fields(location: Location, value: dict[str, Any]) -> list[str]:
    """The field names of the model that stands at `location`."""
    kind: Any = Program
    here: Any = value
    for part in location:
        here = here[part]
        kind = _model(_member(kind, part), here)
    return [info.alias or name for name, info in kind.model_fields.items()]


def _member(kind: Any, part: str | int) -> Any:
    """The annotation of one member of a model, or of the values of a dict or list."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        by_name = {info.alias or name: info.annotation for name, info in kind.model_fields.items()}
        return by_name[str(part)]
    return typing.get_args(kind)[-1]


def _model(annotation: Any, value: Any) -> Any:
    """Annotations and unions peeled off: a container, or the model that `value` was read as."""
    while typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation
    members = [_model(member, value) for member in typing.get_args(annotation) if member is not type(None)]
    return next((member for member in members if _reads(member, value)), members[0])


def _reads(member: Any, value: Any) -> bool:
    fields = getattr(member, "model_fields", {})
    for name in ("op", "with_"):
        if name in fields and value.get(name.rstrip("_")) not in typing.get_args(fields[name].annotation):
            return False
    return bool(fields)
