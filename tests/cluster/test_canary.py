"""A canary on OpenSearch 3.5: started, split, promoted. tests/deploy has the rest, on 2.19."""

from pathlib import Path

import pytest

from idxopt.builds.resolver import Resolver
from idxopt.deploy.observed import observe
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.search import Searcher, SearchQuery
from tests.deploy.harness import documents, plan_of, program, put_live, start, write_documents


@pytest.mark.parametrize("cluster_url", ["opensearch3_url"], indirect=True, ids=["3.5"])
def test_started_split_and_promoted(cluster: OpenSearchEngine, prefix: str, tmp_path: Path) -> None:
    data = write_documents(tmp_path / "documents.jsonl", documents())
    first = put_live(cluster, program(prefix, views=1), data, tmp_path)
    before = observe(cluster, prefix)
    started = start(cluster, program(prefix, views=2), data, tmp_path)
    assert observe(cluster, prefix).aliases == before.aliases
    assert plan_of(cluster, program(prefix, views=1)).empty
    searcher = Searcher(cluster, Resolver(cluster, prefix, ttl=0.0))
    found = [searcher.search(SearchQuery("shard replica", session_key=f"session-{n}")) for n in range(20)]
    assert {(one.arm, one.build) for one in found} == {
        ("incumbent", first.build),
        ("candidate", started.canary.candidate),
    }
    promoted = put_live(cluster, program(prefix, views=2), data, tmp_path)
    assert promoted.rows == {}
    assert observe(cluster, prefix).canary is None
    assert searcher.search(SearchQuery("shard replica")).arm is None
