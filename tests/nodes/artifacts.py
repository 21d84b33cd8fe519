"""Fetch a node's jars with Maven and compile its main, once, into a cache folder outside the repository.

The folder is `$IDXOPT_TEST_NODES_DIR`, else `$XDG_CACHE_HOME/idxopt/nodes`, else `~/.cache/idxopt/nodes`. A set of
jars is resolved in a folder of its own and moved into place when complete, so a killed run leaves no half of it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.nodes.jdks import Jdk

SOURCES = Path(__file__).parent / "java"
RESOLVE_SECONDS = 600


class NodeUnavailableError(Exception):
    """A node cannot be had on this machine; the text says what is missing."""


@dataclass(frozen=True)
class Artifact:
    """A Maven artifact, `group:name:version`; a plugin is a zip of jars with a descriptor."""

    coordinate: str
    kind: str = "jar"

    def as_xml(self) -> str:
        group, name, version = self.coordinate.split(":")
        return (
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version><type>{self.kind}</type></dependency>"
        )


@dataclass(frozen=True)
class Distribution:
    """Files of one kind of node, ready to run."""

    home: Path
    class_path: tuple[str, ...]
    plugins: tuple[str, ...]  # name=class


def cache_dir() -> Path:
    named = os.environ.get("IDXOPT_TEST_NODES_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "idxopt" / "nodes"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _pom(artifacts: tuple[Artifact, ...]) -> str:
    dependencies = "".join(artifact.as_xml() for artifact in artifacts)
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>idxopt.test</groupId><artifactId>node</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )


def _run(command: list[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=RESOLVE_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise NodeUnavailableError(f"{command[0]} took over {RESOLVE_SECONDS} s") from error
    if done.returncode:
        tail = (done.stdout + done.stderr).strip()[-800:]
        raise NodeUnavailableError(f"{' '.join(command[:3])} ended with {done.returncode}: {tail}")


def _module_class(jar: Path) -> str | None:
    """The plugin class of a module's jar; the server's own jars (opensearch-*) hold none that must be named."""
    if jar.name.startswith("opensearch-"):
        return None
    with zipfile.ZipFile(jar) as archive:
        classes = [
            name.removesuffix(".class").replace("/", ".")
            for name in archive.namelist()
            if name.startswith("org/opensearch/") and name.endswith("Plugin.class") and "$" not in name
        ]
    return classes[0] if len(classes) == 1 else None


def _unpack_plugin(archive: Path, lib: Path, into: Path) -> str:
    """Put a plugin's jars beside the node's, but for those that the node has in some version; return name=class."""
    have = {_stem(jar) for jar in lib.glob("*.jar")}
    into.mkdir()
    with zipfile.ZipFile(archive) as source:
        source.extractall(into)
    for jar in into.rglob("*.jar"):
        if _stem(jar) in have:
            jar.unlink()
    text = (into / "plugin-descriptor.properties").read_text(encoding="utf-8")
    descriptor = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return f"{descriptor['name'].strip()}={descriptor['classname'].strip()}"


def _stem(jar: Path) -> str:
    """A jar's name without its version."""
    parts = jar.stem.split("-")
    keep = next((i for i, part in enumerate(parts) if part[:1].isdigit()), len(parts))
    return "-".join(parts[:keep])


def _build(folder: Path, artifacts: tuple[Artifact, ...], main: str, jdk: Jdk) -> None:
    maven = shutil.which("mvn")
    if not maven:
        raise NodeUnavailableError("Maven (mvn) is not installed")
    (folder / "pom.xml").write_text(_pom(artifacts), encoding="utf-8")
    lib, classes = folder / "lib", folder / "classes"
    _run([maven, "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={lib}"], folder)
    plugins = [f"{jar.stem}={name}" for jar in sorted(lib.glob("*.jar")) if (name := _module_class(jar))]
    for archive in sorted(lib.glob("*.zip")):
        plugins.append(_unpack_plugin(archive, lib, folder / _stem(archive)))
        archive.unlink()
    classes.mkdir()
    sources = [str(SOURCES / "NodeProcess.java"), str(SOURCES / main / "SearchNode.java")]
    _run([str(jdk.javac), "-nowarn", "-cp", f"{lib}/*", "-d", str(classes), *sources], folder)
    (folder / "plugins.txt").write_text("\n".join(plugins), encoding="utf-8")


def distribution(name: str, artifacts: tuple[Artifact, ...], main: str, jdk: Jdk) -> Distribution:
    """The named kind of node from the cache, resolved and compiled first where it is not there yet.

    `main` is the folder of the main's source (`v2`, `v3`). Raises NodeUnavailableError.
    """
    sources = b"".join(path.read_bytes() for path in (SOURCES / "NodeProcess.java", SOURCES / main / "SearchNode.java"))
    key = hashlib.sha256(f"{_pom(artifacts)} {jdk.feature} ".encode() + sources).hexdigest()[:12]
    root = cache_dir()
    home = root / f"{name}-{key}"
    if not home.exists():
        with _locked(root / f"{name}.lock"):
            if not home.exists():
                partial = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
                try:
                    _build(partial, artifacts, main, jdk)
                    partial.rename(home)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
    folders = [home / "classes", *sorted(jar.parent for jar in home.rglob("*.jar"))]
    class_path = tuple(dict.fromkeys(str(folder if folder.name == "classes" else folder / "*") for folder in folders))
    return Distribution(home, class_path, tuple((home / "plugins.txt").read_text(encoding="utf-8").splitlines()))
