"""A program whose models cannot be opened does not go live, and doctor says what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runner import run

CLUSTER = 'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n'
HTTP = '[models."org/e"]\nprovider = "http"\nurl = "http://127.0.0.1:9/v1"\n'
ONNX = '[models."org/e"]\nprovider = "onnx"\npath = "gone"\n'
MODELS: dict[str, Any] = {
    "e": {"kind": "embedder", "id": "org/e", "dimension": 3, "similarity": "cosine"},
    "late": {"kind": "reranker", "id": "maxsim:e"},
}


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    write(rerank={"model": "late"})
    Path("docs.jsonl").write_text(json.dumps({"_id": "a", "title": "A", "text": "Some words."}))
    return tmp_path


def write(config: str = "", **more: Any) -> None:
    program = {
        "schema": "idxopt/1",
        "name": "site",
        "source": {"fields": {"title": "title", "body": "text"}},
        "models": MODELS if more else {},
        "views": {"content": {"lexical": {"fields": {"body": {}}}}},
    }
    Path("program.json").write_text(json.dumps({**program, **more}))
    Path("idxopt.toml").write_text(CLUSTER + config)


@pytest.mark.parametrize(
    ("config", "says"),
    [(HTTP, "no vectors of single tokens"), ("", 'where the model "org/e" runs'), (ONNX, "no folder")],
)
def test_a_reranker_that_cannot_be_opened_is_told_by_plan_and_apply(config: str, says: str) -> None:
    write(config, rerank={"model": "late"})
    for command in (("plan",), ("apply", "--yes")):
        ran = run(*command, "program.json", "--source", "docs.jsonl")
        assert ran.code == 1
        assert says in ran.err
        assert ran.err.count("remedy: ") == 1
    assert run("search", "site", "words").code == 1, "nothing went live"


def test_a_saved_plan_is_checked_again_before_anything_is_built() -> None:
    write(rerank={"model": "late"})
    plain = json.loads(Path("program.json").read_text())
    write()
    assert run("plan", "program.json", "--source", "docs.jsonl", "--out", "plan.json").code == 2
    saved = json.loads(Path("plan.json").read_text())
    saved["intent"]["program"] = plain
    Path("plan.json").write_text(json.dumps(saved))
    ran = run("apply", "plan.json")
    assert ran.code == 1
    assert 'where the model "org/e" runs' in ran.err


def test_a_model_that_is_only_listed_need_not_be_there() -> None:
    write()
    unused = {**json.loads(Path("program.json").read_text()), "models": MODELS}
    Path("program.json").write_text(json.dumps(unused))
    assert run("apply", "program.json", "--source", "docs.jsonl", "--yes").code == 0


def test_doctor_lists_models(site: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.onnx"):
        (site / "here").mkdir(exist_ok=True)
        (site / "here" / name).write_text("{}")
    write(
        '[models."org/e"]\nprovider = "onnx"\npath = "here"\n' + ONNX.replace("org/e", "org/f"),
        rerank={"model": "late"},
    )
    assert run("apply", "program.json", "--source", "docs.jsonl", "--yes").code == 0
    found = models_of(run("--json", "doctor").document)
    assert found["model org/e"]["verdict"] == "ok"
    assert found['model site: "late" (maxsim:e)']["verdict"] == "ok"
    assert found["model org/f"]["verdict"] == "failed"
    assert "no folder" in found["model org/f"]["detail"]
    assert found["model org/f"]["remedy"]
    write(HTTP, rerank={"model": "late"})
    ran = run("--json", "doctor")
    assert ran.code == 1
    late = models_of(ran.document)['model site: "late" (maxsim:e)']
    assert (late["verdict"], "single tokens" in late["detail"]) == ("failed", True)
    assert "model org/e" in run("doctor").out


def models_of(document: Any) -> dict[str, Any]:
    return {check["what"]: check for check in document["checks"] if check["what"].startswith("model ")}
