"""Answers of language models that must be JSON: read, checked against the schema, asked for once more, then refused."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jsonschema

from idxopt.errors import ModelError
from idxopt.models.ports import Generation, Prompt

Attempt: TypeAlias = Callable[[Prompt], Generation]
"""One request to a model, unchecked."""

_FENCED = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_SAID = 200
_DEPTH = "it is nested too deeply"
MOST_CHARACTERS, CHARACTERS_A_TOKEN = 100_000, 64
"""An answer longer than both, for the tokens that were asked for, is not read: its server keeps no limit."""


class Unbilled(ModelError):
    """A model's server refused, or was never reached: this request cost nothing."""


class Unusable(ModelError):
    """A model answered, and nothing of its answer can be used: no text, or a refusal. It may have been paid for."""


def answered(attempt: Attempt, prompt: Prompt, *, place: str) -> Generation:
    """One answer to a prompt; where the prompt has a schema, the text is JSON that obeys it.

    An answer that cannot be read is asked for once more, with the reason; token counts are those of both requests.
    Raises ModelError, Unusable where the second answer is no better.
    """
    first = attempt(prompt)
    if prompt.schema is None:
        return first
    problem = problem_of(first, prompt)
    if problem is None:
        return _unfenced(first)
    second = attempt(_again(prompt, problem))
    problem = problem_of(second, prompt)
    if problem is not None:
        raise Unusable(
            f"twice the answer could not be used: {problem}",
            place=place,
            remedy="name a larger model, or one whose server obeys a JSON schema",
        )
    return dataclasses.replace(
        _unfenced(second),
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
    )


def problem_of(generation: Generation, prompt: Prompt) -> str | None:
    """Why an answer cannot be used, in one clause; None when it can."""
    assert prompt.schema is not None
    most = max(MOST_CHARACTERS, CHARACTERS_A_TOKEN * prompt.max_tokens)
    if len(generation.text) > most:
        return f"it is longer than {most:,} characters"
    try:
        value = json.loads(_unfenced(generation).text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if generation.finish == "length":
            return f"it was cut after {prompt.max_tokens} tokens, in the middle of its JSON"
        return _DEPTH if isinstance(error, RecursionError) else f"it is not JSON ({str(error)[:_SAID]})"
    return _disobeys(value, prompt.schema)


def _disobeys(value: Any, schema: Mapping[str, Any]) -> str | None:
    checker = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        error = jsonschema.exceptions.best_match(checker(schema).iter_errors(value))
    except RecursionError:
        return _DEPTH
    return None if error is None else f"{error.json_path}: {error.message[:_SAID]}"


def _again(prompt: Prompt, problem: str) -> Prompt:
    said = f"An earlier answer could not be used: {problem}. Answer with JSON that obeys the schema, and nothing else."
    return dataclasses.replace(prompt, user=f"{prompt.user}\n\n{said}")


def _unfenced(generation: Generation) -> Generation:
    """Without the code fence that some models put around JSON."""
    found = _FENCED.match(generation.text)
    return dataclasses.replace(generation, text=found.group(1)) if found else generation


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
