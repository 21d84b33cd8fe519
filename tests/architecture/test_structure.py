"""What holds for the repository as a whole: layers, sizes, names, and nothing of one machine in a tracked file."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from importlinter.cli import lint_imports
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 420
VAGUE = {"util", "utils", "common", "helper", "helpers", "manager", "managers", "core", "misc", "stuff"}

# Written in pieces so that this file does not hold what it looks for.
REGISTRY_HOSTS = re.compile(r"(maven|py" + r"pi|npmjs|crates|debian|python" + r"hosted)[a-z0-9.-]*\.(org|io|com|net)\b")
MACHINE_PATHS = re.compile(r"(^|[^\w.])/(work|root|farm)" + r"/")
UNFINISHED = re.compile(
    r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|NotImplemented" + r"Error)\b|pytest\.skip" + r"\(\)|assert Tr" + r"ue\b"
)


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this is no git work tree")
    paths = (ROOT / name for name in done.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_imports_keep_to_the_layers(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_files_are_short_enough_to_know():
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files("src", "tests", "benchmarks")
    }
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}
    assert len(sizes) > 20


def test_no_module_has_a_name_that_says_nothing():
    parts = {part for path in python_files("src") for part in path.relative_to(ROOT).with_suffix("").parts}
    assert parts & VAGUE == set()


@pytest.mark.parametrize(
    ("pattern", "example"),
    [
        (REGISTRY_HOSTS, "https://repo1.maven" + ".org/maven2"),
        (MACHINE_PATHS, "open('/work" + "/main/x')"),
        (UNFINISHED, "# TO" + "DO later"),
    ],
    ids=["registry hosts", "paths of one machine", "unfinished"],
)
def test_no_tracked_file_holds(pattern, example):
    assert pattern.search(example)
    assert lines_with(pattern, tracked()) == []


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named_by_import_module(node: ast.AST) -> str | None:
    """The module of `importlib.import_module("...")`, which is how an extra is imported."""
    match node:
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return name
    return None


def imported_from_outside(folder: str) -> set[str]:
    """The distributions whose modules the folder's files import, anywhere in the file."""
    trees = [ast.parse(path.read_bytes()) for path in python_files(folder)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    names |= {name for node in nodes if (name := named_by_import_module(node))}
    tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"idxopt", "tests", "benchmarks"}
    owners = packages_distributions()
    return {str(canonicalize_name(owners[top][0] if top in owners else top)) for top in tops}


def names_of(requirements: list[str]) -> set[str]:
    return {str(canonicalize_name(Requirement(line).name)) for line in requirements}


def test_what_the_package_imports_is_what_it_asks_for():
    extras = project()["project"]["optional-dependencies"].values()
    declared = names_of([*project()["project"]["dependencies"], *(line for extra in extras for line in extra)])
    assert imported_from_outside("src") == declared


def test_what_the_tests_import_is_installed_with_them():
    """By the locks: those of the tests, and the one with torch for the tests and benchmarks that need it."""
    groups = project()["dependency-groups"].values()
    every = [line for group in groups for line in group] + optional(locked_apart=False) + optional(locked_apart=True)
    declared = names_of([*project()["project"]["dependencies"], *every])
    assert (imported_from_outside("tests") | imported_from_outside("benchmarks")) - declared == set()


def optional(*, locked_apart: bool) -> list[str]:
    """Requirements of the extras; `sidecar` (torch) has a lock of its own."""
    extras = project()["project"]["optional-dependencies"]
    return [line for name, extra in extras.items() for line in extra if (name == "sidecar") == locked_apart]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-sidecar.lock"])
def test_the_lock_names_no_host_and_covers_every_requirement(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r"://|--index-url|--extra-index-url|--find-links|--trusted-host", text) == []
    locked: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE):
        locked.setdefault(canonicalize_name(name), set()).add(version)
    wanted = [
        *project()["project"]["dependencies"],
        *optional(locked_apart=lock == "requirements-sidecar.lock"),
        *(project()["dependency-groups"]["dev"] if lock == "requirements.lock" else []),
    ]
    missing = [
        line
        for line in wanted
        if not all(
            requirement.specifier.contains(version, prereleases=True)
            for requirement in [Requirement(line)]
            for version in locked.get(canonicalize_name(requirement.name), {"0"})
        )
    ]
    assert missing == [], "run `make lock`"


def test_the_lock_is_made_of_every_extra_but_the_one_locked_apart():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = set(project()["project"]["optional-dependencies"]) - {"sidecar"}
    assert set(re.findall(r"--extra (\w+)", text.partition("LOCKED_EXTRAS :=")[2].partition("\n")[0])) == extras
