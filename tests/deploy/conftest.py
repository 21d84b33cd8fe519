"""Every promise of a deployment is tested on the embedded engine and on a real node."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.engines.port import Engine
from tests.deploy.harness import documents, write_documents


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.cluster)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "embedded":
        from idxopt.engines.embedded import EmbeddedEngine

        made: Engine = EmbeddedEngine(tmp_path / "local")
    else:
        from idxopt.engines.opensearch import OpenSearchEngine

        made = OpenSearchEngine.connect(request.getfixturevalue("opensearch_url"))
    yield made
    made.close()


@pytest.fixture
def name() -> str:
    """A name of one's own: tests share a node."""
    return f"t{secrets.token_hex(4)}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "documents.jsonl", documents())
