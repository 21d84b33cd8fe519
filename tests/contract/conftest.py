"""Every engine that the port knows, behind one fixture: this suite is what "implements the port" means."""

import secrets
from collections.abc import Iterator

import pytest

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine, IndexState, LoadRow
from tests.contract.library import BODY, ROWS


@pytest.fixture(
    scope="module", params=["embedded", "opensearch_url", "opensearch3_url"], ids=["embedded", "2.19", "3.5"]
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine under test; each test runs on all of them."""
    if request.param == "embedded":
        opened: Engine = EmbeddedEngine(tmp_path_factory.mktemp("engine"))
    else:
        opened = OpenSearchEngine.connect(request.getfixturevalue(request.param))
    yield opened
    opened.close()


@pytest.fixture
def prefix(engine: Engine) -> Iterator[str]:
    """A start for names; what begins with it is removed afterwards."""
    start = f"c{secrets.token_hex(4)}"
    yield start
    for state in engine.list_indices(f"{start}*"):
        engine.delete_index(state.name, state.uuid)
    for template in engine.templates():
        if template.name.startswith(start):
            engine.delete_template(template.name)


@pytest.fixture
def empty(engine: Engine, prefix: str) -> IndexState:
    """An index without documents."""
    return engine.create_index(f"{prefix}--empty", BODY)


@pytest.fixture(scope="module")
def library(engine: Engine) -> Iterator[str]:
    """The name of an index with a few books, searchable. For tests that only read."""
    state = engine.create_index(f"c{secrets.token_hex(4)}--library", BODY)
    report = engine.load(state.name, state.uuid, [LoadRow(id, body) for id, body in ROWS.items()])
    assert (report.created, report.failed) == (len(ROWS), ())
    engine.refresh(state.name)
    yield state.name
    engine.delete_index(state.name, state.uuid)
