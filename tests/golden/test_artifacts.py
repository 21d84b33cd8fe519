"""The shipped artifacts are what the compiler makes, and work with curl alone."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from idxopt.compiler.artifacts import artifacts, differences, main, write
from idxopt.program.presets import PRESETS

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_artifacts_are_what_the_compiler_makes() -> None:
    assert differences(ROOT) == [], "run `python -m idxopt.compiler.artifacts` and look at the difference"


def test_each_preset_has_its_artifacts() -> None:
    paths = set(artifacts())
    for name in PRESETS:
        assert {f"index_templates/{name}--content.json", f"ingest_pipelines/{name}--content.json"} <= paths


def test_check_names_what_is_missing_changed_and_left_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(tmp_path)]
    assert main(root) == 0
    assert main([*root, "--check"]) == 0
    (tmp_path / "index_templates/fields--content.json").write_text("{}\n")
    (tmp_path / "ingest_pipelines/fields--content.json").unlink()
    (tmp_path / "index_templates/old--content.json").write_text("{}\n")
    assert main([*root, "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "index_templates/fields--content.json: differs",
        "ingest_pipelines/fields--content.json: missing",
        "index_templates/old--content.json: no preset makes it",
    ]
    write(tmp_path)
    assert differences(tmp_path) == []


def test_the_commands_of_the_readme_work(opensearch_url: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    text = (ROOT / "index_templates/README.md").read_text("utf-8")
    (commands,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    environment = {**os.environ, "URL": opensearch_url, "no_proxy": "127.0.0.1,localhost"}
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    try:
        assert done.returncode == 0, done.stderr
        answers = [json.loads(part) for part in done.stdout.replace("}{", "}\n{").splitlines()]
        (hit,) = answers[-1]["hits"]["hits"]
        assert hit["_source"]["idxopt"] == {
            "doc_id": "1",
            "title": "Users",
            "body": "Call getUserName get User Name to read the name of a user.",
        }
        assert hit["_score"] > 0
    finally:
        for path in (
            "identifiers--content--by-hand",
            "_index_template/identifiers--content",
            "_ingest/pipeline/identifiers--content",
        ):
            subprocess.run(["curl", "-sS", "-X", "DELETE", f"{opensearch_url}/{path}"], capture_output=True, timeout=60)
