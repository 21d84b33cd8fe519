"""What only a cluster of two nodes shows: replicas that must be waited for, shards on other nodes."""

import time
from collections.abc import Iterator

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import LoadRow
from tests.conftest import skip_or_fail
from tests.nodes.artifacts import NodeUnavailableError
from tests.nodes.launcher import running_nodes

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def pair() -> Iterator[OpenSearchEngine]:
    try:
        with (
            running_nodes("2.19.1", count=2) as nodes,
            OpenSearchEngine.connect([node.url for node in nodes]) as engine,
        ):
            yield engine
    except NodeUnavailableError as missing:
        skip_or_fail(str(missing))


def test_replicas_that_a_node_can_take_are_waited_for(pair: OpenSearchEngine) -> None:
    assert pair.capabilities().nodes == 2
    index = {"number_of_shards": 3, "number_of_replicas": 0}
    state = pair.create_index("two--a--1", {"settings": {"index": index}})
    pair.load(state.name, state.uuid, (LoadRow(str(number), {"n": number}) for number in range(3000)))
    pair.refresh(state.name)
    assert len({document.id for document in pair.scan(state.name)}) == 3000

    pair.update_settings(state.name, {"index.number_of_replicas": 1})
    pair.wait_started(state.name, 60)
    found = pair.get_index(state.name)
    assert found is not None
    assert found.health == "green"
    assert len({document.id for document in pair.scan(state.name)}) == 3000

    # Two of the three copies of each shard have a node, the third has none and is not waited for.
    pair.update_settings(state.name, {"index.number_of_replicas": 2})
    start = time.monotonic()
    pair.wait_started(state.name, 60)
    assert time.monotonic() - start < 20


def test_a_replica_that_may_not_be_placed_is_not_waited_for(pair: OpenSearchEngine) -> None:
    index = {"number_of_replicas": 0}
    state = pair.create_index("two--b--1", {"settings": {"index": index}})
    pair._wire.ask("PUT", "/_cluster/settings", {"transient": {"cluster.routing.allocation.enable": "primaries"}})
    pair.update_settings(state.name, {"index.number_of_replicas": 1})
    pair.wait_started(state.name, 5)  # nothing may be placed now, so nothing is waited for
    pair._wire.ask("PUT", "/_cluster/settings", {"transient": {"cluster.routing.allocation.enable": None}})
    pair.wait_started(state.name, 30)
    found = pair.get_index(state.name)
    assert found is not None
    assert found.health == "green"
