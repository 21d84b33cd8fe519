"""Writes that no refresh has shown yet, that come while others are carried, or that cannot be carried (contract 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.status import read_status
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import AliasAction, LoadReport, LoadRow, RowFailure
from idxopt.errors import GateRefused
from tests.deploy.harness import program, put_live, roll_back


class Meddling(OpenSearchEngine):
    """Calls `before` and `after` around the request that moves the public alias; `refusing`: takes no carried rows."""

    name = ""
    before: Any = staticmethod(lambda: None)
    after: Any = staticmethod(lambda: None)

    refusing = False

    def overwrite(self, index: str, uuid: str, puts: Iterable[LoadRow], deletes: Iterable[str]) -> LoadReport:
        if self.refusing:
            return LoadReport(0, 0, tuple(RowFailure(row.id, 400, "refused") for row in puts))
        return super().overwrite(index, uuid, puts, deletes)

    def update_aliases(self, actions: Sequence[AliasAction]) -> None:
        moves = any(action.alias == self.name for action in actions)
        if moves:
            self.before()
        super().update_aliases(actions)
        if moves:
            self.after()


@pytest.fixture
def engine(opensearch_url: str) -> Meddling:
    return Meddling.connect(opensearch_url)


@pytest.fixture
def live(engine: Meddling, opensearch_url: str, name: str, data: Path, tmp_path: Path) -> opensearchpy.OpenSearch:
    """A live build that never refreshes by itself, so that only what idxopt does shows a write."""
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name, views=2), data, tmp_path)
    client.indices.put_settings(index=name, body={"index.refresh_interval": "-1"})
    return client


def seen(client: opensearchpy.OpenSearch, name: str, id: str) -> bool:
    client.indices.refresh(index=name)
    return bool(client.exists(index=name, id=id))


def test_unrefreshed_writes_are_counted_and_carried(
    engine: Meddling, live: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    live.index(index=name, id="new", body={"title": "zebra", "text": "zebra"})
    live.delete(index=name, id="doc-003")
    with pytest.raises(GateRefused) as refused:
        put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True})
    assert "2 (1 inserted, 0 updated, 1 deleted)" in refused.value.message
    live.index(index=name, id="newer", body={"title": "zebra", "text": "zebra"})
    applied = put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True}, carry_writes=True)
    assert applied.writes.total == 3
    assert seen(live, name, "new")
    assert seen(live, name, "newer")
    assert not seen(live, name, "doc-003")


def test_a_write_between_carry_and_switch_arrives(
    engine: Meddling, live: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    live.index(index=name, id="new", body={"title": "zebra", "text": "zebra"})
    engine.name = name
    engine.before = lambda: live.index(index=name, id="late", body={"title": "late", "text": "zebra"})
    applied = put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True}, carry_writes=True)
    assert applied.writes.total == 2
    assert seen(live, name, "new")
    assert seen(live, name, "late")
    assert not applied.warnings


def test_a_late_write_that_cannot_be_carried_is_a_warning(
    engine: Meddling, live: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    live.index(index=name, id="new", body={"title": "zebra", "text": "zebra"})
    engine.name = name
    engine.before = lambda: live.index(index=name, id="late", body={"title": "late", "text": "zebra"})
    engine.after = lambda: setattr(engine, "refusing", True)
    applied = put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True}, carry_writes=True)
    assert any("late" in warning for warning in applied.warnings)
    assert seen(live, name, "new")
    found = read_status(engine, name, cluster="test").live
    assert found is not None
    assert found.build == applied.build


def test_a_rollback_carries_unrefreshed_writes(
    engine: Meddling, live: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True})
    live.indices.put_settings(index=name, body={"index.refresh_interval": "-1"})
    live.index(index=name, id="new", body={"title": "zebra", "text": "zebra"})
    roll_back(engine, name, tmp_path, carry_writes=True)
    assert seen(live, name, "new")
