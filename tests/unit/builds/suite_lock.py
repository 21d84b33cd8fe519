"""Contract 7 on every engine."""

import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from idxopt.builds import names
from idxopt.builds.lock import Lock, LockSettings
from idxopt.builds.lockrecord import LockRecord, read_lock, unlock
from idxopt.engines.port import AliasAction, Engine
from idxopt.errors import BuildError, Conflict, LockedError, Unreachable
from tests.unit.builds.samples import LosesReplies, ManualClock, fresh_name


class LockSuite:
    """Contract 7."""

    fast = LockSettings(heartbeat_s=0.1, ttl_s=2.0)

    def test_the_second_one_is_refused_as_soon_as_the_first_moves(self, engine: Engine) -> None:
        name = fresh_name()
        with Lock(engine, name, "apply", settings=self.fast, who="first@here") as held:
            started = time.monotonic()
            with pytest.raises(LockedError) as caught:
                Lock(engine, name, "apply", settings=self.fast).acquire()
            assert time.monotonic() - started < 1.5
            assert caught.value.exit_code == 3
            for part in ("first@here", "apply", held.id):
                assert part in caught.value.message
            assert f"idxopt unlock {held.id}" in (caught.value.remedy or "")
            held.check()
            held.confirm()
            assert held.alias in engine.aliases(held.alias)
        assert read_lock(engine, name) is None
        assert not engine.aliases(f"{names.lock_alias(name, '')}*")
        with Lock(engine, name, "apply", settings=self.fast):
            pass

    def test_names_do_not_lock_each_other(self, engine: Engine) -> None:
        name = fresh_name()
        with Lock(engine, f"{name}-x", "apply", settings=self.fast) as longer:
            with Lock(engine, name, "apply", settings=self.fast):
                pass
            longer.confirm()
            assert longer.alias in engine.aliases(longer.alias)

    def test_a_timeout_waits_for_the_release(self, engine: Engine) -> None:
        name = fresh_name()
        first = Lock(engine, name, "apply", settings=self.fast)
        first.acquire()
        timer = threading.Timer(0.6, first.release)
        timer.start()
        with Lock(engine, name, "apply", settings=LockSettings(0.1, 2.0, timeout_s=30)) as second:
            second.confirm()
        timer.join()

    def test_a_dead_holder_is_taken_over_after_a_countdown_and_cannot_commit(self, engine: Engine) -> None:
        name = fresh_name()
        paused = ManualClock()
        stopped = Lock(engine, name, "apply", who="stopped@there", clock=paused)
        stopped.acquire()
        seen: list[tuple[str, float]] = []

        def on_wait(record: LockRecord, left: float) -> None:
            seen.append((record.who, left))

        clock = ManualClock()
        with Lock(engine, name, "rollback", clock=clock, on_wait=on_wait, who="next@here") as taken:
            assert clock.time - 1_000 >= 60
            assert {who for who, _ in seen} == {"stopped@there"}
            assert [left for _, left in seen] == sorted((left for _, left in seen), reverse=True)
            assert engine.aliases(f"{names.lock_alias(name, '')}*").keys() == {taken.alias}
            # SIGCONT: whatever the stopped one believes, its commit fails as a whole.
            alias = f"{name}--probe"
            with pytest.raises(Conflict):
                engine.update_aliases([AliasAction("add", names.STATE_INDEX, alias), stopped.fence_removal()])
            assert not engine.aliases(alias)
            with pytest.raises(LockedError, match="next@here took it over for `rollback`"):
                stopped.confirm()
            with pytest.raises(LockedError, match="lost"):
                stopped.check()
            stopped.release()
            taken.confirm()
            assert taken.alias in engine.aliases(taken.alias)

    def test_a_holder_that_woke_up_notices_in_check(self, engine: Engine) -> None:
        name = fresh_name()
        paused = ManualClock()
        stopped = Lock(engine, name, "apply", clock=paused)
        stopped.acquire()
        stopped.check()
        with Lock(engine, name, "apply", clock=ManualClock()):
            stopped.check()
            paused.time += 61
            with pytest.raises(LockedError):
                stopped.check()
        stopped.release()

    def test_a_slow_holder_that_nobody_superseded_goes_on(self, engine: Engine) -> None:
        paused = ManualClock()
        with Lock(engine, fresh_name(), "apply", clock=paused) as slow:
            paused.time += 600
            slow.check()
            slow.confirm()

    def test_a_waiter_that_sees_life_gives_up_or_waits_on(self, engine: Engine) -> None:
        name = fresh_name()
        holder = Lock(engine, name, "apply", clock=ManualClock())
        holder.acquire()
        clock = ManualClock(on_sleep=holder.confirm)  # every look finds a new heartbeat
        with pytest.raises(LockedError):
            Lock(engine, name, "apply", clock=clock).acquire()
        assert clock.time - 1_000 <= 1
        with pytest.raises(LockedError):
            Lock(engine, name, "apply", clock=clock, settings=LockSettings(timeout_s=20)).acquire()
        assert 20 <= clock.time - 1_000 <= 23
        holder.confirm()
        holder.release()

    @pytest.mark.parametrize("method", ["put_document", "update_aliases", "delete_document"])
    def test_lost_replies_do_not_lose_the_lock(self, engine: Engine, method: str) -> None:
        name = fresh_name()
        flaky: Any = LosesReplies(engine, method)
        with Lock(flaky, name, "apply", clock=ManualClock()) as held:
            held.confirm()
            assert held.alias in engine.aliases(held.alias)
        assert read_lock(engine, name) is None
        assert not engine.aliases(held.alias)

    def test_a_heartbeat_whose_reply_was_lost_is_still_ours(self, engine: Engine) -> None:
        flaky: Any = LosesReplies(engine, "put_document", times=0)
        with Lock(flaky, fresh_name(), "apply", clock=ManualClock()) as held:
            flaky._left = 1
            with suppress(Unreachable):
                held.confirm()
            held.confirm()

    def test_the_fence_falls_with_the_commit_and_may_be_raised_again(self, engine: Engine) -> None:
        with Lock(engine, fresh_name(), "apply", settings=self.fast) as held:
            engine.update_aliases([held.fence_removal()])
            with pytest.raises(Conflict):
                engine.update_aliases([held.fence_removal()])
            held.raise_fence_again()
            engine.update_aliases([held.fence_removal()])
            held.confirm()

    def test_unlock_wants_the_id_and_a_silent_holder(self, engine: Engine) -> None:
        name = fresh_name()
        with pytest.raises(BuildError, match="is not locked"):
            unlock(engine, name, "00000000")
        clock = ManualClock()
        holder = Lock(engine, name, "apply", clock=clock, who="me@here")
        holder.acquire()
        with pytest.raises(LockedError, match=holder.id):
            unlock(engine, name, "00000000", clock=clock)
        clock.time += 9
        with pytest.raises(LockedError, match="alive: its last heartbeat was 9 s ago"):
            unlock(engine, name, holder.id, clock=clock)
        clock.time += 2
        assert unlock(engine, name, holder.id, clock=clock).who == "me@here"
        with pytest.raises(Conflict):
            engine.update_aliases([holder.fence_removal()])
        with pytest.raises(LockedError, match="removed"):
            holder.confirm()
        holder.release()

    def test_unlock_by_force(self, engine: Engine) -> None:
        name = fresh_name()
        holder = Lock(engine, name, "apply", settings=self.fast)
        holder.acquire()
        for _ in range(20):  # the heart beats: one of the tries falls between two beats
            with suppress(LockedError):
                unlock(engine, name, holder.id, force=True)
                break
        assert read_lock(engine, name) is None
        holder.release()

    def test_many_at_once_hold_it_one_after_the_other(self, engine: Engine) -> None:
        name = fresh_name()
        inside: list[int] = []
        most: list[int] = []

        def work(number: int) -> None:
            with Lock(engine, name, f"apply {number}", settings=LockSettings(0.1, 30.0, timeout_s=60)):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.05)
                inside.remove(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1, 1, 1, 1]
