"""Fixtures for tests on a real node: each test runs on every version, with names of its own that are cleaned up."""

import secrets
from collections.abc import Iterator

import pytest

from idxopt.engines.opensearch import OpenSearchEngine, Patience

HASTY = Patience(give_up_s=8.0, first_wait_s=0.02, longest_wait_s=0.3, request_s=30.0)


@pytest.fixture(params=["opensearch_url", "opensearch3_url"], ids=["2.19", "3.5"])
def cluster_url(request: pytest.FixtureRequest) -> str:
    """The address of a node; the test runs once for each version."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def cluster(cluster_url: str) -> Iterator[OpenSearchEngine]:
    """The adapter connected to that node."""
    with OpenSearchEngine.connect(cluster_url, patience=HASTY) as engine:
        yield engine


@pytest.fixture
def prefix(cluster: OpenSearchEngine) -> Iterator[str]:
    """A start for names of indices, templates and pipelines; what begins with it is removed afterwards."""
    start = f"t{secrets.token_hex(4)}"
    yield start
    for state in cluster.list_indices(f"{start}*"):
        cluster.delete_index(state.name, state.uuid)
    for template in cluster.templates():
        if template.name.startswith(start):
            cluster.delete_template(template.name)
    for pipeline in cluster.list_pipelines(f"{start}*"):
        cluster.delete_pipeline(pipeline)
