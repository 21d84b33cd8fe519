"""What moves while an apply loads is seen right before the switch; nothing stays behind but an unfinished index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from idxopt.builds import names
from idxopt.deploy.apply import apply_plan
from idxopt.deploy.observed import observe
from idxopt.deploy.options import Quiet
from idxopt.deploy.status import read_status
from idxopt.engines.port import AliasAction, Engine
from idxopt.errors import StalePlanError
from idxopt.sources.opening import open_source
from tests.deploy.harness import answers, options, plan_of, program, put_live
from tests.deploy.test_going_back import with_lead


class At(Quiet):
    """Does something when a stage begins."""

    def __init__(self, stage: str, what: Callable[[], None]) -> None:
        self._stage = stage
        self._what = what

    def stage(self, text: str) -> None:
        if text == self._stage:
            self._what()


def test_a_change_while_the_build_is_recorded_stops_the_switch(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(engine, with_lead(name, 12), data, tmp_path)
    before, templates = answers(engine, name), observe(engine, name).templates
    wanted = with_lead(name, 20)
    plan = plan_of(engine, wanted)
    live = observe(engine, name).live
    assert live is not None
    stray = names.view_alias(name, "stray")
    added = AliasAction("add", live.views["content"].index, stray)
    meddler = At("record", lambda: engine.update_aliases([added]))
    with pytest.raises(StalePlanError) as refused:
        apply_plan(engine, plan, options(tmp_path), source=open_source(str(data), wanted), progress=meddler)
    assert f"alias:{stray}" in refused.value.message
    assert answers(engine, name) == before
    ours = {key: found.body for key, found in observe(engine, name).templates.items() if key.startswith(f"{name}--")}
    assert ours == {key: found.body for key, found in templates.items() if key.startswith(f"{name}--")}
    engine.update_aliases([AliasAction("remove", live.views["content"].index, stray)])
    assert not read_status(engine, name, cluster="test").drifted
    put_live(engine, wanted, data, tmp_path)
    assert plan_of(engine, wanted).empty


def test_a_lost_lock_stops_the_load(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    from idxopt.builds.lockrecord import read_lock, unlock
    from idxopt.errors import LockedError

    wanted = program(name, views=2)

    def lose() -> None:
        held = read_lock(engine, name)
        assert held is not None
        unlock(engine, name, held[0].id, force=True)

    source = open_source(str(data), wanted)
    with pytest.raises(LockedError):
        apply_plan(engine, plan_of(engine, wanted), options(tmp_path), source=source, progress=At("gates", lose))
    assert observe(engine, name).live is None
    put_live(engine, wanted, data, tmp_path)
    assert plan_of(engine, wanted).empty
