"""Finding and reading configuration: option > `IDXOPT_*` > idxopt.toml (nearest parent, then user folder) > default."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import platformdirs
from pydantic import BaseModel, ValidationError

from idxopt.config.profile import LOCAL, Profile
from idxopt.config.secrets import check_reference
from idxopt.errors import ConfigError
from idxopt.models.settings import ModelSettings
from idxopt.program.wording import plain_words

FILE_NAME = "idxopt.toml"
VARIABLES = (
    "IDXOPT_CLUSTER",
    "IDXOPT_CONFIG",
    "IDXOPT_LOG",
    "IDXOPT_NO_INPUT",
    "IDXOPT_IN_AUTOMATION",
    "IDXOPT_CACHE_DIR",
    "IDXOPT_EXTERNAL_DIFF",
)
_LINE = re.compile(r"line (\d+), column (\d+)")
_TEST_PREFIXES = ("IDXOPT_TEST_", "IDXOPT_BENCH_")
_Table = TypeVar("_Table", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Config:
    """What was found. `file` is None when there is no idxopt.toml. `warnings` name unknown `IDXOPT_*` variables.

    `default_cluster` is None where the file has several clusters and says nowhere which one is meant. `models`: where
    models run, by their id. `sidecar`: that table as it stands; the sidecar knows what it means.
    """

    file: Path | None
    default_cluster: str | None
    clusters: Mapping[str, Profile]
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    sidecar: Mapping[str, Any] = field(default_factory=dict)

    def profile(self, name: str | None) -> tuple[str, Profile]:
        """The named (or default) profile. Raises ConfigError with the nearest name."""
        wanted = name or self.default_cluster
        if wanted is None:
            raise ConfigError(
                f"has the clusters {', '.join(sorted(self.clusters))} and names no default",
                place=str(self.file),
                remedy='add --cluster NAME, or `default = "NAME"` at the top of the file',
            )
        if wanted not in self.clusters:
            near = difflib.get_close_matches(wanted, self.clusters, n=1)
            known = ", ".join(sorted(self.clusters))
            raise ConfigError(
                f'there is no cluster "{wanted}"',
                place=str(self.file) if self.file else FILE_NAME,
                remedy=f'did you mean "{near[0]}"?'
                if near
                else f"known: {known}; add [clusters.{wanted}] to {FILE_NAME}",
            )
        return wanted, self.clusters[wanted]


def cache_dir() -> Path:
    """Where journals, snapshots and step results are kept: `IDXOPT_CACHE_DIR` or the user's cache folder."""
    chosen = os.environ.get("IDXOPT_CACHE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("idxopt"))


def find_file(start: Path) -> Path | None:
    """The nearest idxopt.toml from a folder upwards, then the user's own."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    own = Path(platformdirs.user_config_dir("idxopt")) / FILE_NAME
    return own if own.is_file() else None


def load_config(path: str | None = None, *, cluster: str | None = None, folder: Path | None = None) -> Config:
    """Reads the configuration. `path` and `cluster` are the options; without them variables and defaults count."""
    start = folder or Path.cwd()
    chosen = path or os.environ.get("IDXOPT_CONFIG")
    origin = "option --config" if path else "IDXOPT_CONFIG" if chosen else "found"
    if chosen and not Path(chosen).is_file():
        raise ConfigError("there is no such file", place=chosen, remedy=f"correct the {origin.removeprefix('option ')}")
    file = Path(chosen) if chosen else find_file(start)
    data = _read(file) if file else {}
    base = (file.parent if file else start).resolve()
    clusters = {name: _profile(name, value, file, base) for name, value in _tables("clusters", data, file).items()}
    models = {id_: _model(id_, value, file, base) for id_, value in _tables("models", data, file).items()}
    default, said_by = _default_cluster(cluster, data, clusters)
    clusters.setdefault(LOCAL, Profile(engine="embedded", folder=str(base / ".idxopt" / LOCAL)))
    origins = {
        "config": f"{file} ({origin})" if file else "none found",
        "cluster": said_by,
        "cache": "IDXOPT_CACHE_DIR" if os.environ.get("IDXOPT_CACHE_DIR") else "default",
    }
    return Config(file, default, clusters, origins, unknown_variables(os.environ), models, data.get("sidecar", {}))


def _default_cluster(
    option: str | None, data: Mapping[str, Any], clusters: Mapping[str, Profile]
) -> tuple[str | None, str]:
    """The cluster that is meant when a command names none, and who said so. Nothing is guessed among several."""
    variable = os.environ.get("IDXOPT_CLUSTER")
    if option:
        return option, "option --cluster"
    if variable:
        return variable, "IDXOPT_CLUSTER"
    if "default" in data:
        return str(data["default"]), "default of the file"
    if len(clusters) == 1:
        return next(iter(clusters)), "the only cluster of the file"
    return (None, "not chosen") if clusters else (LOCAL, "default")


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A warning for each `IDXOPT_*` that nothing reads, with the nearest name."""
    warnings = []
    for name in sorted(environment):
        if name.startswith("IDXOPT_") and name not in VARIABLES and not name.startswith(_TEST_PREFIXES):
            near = difflib.get_close_matches(name, VARIABLES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            warnings.append(f"the variable {name} has no meaning{hint}")
    return tuple(warnings)


def _read(file: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", place=str(file), remedy="check its rights") from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", place=str(file), remedy="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).partition(" (at ")
        line = _LINE.search(where)
        place = f"{file}:{line[1]}:{line[2]}" if line else str(file)
        raise ConfigError(f"is not valid TOML: {what}", place=place, remedy="correct that line") from error
    unknown = sorted(data.keys() - {"default", "clusters", "models", "sidecar"})
    if unknown:
        raise ConfigError(
            f"unknown key {unknown[0]}",
            place=str(file),
            remedy='the file knows `default`, [clusters.NAME], [models."ID"] and [sidecar]',
        )
    return data


def _tables(key: str, data: Mapping[str, Any], file: Path | None) -> Mapping[str, Any]:
    tables = data.get(key, {})
    if not isinstance(tables, dict) or not all(isinstance(value, dict) for value in tables.values()):
        name = "NAME" if key == "clusters" else '"ID"'
        raise ConfigError(f"`{key}` must hold tables", place=str(file), remedy=f"write [{key}.{name}]")
    return tables


def _profile(name: str, value: Mapping[str, Any], file: Path | None, base: Path) -> Profile:
    profile = validated(Profile, value, f"{file}: clusters.{name}")
    if profile.folder is not None:
        profile = profile.model_copy(update={"folder": str(base / Path(profile.folder).expanduser())})
    return profile


def _model(id_: str, value: Mapping[str, Any], file: Path | None, base: Path) -> ModelSettings:
    """Settings with paths from the file's folder; a key that is no reference is refused, and not repeated."""
    place = f'{file}: models."{id_}"'
    settings = validated(ModelSettings, value, place)
    if settings.key is not None:
        check_reference(settings.key, f"{place}.key")
    paths = {name: getattr(settings, name) for name in ("path", "tokenizer", "ca")}
    absolute = {name: str(base / Path(path).expanduser()) for name, path in paths.items() if path is not None}
    return settings.model_copy(update=absolute)


def validated(table: type[_Table], value: Mapping[str, Any], place: str) -> _Table:
    """One message for the first mistake; the value itself is never repeated, it may be a secret."""
    try:
        return table.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    message, hint = plain_words(first)
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path.split(".")[-1], table.model_fields, n=1)
        message, hint = "unknown key", f"did you mean {near[0]}?" if near else ""
    remedy = hint or "correct it; `idxopt doctor` shows every value with its origin"
    raise ConfigError(message, place=f"{place}.{path}" if path else place, remedy=remedy)
