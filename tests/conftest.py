"""Fixtures for every test: real nodes, the shared collections, caches of one's own.

What a machine lacks makes a test skip with the reason; with CI set it fails, so that a green run means all ran.
Under pytest-xdist each worker starts the nodes that its own tests ask for: tests on different workers never meet.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.models_support import (
    ModelUnavailableError,
    cross_encoder_folder,
    minilm_dynamic_folder,
    minilm_folder,
    minilm_int8_folder,
)
from tests.nodes.artifacts import NodeUnavailableError
from tests.nodes.launcher import node
from tests.nodes.secure import SecureNode, secure_node

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
NODE_FIXTURES = {"opensearch_url", "opensearch3_url", "secure_opensearch"}

_unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=_unhurried, max_examples=100, derandomize=True, database=None)
settings.register_profile("dev", parent=_unhurried, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NODE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
        if "sentence-transformers" in getattr(getattr(item, "callspec", None), "id", ""):
            item.add_marker("torch")


def skip_or_fail(reason: str) -> NoReturn:
    """Skip for want of something outside the repository; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; with CI set nothing may be missing", pytrace=False)
    pytest.skip(reason)


def _started(context: AbstractContextManager[T]) -> Iterator[T]:
    missing = ""
    with ExitStack() as stack:
        try:
            value = stack.enter_context(context)
        except NodeUnavailableError as error:
            missing = str(error)
        if missing:
            skip_or_fail(missing)  # outside the handler: the reason alone, without the chain that led to it
        yield value


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """The address of an OpenSearch 2.19.1 node."""
    yield from _started(node("2.19.1"))


@pytest.fixture(scope="session")
def opensearch3_url() -> Iterator[str]:
    """The address of an OpenSearch 3.5.0 node."""
    yield from _started(node("3.5.0"))


@pytest.fixture(scope="session")
def secure_opensearch() -> Iterator[SecureNode]:
    """An OpenSearch 2.19.1 node with TLS, passwords and roles."""
    yield from _started(secure_node())


@pytest.fixture(scope="session")
def native_url() -> str:
    """The address of a node with native hybrid search; never started here, so its absence is no failure."""
    url = os.environ.get("IDXOPT_TEST_NATIVE_URL")
    if not url:
        pytest.skip("IDXOPT_TEST_NATIVE_URL names no node with native hybrid search")
    return url


def _model(made: Callable[[], Path]) -> Path:
    missing = ""
    try:
        return made()
    except ModelUnavailableError as error:
        missing = str(error)
    skip_or_fail(missing)


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 with a float32 model.onnx."""
    return _model(minilm_folder)


@pytest.fixture(scope="session")
def minilm_int8() -> Path:
    """The folder of all-MiniLM-L6-v2 with int8 weights."""
    return _model(minilm_int8_folder)


@pytest.fixture(scope="session")
def minilm_dynamic() -> Path:
    """The folder of all-MiniLM-L6-v2 with activations that are quantised as it runs."""
    return _model(minilm_dynamic_folder)


@pytest.fixture(scope="session")
def cross_encoder() -> Path:
    """The folder of a cross-encoder with a random head."""
    return _model(cross_encoder_folder)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared collections beside the repository."""
    folder = ROOT.parent / "shared"
    if not (folder / "datasets").is_dir():
        skip_or_fail("there is no ../shared/datasets beside the repository")
    return folder


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes this user's caches or configuration, or is steered by this shell's IDXOPT_ variables."""
    for name in os.environ:
        if name.startswith("IDXOPT_") and not name.startswith("IDXOPT_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # the width of whoever runs the tests (pytest-xdist sets it)
    places = tmp_path_factory.mktemp("places")
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(places / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(places / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(places / "data"))
