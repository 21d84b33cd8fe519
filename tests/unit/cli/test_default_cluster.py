"""Which cluster a command without `--cluster` means: never a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.config import Config, load_config
from idxopt.errors import ConfigError


def config(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "idxopt.toml"
    file.write_text(text)
    return load_config(str(file))


def test_the_only_cluster_is_meant(tmp_path: Path) -> None:
    assert config(tmp_path, '[clusters.prod]\nurl = "http://h:1"\n').profile(None)[0] == "prod"


def test_among_several_nothing_is_guessed(tmp_path: Path) -> None:
    found = config(tmp_path, '[clusters.a]\nurl = "http://h:1"\n[clusters.b]\nurl = "http://h:2"\n')
    with pytest.raises(ConfigError) as refused:
        found.profile(None)
    assert "a, b, local" in refused.value.message
    assert "--cluster" in str(refused.value.remedy)
    assert found.profile("b")[0] == "b"


def test_the_file_says_which(tmp_path: Path) -> None:
    text = 'default = "b"\n[clusters.a]\nurl = "http://h:1"\n[clusters.b]\nurl = "http://h:2"\n'
    assert config(tmp_path, text).profile(None)[0] == "b"


def test_without_clusters_the_embedded_engine(tmp_path: Path) -> None:
    assert config(tmp_path, "").profile(None)[0] == "local"
