"""The rule of tests/conftest.py: what a machine lacks skips a test with its reason, and fails it in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_without_maven(tmp_path: Path, ci: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("IDXOPT_", "PYTEST_"))}
    nowhere = {"PATH": str(tmp_path), "IDXOPT_TEST_NODES_DIR": str(tmp_path / "nodes"), "CI": ci}
    wanted = "tests/nodes/test_launcher.py::test_painless_runs_in_an_ingest_pipeline"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", wanted],
        cwd=ROOT,
        env={**environment, **nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("1", "1 error")])
def test_a_missing_node_skips_and_in_ci_fails(tmp_path, ci, outcome):
    said = run_without_maven(tmp_path, ci)
    assert outcome in said.splitlines()[-1]
    assert "no OpenSearch 2.19.1: " in said
    assert "IDXOPT_TEST_OPENSEARCH_URL is not set" in said


def test_this_test_has_its_own_cache_and_no_variables_of_the_shell(tmp_path_factory):
    assert Path(os.environ["IDXOPT_CACHE_DIR"]).is_relative_to(tmp_path_factory.getbasetemp())
    ours = [name for name in os.environ if name.startswith("IDXOPT_") and not name.startswith("IDXOPT_TEST_")]
    assert ours == ["IDXOPT_CACHE_DIR"]


def test_the_shared_collections_are_found(shared):
    assert (shared / "datasets" / "scifact").is_dir()
