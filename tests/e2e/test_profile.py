"""`idxopt profile`: a source, a program, a sample, an embedder, and what cannot be profiled."""

import json

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import run

BARE = "the gasket of a pump wears out when the oil is low and nobody looks after it for a year"


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """Thirty long pages with sections."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(30):
        parts = "\n\n".join(f"## Part {part} of pump {number}\n\n{BARE * 8}" for part in range(3))
        (folder / f"{number}.md").write_text(f"# Care of pump model {number}\n\n{parts}\n", "utf-8")
    return folder


def test_pages_with_sections(pages):
    ran = run("profile", "pages")
    assert ran.code == ExitCode.OK
    assert "regime: structure-exploiting; recommended: structure-chunks" in ran.out
    assert "30 documents, all of them; markup markdown" in ran.out
    assert "that is a prediction" in ran.out
    assert "!" not in ran.out


def test_heading_free_text_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.csv").write_text("id,text\n" + "".join(f"{number},{BARE} {number}\n" for number in range(5)))
    ran = run("profile", "notes.csv", "--field", "body=text", "--id", "id", "--json")
    assert ran.code == ExitCode.OK
    prediction = ran.document["prediction"]
    assert (prediction["regime"], prediction["recommended"], prediction["offline_minus_raw"]) == (
        "saturated",
        "raw",
        "-",
    )
    assert prediction["heading_free"] is True
    assert any("no headings" in warning for warning in prediction["warnings"])
    assert ran.document["profile"]["titles"]["share"] == 0


def test_a_program_says_what_is_read(pages):
    program = {
        "schema": "idxopt/1",
        "name": "pumps",
        "source": {"fields": {"title": "title", "body": "text"}, "markup": "text"},
        "views": {"content": {"lexical": {"fields": {"body": {}}}}},
    }
    (pages.parent / "program.json").write_text(json.dumps(program))
    told = run("profile", "program.json", "--source", "pages", "--json").document
    assert told["profile"]["markup"] == "text"
    assert told["source"] == "pages"
    missing = run("profile", "program.json")
    assert missing.code == ExitCode.USAGE
    assert "--source" in missing.err


def test_a_sample_is_drawn_by_chance_and_the_same_each_time(pages):
    first, second = (run("profile", "pages", "--sample", "10", "--json").document for _ in range(2))
    assert first == second
    assert (first["documents"], first["profile"]["read"]) == (30, 10)
    assert "30 documents, 10 drawn by chance" in run("profile", "pages", "--sample", "10").out


def test_an_embedder_is_asked_whether_metadata_finds_its_document(pages, minilm):
    id_ = "sentence-transformers/all-MiniLM-L6-v2"
    (pages.parent / "idxopt.toml").write_text(f'[models."{id_}"]\nprovider = "onnx"\npath = "{minilm}"\n', "utf-8")
    ran = run("profile", "pages", "--model", id_, "--sample", "8")
    assert ran.code == ExitCode.OK, ran.err
    assert "its own document is first (of 8)" in ran.out
    told = run("profile", "pages", "--model", id_, "--sample", "8", "--json").document["self_retrieval"]
    assert told["documents"] == 8
    assert 1 / 8 <= told["reciprocal_rank"] <= 1


@pytest.mark.parametrize(
    ("arguments", "code", "says", "remedy"),
    [
        (("profile", "nowhere"), ExitCode.ERROR, "nowhere", ""),
        (("profile", "pages", "--field", "body=txt"), ExitCode.ERROR, "`txt`", "--field"),
        (("profile", "pages", "--field", "title=title"), ExitCode.USAGE, "no field `body`", "body"),
        (("profile", "pages", "--source", "pages"), ExitCode.USAGE, "second place", "one of the two"),
        (("profile", "pages", "--model", "bge"), ExitCode.ERROR, 'no model "bge"', "known: none"),
        (("profile", "pages", "--markup", "word"), ExitCode.ERROR, "markup", ""),
        (("profile", "pages", "--sample", "1"), ExitCode.USAGE, "--sample", ""),
    ],
)
def test_what_cannot_be_profiled(pages, arguments, code, says, remedy):
    ran = run(*arguments)
    assert ran.code == code
    assert says in ran.err
    assert remedy in ran.err
    assert "Traceback" not in ran.err
