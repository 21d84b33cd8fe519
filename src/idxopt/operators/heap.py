"""Memory of a long load: large buffers go back to the system as soon as they are freed.

Requests, pages and messages of some megabytes come and go by the thousand. glibc takes each freed one as a sign that
blocks of that size are common, keeps the next on its heap, and small objects between them then pin it: the process
grows by a third without holding more. A fixed threshold maps such blocks apart. This decides for a whole process, so
the command and its worker processes do it, and no function that somebody else's program may call.
"""

from __future__ import annotations

import ctypes

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 256 * 1024


def map_large_blocks() -> bool:
    """True where the C library can do it (glibc); elsewhere nothing happens."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES))
    except (AttributeError, OSError, TypeError):
        return False
