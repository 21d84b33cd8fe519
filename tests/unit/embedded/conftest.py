"""An engine in a temporary folder."""

from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the engine is; nothing is there yet."""
    return tmp_path / "engine"


@pytest.fixture
def engine(folder: Path) -> EmbeddedEngine:
    return EmbeddedEngine(folder)
