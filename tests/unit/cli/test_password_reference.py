"""A password written into idxopt.toml is refused as the file is read, and never repeated (contract 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.config import load_config
from idxopt.errors import ConfigError

SECRET = "correct-horse-battery"


@pytest.mark.parametrize("written", [SECRET, f"secret:{SECRET}", "env:", f"ENV:{SECRET}"])
def test_a_plain_password_is_refused(written: str, tmp_path: Path) -> None:
    file = tmp_path / "idxopt.toml"
    file.write_text(f'[clusters.prod]\nurl = "https://h:9200"\nauth = {{user = "u", password = "{written}"}}\n')
    with pytest.raises(ConfigError) as refused:
        load_config(str(file))
    assert SECRET not in str(refused.value)
    assert "clusters.prod.auth.password" in str(refused.value)
    assert "env:NAME" in str(refused.value)


def test_a_reference_is_kept_unread(tmp_path: Path) -> None:
    file = tmp_path / "idxopt.toml"
    file.write_text('[clusters.prod]\nurl = "https://h:9200"\nauth = {user = "u", password = "env:NOT_SET_HERE"}\n')
    assert load_config(str(file)).clusters["prod"].auth.password == "env:NOT_SET_HERE"
