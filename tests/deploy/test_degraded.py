"""A node that refuses a third of the items, forgets replies and drops connections: nothing lost, nothing twice (H3)."""

from __future__ import annotations

from pathlib import Path

import opensearchpy
import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from tests.deploy.harness import answers, documents, plan_of, program, put_live, write_documents
from tests.faults.bulk import BulkFault
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Drop, Match, Rule


@pytest.mark.timeout(300)
def test_same_documents_and_scores_as_undisturbed(opensearch_url: str, name: str, tmp_path: Path) -> None:
    data = write_documents(tmp_path / "documents.jsonl", documents(400))
    calm = OpenSearchEngine.connect(opensearch_url)
    put_live(calm, program(f"{name}calm"), data, tmp_path)
    bulk = "*/_bulk"
    rules: list[Rule] = [
        Drop(Match(method="POST", path="/_aliases", nth=2), when="after"),
        Drop(Match(path="*", every=10), when="before"),
        BulkFault(429, share=0.2, match=Match(method="POST", path=bulk), once=True),
        BulkFault(503, share=0.15, match=Match(method="POST", path=bulk), once=True),
        BulkFault(409, share=0.05, stored=True, match=Match(method="POST", path=bulk), once=True),
        BulkFault(409, share=0.05, stored=False, match=Match(method="POST", path=bulk), once=True),
    ]
    with FaultProxy(opensearch_url, *rules) as proxy:
        engine = OpenSearchEngine.connect(proxy.url)
        applied = put_live(engine, program(name), data, tmp_path, workers=2)
        engine.close()
    assert applied.rows["content"] == 400
    assert answers(calm, name) == answers(calm, f"{name}calm")
    assert plan_of(calm, program(name)).empty
    client = opensearchpy.OpenSearch(opensearch_url)
    for view in ("content", "titles", "sections", "leads"):
        alias = "" if view == "content" else f"--{view}"
        counts = [client.count(index=f"{one}{alias}")["count"] for one in (name, f"{name}calm")]
        assert counts[0] == counts[1]
    calm.close()
