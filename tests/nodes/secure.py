"""An OpenSearch 2.19.1 node with the security plugin: HTTPS, basic authentication, roles.

Users as the plugin ships them: `admin`/`admin` may do everything, `readall`/`readall` may only read indices (and is
refused `GET /`). More users and roles can be made through `_plugins/_security/api` as admin.
"""

import base64
import shutil
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tests.nodes.artifacts import Artifact
from tests.nodes.launcher import RECIPES, prepare, start, stop, wait_for_health

PLAIN = RECIPES["2.19.1"]
SECURITY = Artifact("org.opensearch.plugin:opensearch-security:2.19.1.0", kind="zip")
# No address and no container stands in for this node: its certificates are made here.
RECIPE = replace(PLAIN, name="opensearch-2.19.1-security", url_variable="", artifacts=(*PLAIN.artifacts, SECURITY))


@dataclass(frozen=True)
class SecureNode:
    """`ca` is the certificate authority to trust for `url`."""

    url: str
    ca: Path
    user: str = "admin"
    password: str = "admin"


def _write_certificates(folder: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued = authority.issue_cert("localhost", "127.0.0.1")
    for pem in issued.cert_chain_pems:
        pem.write_to_path(folder / "node.pem", append=True)
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    # The plugin reads PKCS 8 only.
    (folder / "node.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _settings() -> dict[str, object]:
    settings: dict[str, object] = {
        "plugins.security.ssl.http.enabled": True,
        "plugins.security.ssl.transport.enforce_hostname_verification": False,
        "plugins.security.allow_default_init_securityindex": True,
        "plugins.security.restapi.roles_enabled": ["all_access", "security_rest_api_access"],
    }
    for layer in ("transport", "http"):
        settings[f"plugins.security.ssl.{layer}.pemcert_filepath"] = "node.pem"
        settings[f"plugins.security.ssl.{layer}.pemkey_filepath"] = "node.key"
        settings[f"plugins.security.ssl.{layer}.pemtrustedcas_filepath"] = "ca.pem"
    return settings


@contextmanager
def secure_node() -> Iterator[SecureNode]:
    """Start one; raises NodeUnavailableError where Java or Maven is missing."""
    files, _ = prepare(RECIPE)
    with tempfile.TemporaryDirectory(prefix="idxopt-certificates-") as name:
        config = Path(name)
        _write_certificates(config)
        shutil.copytree(files.home / "opensearch-security" / "config", config / "opensearch-security")
        running = start(RECIPE, settings=_settings(), scheme="https", config=config)
        try:
            secure = SecureNode(running.url, config / "ca.pem")
            token = base64.b64encode(f"{secure.user}:{secure.password}".encode()).decode()
            trust = ssl.create_default_context(cafile=str(secure.ca))
            wait_for_health(running.url, headers={"Authorization": f"Basic {token}"}, tls=trust)
            yield secure
        finally:
            stop(running.process, running.home)
