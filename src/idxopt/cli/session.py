"""What a command works with: configuration, cluster profile, and the engine, opened when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from idxopt.cli.settings import Settings
from idxopt.cli.streams import say, start_log

if TYPE_CHECKING:
    from idxopt.config import Config, Profile
    from idxopt.engines.port import Engine
    from idxopt.models.opening import Models
    from idxopt.program.schema import Program
    from idxopt.sources import Source

INDEX_PREFIX = "index:"


@dataclass
class Session:
    """One command at work. `cluster` is the profile's name."""

    settings: Settings
    config: Config
    cluster: str
    profile: Profile
    _engine: Engine | None = field(default=None, repr=False)
    _models: dict[str, Models] = field(default_factory=dict, repr=False)

    @property
    def engine(self) -> Engine:
        """The profile's engine, connected once. Raises ConfigError and EngineError."""
        if self._engine is None:
            from idxopt.config import connect

            self._engine = connect(self.cluster, self.profile)
        return self._engine

    def source_place(self, given: str | None) -> str | None:
        """`--source`, or the profile's `source`, which counts from the folder of the configuration."""
        if given is not None or self.profile.source is None or self.profile.source.startswith(INDEX_PREFIX):
            return given or self.profile.source
        base = self.config.file.parent if self.config.file else Path()
        place = base / Path(self.profile.source).expanduser()
        return self.profile.source if place.resolve() == Path(self.profile.source).resolve() else str(place)

    def open_source(self, place: str, program: Program) -> Source:
        """The documents at a place, read as the program says and the profile allows."""
        from idxopt.sources import Options, open_source

        options = Options(max_document_bytes=self.profile.max_document_bytes)
        return open_source(place, program, engine=self.engine, options=options)

    def models(self, program: Program) -> Models:
        """The program's models, opened as they are asked for and closed with the session."""
        from idxopt.config.models import open_models
        from idxopt.program.canonical import program_hash

        key = program_hash(program)
        if key not in self._models:
            self._models[key] = open_models(program, self.config)
        return self._models[key]

    def close(self) -> None:
        for models in self._models.values():
            models.close()
        if self._engine is not None:
            self._engine.close()


@contextmanager
def session(settings: Settings, *, cluster: str | None = None) -> Iterator[Session]:
    """Reads the configuration and closes the engine at the end. `cluster`: the profile that a saved plan names."""
    from idxopt.config import load_config

    start_log(settings)
    config = load_config(settings.config, cluster=settings.cluster)
    for warning in config.warnings:
        say(settings, f"warning: {warning}")
    name, profile = config.profile(settings.cluster or cluster)
    opened = Session(settings, config, name, profile)
    try:
        yield opened
    finally:
        opened.close()
