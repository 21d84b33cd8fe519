"""The pipelines that the tests of this folder compare with the interpreter, on every version of the node."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.operators.row import Document
from tests.cluster.pipelines.both import CHAIN, Both, all_steps, collection


@pytest.fixture(scope="module", params=["opensearch_url", "opensearch3_url"], ids=["2.19", "3.5"])
def engine(request: pytest.FixtureRequest) -> Iterator[OpenSearchEngine]:
    made = OpenSearchEngine.connect(str(request.getfixturevalue(request.param)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def some(shared: Path) -> list[Document]:
    """Documents whose terms are in the tables: a part of the collections, so that others have unknown terms."""
    return [*islice(collection(shared, "awsdocs_small"), 300), *islice(collection(shared, "medquad_pages"), 300)]


@pytest.fixture(scope="module")
def separate(engine: OpenSearchEngine, some: list[Document]) -> Both:
    return Both(engine, all_steps(), some)


@pytest.fixture(scope="module")
def plain(engine: OpenSearchEngine, some: list[Document]) -> Both:
    """The same where the markup is plain text."""
    return Both(engine, all_steps(), some, "text")


@pytest.fixture(scope="module")
def chained(engine: OpenSearchEngine) -> Both:
    return Both(engine, CHAIN)
