"""A forward proxy in front of a real node that does to requests and replies what networks and busy clusters do."""

from tests.faults.bulk import BulkFault
from tests.faults.proxy import FaultProxy, Seen
from tests.faults.rules import Answer, Delay, Drop, Hold, Kill, Match, Reply, Request, Rule, Silence

__all__ = [
    "Answer",
    "BulkFault",
    "Delay",
    "Drop",
    "FaultProxy",
    "Hold",
    "Kill",
    "Match",
    "Reply",
    "Request",
    "Rule",
    "Seen",
    "Silence",
]
