"""Every failure of the client or the cluster becomes an error of `idxopt.errors` here, and nowhere else.

A `Fault` also says what a caller may do about it: repeat at once, back off, send less, or give up. Nothing that could
hold a credential (headers, request bodies, the body of a 401) goes into a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import opensearchpy
import urllib3.exceptions

from idxopt.errors import Conflict, EngineError, Forbidden, NotFound, Overloaded, Rejected, Unauthorized, Unreachable

Kind = Literal["refused", "lost", "throttled", "too_large", "final"]
"""`refused`: never arrived. `lost`: sent, no reply, may have been done. `throttled`: turned away, nothing was done."""

REASON_LIMIT = 400
READ_ONLY = "free disk space or raise the watermark, then set index.blocks.read_only_allow_delete to null"
PLAIN_HTTP = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""What OpenSSL says where the answer to its greeting is HTTP."""
NOT_SERVING = {
    "cluster_manager_not_discovered_exception": "the cluster has no elected cluster manager",
    "master_not_discovered_exception": "the cluster has no elected cluster manager",
    "no_shard_available_action_exception": "no copy of a shard is available (red index)",
    "unavailable_shards_exception": "a primary shard is not active (red index)",
    "search_phase_execution_exception": "not all shards can be searched (red index)",
    "node_closed_exception": "the node is shutting down",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed request: the error to raise, and what kind of failure it is. `type` is the engine's own error type."""

    error: EngineError
    kind: Kind = "final"
    type: str = ""


class RequestFailed(Exception):
    """A single request failed. Carries its Fault to the place that decides; callers of the adapter never see it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault.error))
        self.fault = fault


def shortened(text: str) -> str:
    """One line of at most `REASON_LIMIT` characters: some reasons repeat a whole document or id in their middle."""
    line = " ".join(text.split())
    half = REASON_LIMIT // 2 - 3
    return line if len(line) <= REASON_LIMIT else f"{line[:half]} ... {line[-half:]}"


def reason_of(error: Any) -> str:
    """The reason in an `error` object of the engine, with its innermost cause."""
    if not isinstance(error, Mapping):
        return shortened(str(error))
    reason = str(error.get("reason") or error.get("type") or "no reason given")
    shards = error.get("failed_shards")
    if isinstance(shards, list) and shards and isinstance(shards[0], Mapping):
        reason = f"{reason}: {reason_of(shards[0].get('reason'))}"
    cause = error.get("caused_by")
    while isinstance(cause, Mapping):
        text = str(cause.get("reason") or cause.get("type") or "")
        if text and text not in reason:
            reason = f"{reason} ({text})"
        cause = cause.get("caused_by")
    return shortened(reason)


def types_of(error: Any) -> frozenset[str]:
    """All error types in an `error` object: its own, its root causes', its failed shards'."""
    if not isinstance(error, Mapping):
        return frozenset()
    found = {str(error.get("type", ""))}
    for cause in (*(error.get("root_cause") or ()), error.get("caused_by")):
        found |= types_of(cause)
    for shard in error.get("failed_shards") or ():
        found |= types_of(shard.get("reason")) if isinstance(shard, Mapping) else set()
    return frozenset(found - {""})


def classify(failure: Exception, place: str) -> Fault:
    """What a failed request of opensearch-py means. `place` names address, method and path."""
    if isinstance(failure, opensearchpy.exceptions.ConnectionError):
        return _no_answer(failure, place)
    if isinstance(failure, opensearchpy.exceptions.SerializationError):
        return Fault(
            EngineError(
                "the answer is not JSON",
                remedy="check that the address is that of an OpenSearch cluster, not of a web page or a login proxy",
                place=place,
            )
        )
    if isinstance(failure, opensearchpy.exceptions.TransportError) and isinstance(failure.status_code, int):
        info = failure.info if isinstance(failure.info, Mapping) else {}
        return from_status(failure.status_code, info.get("error", failure.error), place)
    return Fault(EngineError(shortened(f"the request failed: {failure}"), place=place))


def _no_answer(failure: opensearchpy.exceptions.ConnectionError, place: str) -> Fault:
    cause = failure.info
    if isinstance(failure, opensearchpy.exceptions.SSLError) or isinstance(cause, urllib3.exceptions.SSLError):
        if any(sign in str(cause) for sign in PLAIN_HTTP):
            message, remedy = "this port speaks plain HTTP, not TLS", "write http:// instead of https:// in the address"
            return Fault(Unreachable(message, remedy=remedy, place=place), "refused")
        return Fault(
            Unreachable(
                shortened(f"the TLS connection failed: {cause}"),
                remedy="give the cluster's CA certificate (and a client certificate where the cluster asks for one), "
                "and use the host name that the server's certificate names",
                place=place,
            )
        )
    if isinstance(cause, urllib3.exceptions.NameResolutionError):
        message, remedy = "the host name cannot be resolved", "check the host name in the address"
        return Fault(Unreachable(message, remedy=remedy, place=place), "refused")
    if isinstance(cause, urllib3.exceptions.ConnectTimeoutError) and not isinstance(
        cause, urllib3.exceptions.NewConnectionError
    ):
        message, remedy = "the host does not answer", "check address, port and firewall"
        return Fault(Unreachable(message, remedy=remedy, place=place), "refused")
    if isinstance(cause, urllib3.exceptions.NewConnectionError):
        message, remedy = "the connection was refused", "check the address and port, and that the cluster is running"
        return Fault(Unreachable(message, remedy=remedy, place=place), "refused")
    if isinstance(failure, opensearchpy.exceptions.ConnectionTimeout):
        message, remedy = "no answer within the time-out", "look at the cluster's load, or raise the time-out"
        return Fault(Unreachable(message, remedy=remedy, place=place), "lost")
    return Fault(
        Unreachable(
            "the connection was closed before the answer came",
            remedy="run the command again: it goes on where it stopped; if it stays, look at proxies in between",
            place=place,
        ),
        "lost",
    )


def from_status(status: int, error: Any, place: str) -> Fault:
    """What an HTTP status and the engine's `error` object mean (also for one item of a bulk reply)."""
    reason = reason_of(error)
    types = types_of(error)
    first = str(error.get("type", "")) if isinstance(error, Mapping) else ""
    if "cluster_block_exception" in types or "index_create_block_exception" in types:
        return Fault(_blocked(status, reason, place), type=first)
    for name, text in NOT_SERVING.items():
        if name in types and status == 503:
            remedy = "look at GET _cluster/health and GET _cluster/allocation/explain, then run again"
            return Fault(Unreachable(text, remedy=remedy, place=place, status=status), "throttled", first)
    if "search_context_missing_exception" in types:
        remedy = "run again; between two pages of a full read at most 30 minutes may pass"
        error_of = EngineError("the point in time has expired or its node is gone", remedy=remedy, place=place)
        return Fault(error_of, type="search_context_missing_exception")
    if "index_not_found_exception" in types:
        remedy = "check the name; run `plan` to see what is there"
        return Fault(NotFound(reason, remedy=remedy, place=place, status=404), type="index_not_found_exception")
    if "resource_already_exists_exception" in types:
        remedy = "run `plan` again: something made it in the meantime"
        return Fault(Conflict(reason, remedy=remedy, place=place, status=status), type=first)
    return _by_status(status, reason, first, place)


def _blocked(status: int, reason: str, place: str) -> EngineError:
    if "flood-stage" in reason or "read-only / allow delete" in reason:
        return Forbidden(
            f"the index is read-only because a disk is full: {reason}", remedy=READ_ONLY, place=place, status=status
        )
    if "SERVICE_UNAVAILABLE" in reason:
        return Unreachable(reason, remedy="wait until the cluster has recovered its state", place=place, status=status)
    return Forbidden(
        reason,
        remedy="remove the block (see GET _all/_settings/index.blocks.*, GET _cluster/settings)",
        place=place,
        status=status,
    )


def _by_status(status: int, reason: str, type_: str, place: str) -> Fault:
    error: EngineError
    match status:
        case 401:
            remedy = "check user and password, certificate or token of this cluster profile"
            error = Unauthorized("the cluster refuses the credentials", remedy=remedy, place=place, status=status)
        case 403:
            remedy = "grant the user the privilege that the reason names"
            error = Forbidden(reason, remedy=remedy, place=place, status=status)
        case 404:
            error = NotFound(reason, remedy="check the name", place=place, status=status)
        case 409:
            error = Conflict(reason, remedy="read the present state and decide again", place=place, status=status)
        case 413:
            remedy = "send less in one request, or raise http.max_content_length"
            error = Rejected("the request is too large", remedy=remedy, place=place, status=status)
            return Fault(error, "too_large", type_)
        case 429 | 503:
            remedy = "run again when the cluster has less load"
            error = Overloaded(f"the cluster turns requests away: {reason}", remedy=remedy, place=place, status=status)
            return Fault(error, "throttled", type_)
        case 502 | 504:
            remedy = "look at the proxy in front of the cluster, then run again"
            error = Unreachable(
                f"a proxy got no answer from the cluster: {reason}", remedy=remedy, place=place, status=status
            )
            return Fault(error, "lost", type_)
        case 400 | 405 | 406 | 415:
            error = Rejected(reason, remedy=_rejection_remedy(reason), place=place, status=status)
        case _:
            error = EngineError(reason, remedy="look at the log of the cluster", place=place, status=status)
    return Fault(error, "final", type_)


def _rejection_remedy(reason: str) -> str:
    if "maximum shards open" in reason:
        return "delete unused indices or raise cluster.max_shards_per_node"
    if "default_pipeline" in reason or "pipeline with id" in reason:
        return "create the pipeline again (`plan` shows it), or set index.default_pipeline to _none"
    return "the reason names what the cluster does not accept"
