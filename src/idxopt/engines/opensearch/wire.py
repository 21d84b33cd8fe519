"""Requests to the cluster through opensearch-py: addresses, authentication, time-outs and retries in one place."""

from __future__ import annotations

import base64
import json
import logging
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import certifi
import opensearchpy
import orjson
import tenacity
import urllib3
from opensearchpy.serializer import JSONSerializer

from idxopt.engines.opensearch.faults import Fault, RequestFailed, classify
from idxopt.errors import ConfigError, EngineError

logger = logging.getLogger("idxopt.engines.opensearch")
# The client logs every 404 as a warning with a traceback; without a handler Python prints those on stderr.
logging.getLogger("opensearch").addHandler(logging.NullHandler())

READ_ATTEMPTS = 6
CONNECTIONS = 32


def json_bytes(data: Any) -> bytes:
    """JSON, also of lone surrogates (undecodable bytes on a command line) and of integers beyond 64 bits."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return json.dumps(data, separators=(",", ":")).encode("ascii")


class _Json(JSONSerializer):
    """orjson both ways; remembers the size of the last answer of this thread, which bounds the next page of a scan."""

    def __init__(self) -> None:
        self.last = threading.local()

    def loads(self, s: str) -> Any:
        self.last.size = len(s)
        try:
            return orjson.loads(s)
        except orjson.JSONDecodeError:
            return super().loads(s)  # lone surrogates: stored by others, legal for Python's parser only

    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str | bytes) else json_bytes(data)


class _Connection(opensearchpy.Urllib3HttpConnection):  # type: ignore[misc, unused-ignore]
    """Keeps the client quiet: failures are raised as our errors, deprecation headers are not the user's business."""

    def log_request_fail(self, method: str, full_url: str, *_: Any, **__: Any) -> None:
        logger.debug("%s %s failed", method, full_url)

    def _raise_warnings(self, warning_headers: Any) -> None:
        for text in warning_headers or ():
            logger.debug("warning header: %s", text)


def segment(value: str) -> str:
    """One path segment; `/`, `%`, spaces and non-ASCII are escaped."""
    return quote(value, safe="*,-._~")


class Wire:
    """A connection to one cluster. Thread-safe."""

    def __init__(
        self, client: opensearchpy.OpenSearch, serializer: _Json, addresses: Sequence[str], timeout_s: float
    ) -> None:
        self._client = client
        self._serializer = serializer
        self._addresses = len(addresses)
        self.address = ", ".join(address.rstrip("/") for address in addresses)
        self.timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<Wire {self.address}>"

    def close(self) -> None:
        self._client.close()

    @property
    def last_size(self) -> int:
        """Characters in the last answer that this thread got."""
        return int(getattr(self._serializer.last, "size", 0))

    def place(self, method: str, path: str) -> str:
        return f"{self.address}: {method} {path}"

    def once(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """One request, never repeated; only another address is tried where one refuses. Raises RequestFailed."""
        for others in reversed(range(self._addresses)):
            # The client takes `timeout` and `ignore` out of params unless they are given as arguments.
            try:
                answer = self._client.transport.perform_request(
                    method, path, params=dict(params or {}), body=body, timeout=timeout_s or self.timeout_s, ignore=()
                )
                break
            except opensearchpy.exceptions.OpenSearchException as failure:
                fault = classify(failure, self.place(method, path))
                if fault.kind != "refused" or not others:
                    raise RequestFailed(fault) from failure
        if not isinstance(answer, dict | list):
            message = "the answer is not JSON"
            remedy = "check that the address is that of an OpenSearch cluster, not of a web page or a login proxy"
            raise RequestFailed(Fault(EngineError(message, remedy=remedy, place=self.place(method, path))))
        return answer

    def repeat(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """A request that may be repeated without harm: after a dropped connection, 429 or 503 it is, for some seconds.

        Raises RequestFailed. Time-outs, refused connections and TLS failures are not repeated.
        """
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(READ_ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=5),
            retry=tenacity.retry_if_exception(_worth_repeating),
            reraise=True,
        ):
            with attempt:
                return self.once(method, path, body, params=params, timeout_s=timeout_s)
        raise AssertionError("tenacity ended without result or error")

    def get(self, path: str, **params: Any) -> Any:
        """A repeatable GET; raises errors of `idxopt.errors`."""
        return self.ask("GET", path, params=params)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """`repeat`, raising errors of `idxopt.errors`."""
        try:
            return self.repeat(method, path, body, params=params, timeout_s=timeout_s)
        except RequestFailed as failed:
            raise failed.fault.error from failed.__cause__

    def find(self, path: str, **params: Any) -> Any | None:
        """A repeatable GET where 404 is the answer None."""
        try:
            return self.repeat("GET", path, params=params)
        except RequestFailed as failed:
            if failed.fault.error.status == 404:
                return None
            raise failed.fault.error from failed.__cause__


def _worth_repeating(failure: BaseException) -> bool:
    if not isinstance(failure, RequestFailed):
        return False
    if failure.fault.kind == "lost":
        return not isinstance(failure.__cause__, opensearchpy.exceptions.ConnectionTimeout)
    return failure.fault.kind == "throttled"


def open_wire(
    urls: str | Sequence[str],
    *,
    user: str | None = None,
    password: str | None = None,
    ca: str | Path | None = None,
    client_cert: str | Path | None = None,
    client_key: str | Path | None = None,
    verify: bool = True,
    timeout_s: float = 30.0,
    headers: Mapping[str, str] | None = None,
) -> Wire:
    """Checks the arguments and makes a client; no request is sent. Raises ConfigError."""
    addresses = [urls] if isinstance(urls, str) else list(urls)
    if not addresses:
        raise ConfigError(
            "no address is given", remedy="set `url` of the cluster profile, such as http://localhost:9200"
        )
    hosts = [_host(address) for address in addresses]
    if (user is None) != (password is None):
        raise ConfigError("user and password must be given together", remedy="set both, or neither")
    secure = any(host["use_ssl"] for host in hosts)
    if (ca or client_cert) and not secure:
        raise ConfigError(
            "certificates are given, but the address is not https", remedy="write https:// in the address"
        )
    serializer = _Json()
    options: dict[str, Any] = {}
    if secure:
        options["ssl_context"] = _tls(ca, client_cert, client_key, verify)
    sent = dict(headers or {})
    if user is not None:
        sent["authorization"] = _basic(user, password or "")
    client = opensearchpy.OpenSearch(
        hosts=hosts,
        connection_class=_Connection,
        serializer=serializer,
        timeout=timeout_s,
        # Retries are decided per request: repeating a switch of aliases whose reply was lost would misread its outcome.
        max_retries=0,
        pool_maxsize=CONNECTIONS,
        headers=sent,
        **options,
    )
    return Wire(client, serializer, addresses, timeout_s)


def _basic(user: str, password: str) -> str:
    """The client encodes credentials as Latin-1, OpenSearch reads UTF-8."""
    if ":" in user:
        raise ConfigError("a user name cannot hold a colon", remedy="check user and password")
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def _host(address: str) -> dict[str, Any]:
    remedy = "write it as http://host:9200 or https://host:9200"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ConfigError("the address is not a URL", remedy=remedy) from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "the address holds a user or password",
            remedy="take it out and give it as a reference (env:, file:, keyring:)",
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{address!r} is not the address of a cluster", remedy=remedy)
    secure = parts.scheme == "https"
    return {
        "host": parts.hostname,
        "port": port or (443 if secure else 9200),
        "use_ssl": secure,
        "url_prefix": parts.path.rstrip("/"),
    }


def _tls(ca: str | Path | None, cert: str | Path | None, key: str | Path | None, verify: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=str(ca) if ca else None)
    except (OSError, ssl.SSLError) as failure:
        raise ConfigError(
            f"cannot be read as a CA certificate ({failure})", place=str(ca), remedy="give a PEM file"
        ) from None
    context.hostname_checks_common_name = False  # only the names that the certificate lists
    if not ca:
        context.load_verify_locations(cafile=certifi.where())
    if cert:
        try:
            # A callable instead of a prompt on the terminal for encrypted keys.
            context.load_cert_chain(str(cert), str(key) if key else None, password=lambda: b"")
        except (OSError, ssl.SSLError) as failure:
            message = f"cannot be read as a client certificate with its key ({failure})"
            raise ConfigError(message, place=str(cert), remedy="give PEM files, the key unencrypted") from None
    if not verify:
        # The user has said so; a warning on every connection would only drown the output.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
