"""Bad inputs as data: what is written into the folder, what is typed, and what must be answered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from idxopt.errors import ExitCode

Write = Callable[[Path], object]


@dataclass(frozen=True)
class Bad:
    """`says`: fragments of the error, its place among them. `remedy`: a fragment of the remedy."""

    id: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    remedy: str = ""
    code: ExitCode = ExitCode.ERROR
    write: Write | None = None
    variables: dict[str, str] = field(default_factory=dict)


def text(name: str, content: str) -> Write:
    return lambda folder: (folder / name).write_text(content, encoding="utf-8", newline="")


def raw(name: str, content: bytes) -> Write:
    return lambda folder: (folder / name).write_bytes(content)
