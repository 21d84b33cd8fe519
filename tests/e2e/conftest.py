"""A folder as a user has one: documents, programs, judged queries; and the same with a build that is live."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.runner import run, write_site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without any build."""
    monkeypatch.chdir(tmp_path)
    return write_site(tmp_path)


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: `program.json` is live on the embedded engine."""
    folder = write_site(tmp_path_factory.mktemp("built"))
    config = folder / "idxopt.toml"
    config.write_text('default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDXOPT_CACHE_DIR", str(folder / "cache"))
        patch.chdir(folder)
        ran = run("apply", "program.json", "--source", "docs.jsonl", "--yes", "-m", "first")
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture
def live(_built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the built one, so that tests may change it."""
    shutil.copytree(_built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
