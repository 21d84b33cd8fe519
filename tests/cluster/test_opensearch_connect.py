"""Connecting: addresses, TLS, credentials, and that no secret shows up anywhere."""

import logging
import shutil
import socket
import ssl
import subprocess
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import ConfigError, Unauthorized, Unreachable
from tests.conftest import skip_or_fail

PASSWORD = "s3cret:pässwörd"
ROOT = b'{"cluster_uuid":"u","version":{"number":"3.5.0","distribution":"opensearch","lucene_version":"10.3.2"}}'


class _Guarded(BaseHTTPRequestHandler):
    """`GET /` for one user only; the security plugin's 401 is plain text."""

    seen: list[str | None]

    def do_GET(self) -> None:
        given = self.headers.get("authorization")
        self.seen.append(given)
        allowed = given == "Basic YWRtaW46czNjcmV0OnDDpHNzd8O2cmQ="
        body = (ROOT if self.path == "/" else b"{}") if allowed else b"Unauthorized"
        self.send_response(200 if allowed else 401)
        self.send_header("content-type", "application/json" if allowed else "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def serve(context: ssl.SSLContext | None = None) -> Iterator[str]:
    handler = type("Handler", (_Guarded,), {"seen": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def guarded() -> Iterator[str]:
    yield from serve()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        skip_or_fail("openssl is not installed: no certificates to test with")
    folder = tmp_path_factory.mktemp("certificates")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def encrypted(certificates: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    yield from serve(context)


@pytest.fixture
def mutual(certificates: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    context.load_verify_locations(certificates / "cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    yield from serve(context)


def test_credentials_arrive_as_utf8(guarded: str) -> None:
    with OpenSearchEngine.connect(guarded, user="admin", password=PASSWORD) as engine:
        assert engine.capabilities().version == "3.5.0"


def test_a_wrong_password_is_one_clear_error(guarded: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong, headers = "wr0ng-pässwörd", {"x-token": "t0ken"}
    with pytest.raises(Unauthorized, match="refuses the credentials") as caught:
        OpenSearchEngine.connect(guarded, user="admin", password=wrong, headers=headers)
    shown = caplog.text + "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for secret in (wrong, "t0ken", "YWRtaW46"):
        assert secret not in shown
    assert caught.value.status == 401


def test_no_secret_in_representations_or_logs(guarded: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with OpenSearchEngine.connect(guarded, user="admin", password=PASSWORD) as engine:
        shown = f"{engine!r} {engine._wire!r} {engine._wire._client!r} {engine._wire._client.transport!r} {caplog.text}"
    for secret in (PASSWORD, "czNjcmV0OnDDpHNzd8O2cmQ"):
        assert secret not in shown


def test_nothing_is_printed(guarded: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unauthorized):
        OpenSearchEngine.connect(guarded)
    assert capfd.readouterr() == ("", "")


def test_tls(encrypted: str, certificates: Path) -> None:
    secret: Any = {"user": "admin", "password": PASSWORD}
    with OpenSearchEngine.connect(encrypted, ca=certificates / "cert.pem", **secret) as engine:
        assert engine.capabilities().cluster_uuid == "u"
    with OpenSearchEngine.connect(encrypted, verify=False, **secret) as engine:
        assert engine.capabilities().cluster_uuid == "u"
    with pytest.raises(Unreachable, match="TLS") as caught:
        OpenSearchEngine.connect(encrypted, **secret)
    assert "CA certificate" in str(caught.value.remedy)
    with pytest.raises(Unreachable, match="TLS"):
        OpenSearchEngine.connect(encrypted.replace("127.0.0.1", "localhost"), ca=certificates / "cert.pem", **secret)


@pytest.mark.parametrize("verify", [True, False])
def test_client_certificates(mutual: str, certificates: Path, verify: bool) -> None:
    pem, key = certificates / "cert.pem", certificates / "key.pem"
    secret: Any = {"user": "admin", "password": PASSWORD}
    with OpenSearchEngine.connect(mutual, ca=pem, client_cert=pem, client_key=key, verify=verify, **secret) as engine:
        assert engine.capabilities().cluster_uuid == "u"
    with pytest.raises(Unreachable):
        OpenSearchEngine.connect(mutual, ca=pem, verify=verify, **secret)


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(Unreachable, match="connection was refused") as caught:
            OpenSearchEngine.connect(f"http://127.0.0.1:{port}")
    assert f"http://127.0.0.1:{port}: GET /" == caught.value.place
    with pytest.raises(Unreachable, match="cannot be resolved"):
        OpenSearchEngine.connect("http://no-such-host.invalid:9200")


def test_http_spoken_to_an_https_port_and_the_other_way_round(encrypted: str, guarded: str) -> None:
    with pytest.raises(Unreachable):
        OpenSearchEngine.connect(encrypted.replace("https", "http"))
    with pytest.raises(Unreachable):
        OpenSearchEngine.connect(guarded.replace("http", "https"))


@pytest.mark.parametrize(
    "address",
    [
        "http://admin:s3cret@localhost:9200",
        "https://admin@localhost",
        "localhost:9200",
        "ftp://localhost",
        "http://",
        "http://localhost:99999",
        "http://localhost:port",
        "http://localhost:9200/?pretty",
        "http://[::1",
        "",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenSearchEngine.connect(address)
    assert "s3cret" not in str(caught.value)
    assert caught.value.remedy


def test_arguments_that_make_no_sense(certificates: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for url, arguments in (
        ([], {}),
        ("http://localhost:9200", {"user": "a"}),
        ("http://localhost:9200", {"password": "a"}),
        ("http://localhost:9200", {"user": "a:b", "password": "c"}),
        ("http://localhost:9200", {"ca": certificates / "cert.pem"}),
        ("https://localhost:9200", {"ca": tmp_path / "absent.pem"}),
        ("https://localhost:9200", {"ca": broken}),
        ("https://localhost:9200", {"client_cert": broken}),
        ("https://localhost:9200", {"client_cert": certificates / "cert.pem"}),
    ):
        with pytest.raises(ConfigError):
            OpenSearchEngine.connect(url, **arguments)


def test_several_addresses_of_one_cluster(guarded: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
        secret: Any = {"user": "admin", "password": PASSWORD}
        with OpenSearchEngine.connect([dead, guarded], **secret) as engine:
            for _ in range(4):
                engine.list_pipelines("x*")
