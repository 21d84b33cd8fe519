"""An index of the embedded engine as a source."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine
from tests.unit.sources.suite import IndexSourceSuite


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path / "engine")
    yield engine
    engine.close()


class TestIndexSource(IndexSourceSuite):
    pass
