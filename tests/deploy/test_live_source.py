"""H2, the gate: a source that goes on changing, and counts that agree although the documents do not."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.apply import apply_plan
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import GateRefused
from idxopt.sources.opening import open_source
from tests.deploy.harness import answers, documents, options, plan_of, program, put_live
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Hold, Match

RATE = 50


@pytest.mark.timeout(180)
def test_h2_busy_source_passes_the_gate(opensearch_url: str, name: str, tmp_path: Path) -> None:
    client, engine = opensearchpy.OpenSearch(opensearch_url), OpenSearchEngine.connect(opensearch_url)
    origin = f"{name}-origin"
    client.indices.create(index=origin, body={"settings": {"number_of_shards": 2, "number_of_replicas": 0}})
    lines: list[dict[str, Any]] = []
    for document in documents(400):
        lines += [{"index": {"_id": document.pop("_id")}}, document]
    client.bulk(index=origin, body=lines, refresh=True)
    stop = threading.Event()

    def insert() -> None:
        writer = opensearchpy.OpenSearch(opensearch_url)
        for number, document in enumerate(documents(10_000)):
            if stop.wait(1 / RATE):
                return
            document.pop("_id")
            writer.index(index=origin, id=f"late-{number}", body=document, refresh=number % 10 == 0)

    inserting = threading.Thread(target=insert, daemon=True)
    inserting.start()
    wanted = program(name)
    time.sleep(0.5)
    try:
        source = open_source(f"index:{origin}", wanted, engine=engine)
        applied = apply_plan(engine, plan_of(engine, wanted), options(tmp_path), source=source)
    finally:
        stop.set()
        inserting.join()
    client.indices.refresh(index=origin)
    rows = applied.rows["content"]
    assert 400 <= rows < client.count(index=origin)["count"]
    assert client.count(index=name)["count"] == rows
    assert all(answers(engine, name))
    client.indices.delete(index=origin)


def test_h2_equal_counts_do_not_open_the_gate(opensearch_url: str, name: str, data: Path, tmp_path: Path) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)

    def swap_one(request: Any, _: Any) -> None:
        index = request.path.split("/")[1]
        client.delete(index=index, id="doc-007")
        client.index(index=index, id="intruder", body={"title": "x"}, params={"pipeline": "_none"})

    with FaultProxy(opensearch_url, Hold(Match(method="POST", path="*--content--*/_bulk", nth=1), swap_one)) as proxy:
        engine = OpenSearchEngine.connect(proxy.url)
        with pytest.raises(GateRefused) as refused:
            put_live(engine, program(name, views=1), data, tmp_path)
        engine.close()
    assert "doc-007" in refused.value.message
    assert "intruder" in refused.value.message
    assert not client.indices.exists_alias(name=name)
