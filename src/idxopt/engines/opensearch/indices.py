"""Indices, their state as the port describes it, and the wait for their shards."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, cast

from idxopt.engines.opensearch.faults import RequestFailed
from idxopt.engines.opensearch.names import concrete, matcher, own_settings, pattern_of
from idxopt.engines.opensearch.wire import Wire, segment
from idxopt.engines.port import Body, IndexState, IndexStats
from idxopt.errors import Conflict, EngineError, NotFound, Unauthorized, Unreachable

Health = Literal["green", "yellow", "red", "unknown"]
MAX_SHARDS = "cluster.max_shards_per_node"
WAITED_FOR = frozenset({"yes", "throttled", "awaiting_info", "allocation_delayed", "no_attempt"})


def state_of(name: str, found: Mapping[str, Any], health: Health) -> IndexState:
    """One entry of a `GET /index` answer with flat settings."""
    settings = found["settings"]
    return IndexState(name, settings["index.uuid"], own_settings(settings), found["mappings"], found["aliases"], health)


def read_index(wire: Wire, name: str) -> IndexState | None:
    """The index of that real name, None when there is none (also where the name is an alias)."""
    found = wire.find(f"/{segment(concrete(name))}", flat_settings="true", expand_wildcards="all")
    if found is None or name not in found:
        return None
    return state_of(name, found[name], _health(wire, name).get(name, "unknown"))


def list_indices(wire: Wire, pattern: str) -> list[IndexState]:
    """All indices whose real name matches, hidden and closed ones too, by name."""
    found = wire.find(f"/{segment(pattern_of(pattern))}", flat_settings="true", expand_wildcards="all") or {}
    wanted = matcher(pattern)
    names = sorted(name for name in found if wanted.match(name))
    health = _health(wire, pattern) if names else {}
    return [state_of(name, found[name], health.get(name, "unknown")) for name in names]


def read_uuid(wire: Wire, name: str) -> str | None:
    """The uuid of the index of that real name."""
    found = wire.find(f"/{segment(concrete(name))}/_settings/index.uuid", flat_settings="true", expand_wildcards="all")
    return found[name]["settings"]["index.uuid"] if found and name in found else None


def _health(wire: Wire, pattern: str) -> dict[str, Health]:
    try:
        answer = wire.get(f"/_cluster/health/{segment(pattern)}", level="indices", expand_wildcards="all", timeout="0s")
    except EngineError:  # a user who may read indices need not be allowed to read the cluster's health
        return {}
    return {name: cast(Health, state["status"]) for name, state in (answer.get("indices") or {}).items()}


def create_index(wire: Wire, name: str, body: Body) -> IndexState:
    """Creates and reads back.

    When the reply is lost and the name is then taken, an empty index with this very `_meta` is the one that was made.
    """
    path = f"/{segment(concrete(name))}"
    lost = False
    while True:
        try:
            wire.once("PUT", path, body, timeout_s=max(wire.timeout_s, 60))
            break
        except RequestFailed as failed:
            if isinstance(failed.fault.error, Conflict) and lost and _just_made(wire, name, body):
                break
            if failed.fault.kind != "lost" or lost:
                raise failed.fault.error from failed.__cause__
            lost = True
    state = read_index(wire, name)
    if state is None:
        raise Conflict("the index was deleted right after it was made", place=name, remedy="run again")
    return state


def _just_made(wire: Wire, name: str, body: Body) -> bool:
    state = read_index(wire, name)
    wanted = (body.get("mappings") or {}).get("_meta")
    if state is None or wanted is None or state.mappings.get("_meta") != wanted:
        return False
    return all(checkpoint < 0 for checkpoint in read_stats(wire, name).checkpoints.values())


def delete_index(wire: Wire, name: str, uuid: str) -> None:
    """Deletes the index of that name and uuid. Between the look and the deletion another run could still replace it:
    the engine has no deletion by uuid. Names are unique by content and writers hold a lock, so only a foreign hand can.
    """
    found = read_uuid(wire, name)
    if found is None:
        return
    if found != uuid:
        raise Conflict(
            f"the index now has the uuid {found} instead of {uuid}: it was made anew",
            place=name,
            remedy="run `plan` again and decide with what is there now",
        )
    try:
        wire.repeat("DELETE", f"/{segment(concrete(name))}", timeout_s=max(wire.timeout_s, 60))
    except RequestFailed as failed:
        if failed.fault.error.status != 404:
            raise failed.fault.error from failed.__cause__


def read_stats(wire: Wire, index: str) -> IndexStats:
    """Counts of the primaries. Raises NotFound, and EngineError when a shard did not answer."""
    answer = wire.get(f"/{segment(concrete(index))}/_stats/docs,store", level="shards", expand_wildcards="all")
    if answer["_shards"]["failed"]:
        raise EngineError("not every shard answered", place=index, remedy="wait until the index is green")
    found = answer["indices"].get(index)
    if found is None:
        raise NotFound("there are no figures of this index", place=index, remedy="give its real name, and open it")
    primaries = found["primaries"]
    checkpoints = {
        int(number): int(copy["seq_no"]["global_checkpoint"])
        for number, copies in found["shards"].items()
        for copy in copies
        if copy["routing"]["primary"] and "seq_no" in copy
    }
    docs = primaries["docs"]
    return IndexStats(docs["count"], docs["deleted"], primaries["store"]["size_in_bytes"], checkpoints)


def shard_room(wire: Wire) -> int | None:
    """Shards that may still be made: the limit of a node times the data nodes, less those there are. None where there
    is no limit or this user may not read it.
    """
    try:
        answer = wire.get(
            "/_cluster/settings",
            include_defaults="true",
            flat_settings="true",
            filter_path="*.*max_shards_per_node",
        )
        health = wire.get("/_cluster/health", timeout="5s")
    except (Unauthorized, Unreachable):
        raise
    except EngineError:
        return None
    limits = [answer.get(level, {}).get(MAX_SHARDS) for level in ("transient", "persistent", "defaults")]
    limit = next((int(one) for one in limits if one is not None), -1)
    if limit < 0:
        return None
    present = sum(int(health[kind]) for kind in ("active_shards", "initializing_shards", "unassigned_shards"))
    return max(0, limit * int(health["number_of_data_nodes"]) - present)


def wait_started(wire: Wire, index: str, timeout_s: float) -> None:
    """Until all primaries are started and no replica is left that a node could take. Raises Unreachable on time-out."""
    deadline = time.monotonic() + timeout_s
    path = f"/_cluster/health/{segment(concrete(index))}"
    while True:
        try:
            answer = wire.get(path, level="shards", expand_wildcards="all", timeout="0s")
        except EngineError as error:
            if error.status != 408:
                raise
            # The engine would wait for an index of this name to appear.
            raise NotFound("there is no such index", place=index, remedy="check the name") from error
        state = answer["indices"][index]
        waiting = _waiting(wire, index, state, int(answer["number_of_data_nodes"]))
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise Unreachable(
                f"{waiting} within {timeout_s:g} s",
                place=index,
                remedy="look at GET _cluster/allocation/explain, then run again",
            )
        time.sleep(min(0.2, max(0.0, deadline - time.monotonic())))


def _waiting(wire: Wire, index: str, state: Mapping[str, Any], data_nodes: int) -> str:
    """What is still missing, in words; empty when nothing is."""
    shards: Mapping[str, Any] = state["shards"]
    inactive = [number for number, shard in shards.items() if not shard["primary_active"]]
    if inactive:
        return f"the primary of shard {', '.join(inactive)} did not start"
    if state["initializing_shards"]:
        return f"{state['initializing_shards']} copies did not finish starting"
    for number, shard in shards.items():
        if shard["unassigned_shards"] and _can_be_placed(wire, index, int(number), shard, data_nodes):
            return f"a replica of shard {number} was not placed"
    return ""


def _can_be_placed(wire: Wire, index: str, number: int, shard: Mapping[str, Any], data_nodes: int) -> bool:
    if shard["active_shards"] >= data_nodes:
        return False  # two copies never share a node
    body = {"index": index, "shard": number, "primary": False}
    try:
        answer = wire.ask("POST", "/_cluster/allocation/explain", body)
    except EngineError as error:
        # 400: assigned in the meantime, look again. Not allowed to ask: the number of nodes is all there is to go by.
        return error.status == 400
    return answer.get("can_allocate", "yes") in WAITED_FOR
