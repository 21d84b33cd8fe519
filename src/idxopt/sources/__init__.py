"""Where documents come from: files, folders, BEIR collections and existing indices, read in constant memory."""

from idxopt.sources.opening import open_source
from idxopt.sources.rejects import Reject, Rejects
from idxopt.sources.snapshot import Snapshot, take_snapshot
from idxopt.sources.source import Estimate, Options, Source

__all__ = ["Estimate", "Options", "Reject", "Rejects", "Snapshot", "Source", "open_source", "take_snapshot"]
