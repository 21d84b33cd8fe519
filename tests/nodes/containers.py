"""The way to a node where a Docker engine runs and Java or Maven is missing."""

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.nodes.artifacts import NodeUnavailableError


def docker_is_up() -> bool:
    docker = shutil.which("docker")
    if not docker:
        return False
    try:
        return subprocess.run([docker, "info"], capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@contextmanager
def opensearch_container(version: str) -> Iterator[str]:
    """A container of the official image without security; needs the dependency group `docker`."""
    try:
        module = importlib.import_module("testcontainers.opensearch")
    except ImportError as error:
        raise NodeUnavailableError(
            "a Docker engine runs, but testcontainers is not installed: pip install 'testcontainers>=4.8'"
        ) from error
    container = module.OpenSearchContainer(f"opensearchproject/opensearch:{version}", security_enabled=False)
    with container:
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(9200)}"
