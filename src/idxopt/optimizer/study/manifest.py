"""manifest.json of a study: what it was made from. A study goes on only with the same."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from idxopt.errors import BuildError
from idxopt.hashing import digest
from idxopt.optimizer.study.folder import replace_file

SCHEMA = "idxopt-study/1"
_WORDS = {
    "corpus": "other documents",
    "sets": "other queries or judgments",
    "baseline": "another baseline program",
    "settings": "other settings",
    "seed": "another seed",
    "engine": "another engine",
    "proposer": "another proposer",
}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SetRecord(_Model):
    """A set of judged queries as it was read: `queries` and `qrels` are digests."""

    name: str
    role: str
    place: str
    n: int
    queries: str
    qrels: str
    synthetic: bool = False


class CorpusRecord(_Model):
    """The documents: `digest` over ids and contents; `sample`: how many of them the search uses, where not all."""

    place: str
    digest: str
    documents: int
    rejected: int = 0
    sample: int | None = None


class StudyManifest(_Model):
    """What decides a study's result, and when and by which release it was begun.

    `baseline`: the canonical program. `settings`: what the search was told, without limits of time, money and workers:
    those may change from run to run.
    """

    study: str
    created: str
    idxopt: str
    corpus: CorpusRecord
    sets: tuple[SetRecord, ...]
    baseline: Mapping[str, Any]
    settings: Mapping[str, Any]
    seed: int
    engine: str
    proposer: str

    def write(self, path: Path) -> None:
        """Whole or not at all, with a digest over its content."""
        plain = self.model_dump(mode="json")
        document = {"schema": SCHEMA, **plain, "digest": digest(plain)}
        replace_file(path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> StudyManifest:
        """Raises BuildError for a file that is damaged, was changed, or is of another version."""
        try:
            document = json.loads(path.read_bytes())
            schema = document.pop("schema", None)
            said = document.pop("digest", None)
        except (OSError, ValueError, RecursionError, AttributeError, TypeError) as error:
            raise _damaged(path, f"cannot be read ({error})") from error
        if schema != SCHEMA:
            raise BuildError(
                f"is of schema {schema}; this idxopt reads {SCHEMA}",
                place=str(path),
                remedy="use the idxopt that wrote it, or begin another study in a new folder",
            )
        try:
            manifest = cls.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise _damaged(path, f"is damaged at {'.'.join(map(str, first['loc']))} ({first['msg']})") from error
        if digest(manifest.model_dump(mode="json")) != said:
            raise _damaged(path, "was changed after it was written: its digest does not agree")
        return manifest

    def check_same(self, given: StudyManifest, path: Path) -> None:
        """Raises BuildError naming what the study was begun with and what is given now."""
        for part, words in _WORDS.items():
            before, now = getattr(self, part), getattr(given, part)
            if _comparable(before) != _comparable(now):
                raise BuildError(
                    f"the study was begun with {words}: {_difference(before, now)}",
                    place=str(path),
                    remedy="give what it was begun with, or begin another study with --out and a new folder"
                    f" (--scores {shlex.quote(str(path.parent / 'scores.sqlite'))} keeps what was scored)",
                )


def _comparable(part: Any) -> Any:
    """Without what may differ: the place that the same documents and queries were read from."""
    if isinstance(part, _Model):
        return part.model_dump(mode="json", exclude={"place"})
    if isinstance(part, tuple):
        return [_comparable(one) for one in part]
    return part


def _difference(before: Any, now: Any) -> str:
    old, new = _comparable(before), _comparable(now)
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{len(old)} sets then, {len(new)} now"
        old, new = next((one, other) for one, other in zip(old, new, strict=True) if one != other)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        return ", ".join(f"{key} was {_short(old.get(key))}, is {_short(new.get(key))}" for key in keys[:4])
    return f"{_short(old)} then, {_short(new)} now"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:12]}..."


def _damaged(path: Path, what: str) -> BuildError:
    return BuildError(
        what,
        place=str(path),
        remedy="bring it back from a copy, or begin another study in a new folder (--scores FILE lets it use the scores"
        " that are there)",
    )
