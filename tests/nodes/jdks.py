"""Find Java development kits on this machine (a node's main is compiled, so a runtime alone does not do)."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

SEARCHED = ("/usr/lib/jvm/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")


@dataclass(frozen=True, order=True)
class Jdk:
    feature: int
    home: Path

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def javac(self) -> Path:
        return self.home / "bin" / "javac"


def _read(home: Path) -> Jdk | None:
    release = home / "release"
    if not (home / "bin" / "javac").is_file() or not release.is_file():
        return None
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(encoding="utf-8"), re.MULTILINE)
    return Jdk(int(found[1]), home) if found else None


def _candidates() -> list[Path]:
    homes = [Path(value) for key, value in os.environ.items() if re.fullmatch(r"JAVA_HOME(_\d+\w*)?", key) and value]
    on_path = shutil.which("javac")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    for pattern in SEARCHED:
        homes.extend(sorted(Path("/").glob(pattern.lstrip("/"))))
    homes.extend(sorted((Path.home() / ".sdkman" / "candidates" / "java").glob("*")))
    return homes


def find_jdks() -> list[Jdk]:
    """Every kit found, lowest version first, each once."""
    found = {jdk.home.resolve(): jdk for home in _candidates() if (jdk := _read(home))}
    return sorted(found.values())


def find_jdk(at_least: int) -> Jdk | None:
    """The lowest version that will do: nodes are tested on the one nearest to their own minimum."""
    return next((jdk for jdk in find_jdks() if jdk.feature >= at_least), None)
