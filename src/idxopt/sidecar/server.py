"""Listening: one socket, one process, and a graceful end on SIGTERM or Ctrl-C."""

from __future__ import annotations

import math
import socket
from collections.abc import Sequence

import uvicorn

from idxopt.errors import UsageError
from idxopt.sidecar.app import create_app
from idxopt.sidecar.served import Model
from idxopt.sidecar.settings import SidecarSettings

_BACKLOG = 2_048


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound and can be served. Raises UsageError when the address is taken or not ours.

    It says that it speaks TCP: asyncio switches Nagle's algorithm off for such sockets only, and with it on, every
    answer of a kept connection is 40 ms late.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot listen there ({why})", place=f"{host}:{port}", remedy="choose another --port or --host"
        ) from error
    return listening


def address(listening: socket.socket) -> str:
    """The URL of a bound socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local(host: str) -> bool:
    """True for an address that only this machine reaches."""
    return host in ("localhost", "::1") or host.startswith("127.")


def server(models: Sequence[Model], settings: SidecarSettings, *, token: str | None = None) -> uvicorn.Server:
    """A server to run on a listening socket: `server(...).run([socket])`.

    On SIGTERM it takes no new connection, answers what it has for up to `drain_s` seconds, and ends.
    """
    config = uvicorn.Config(
        create_app(models, settings, token=token),
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=settings.connections,
        timeout_graceful_shutdown=math.ceil(settings.drain_s),
    )
    return uvicorn.Server(config)
