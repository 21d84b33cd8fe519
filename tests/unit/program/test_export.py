"""The exported JSON Schema is what the models say."""

import json
from pathlib import Path

from idxopt.program.export import exported, main

ROOT = Path(__file__).resolve().parents[3]


def test_the_exported_schema_is_current():
    assert (ROOT / "schema/program.schema.json").read_text("utf-8") == exported(), (
        "run: python -m idxopt.program.export"
    )


def test_check_compares_and_writes_nothing(tmp_path, capsys):
    file = tmp_path / "program.schema.json"
    assert main([str(file), "--check"]) == 1
    assert "python -m idxopt.program.export" in capsys.readouterr().err
    assert not file.exists()
    assert main([str(file)]) == 0
    assert main([str(file), "--check"]) == 0
    assert json.loads(file.read_text("utf-8"))["title"] == "Program"
    file.write_text("{}")
    assert main([str(file), "--check"]) == 1
