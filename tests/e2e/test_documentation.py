"""What the documentation says works: its commands run, its links lead somewhere, the demo does what it shows."""

import json
import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import Ran, call, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
CHANGING = {"plan"}
ASKING = {"apply", "rollback"}


def commands(page: Path, *, until: str = "\0") -> list[list[str]]:
    """The `idxopt ...` lines of a page's shell blocks, without comments."""
    text = page.read_text(encoding="utf-8").partition(until)[0]
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("idxopt ")]


def typed(words: list[str], folder: Path) -> Ran:
    """Runs one, with `> FILE` as a shell would, saying yes where it asks."""
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index(">")] if target else words
    if words[0] in ASKING and "--yes" not in words:
        words = [*words, "--yes"]
    ran = run(*words)
    expected = {ExitCode.OK, ExitCode.CHANGES} if words[0] in CHANGING else {ExitCode.OK}
    assert ran.code in expected, f"{shlex.join(words)}: {ran.err}"
    if target is not None:
        (folder / target).write_text(ran.out, encoding="utf-8")
    return ran


@pytest.fixture
def handbook(tmp_path, monkeypatch):
    """The folder that README and quickstart speak of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs/security").mkdir(parents=True)
    (tmp_path / "docs/security/keys.md").write_text(
        "# Keys\n\nRotate API keys every month.\n\n## How\n\nIn the console.\n"
    )
    (tmp_path / "docs/start.md").write_text("# Start\n\nMake a first request.\n\n## Then\n\nRead on.\n")
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "how do I rotate keys?"}\n{"_id": "q2", "text": "the first request"}\n'
    )
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tsecurity/keys.md\t1\nq2\tstart.md\t1\n")
    (tmp_path / "judged").mkdir()
    for name in ("queries.jsonl", "qrels.tsv"):
        shutil.copy(tmp_path / name, tmp_path / "judged" / name)
    return tmp_path


def test_the_readme_on_your_own_documents(handbook):
    found = [words for words in commands(ROOT / "README.md") if "stdlib" not in words]
    assert len(found) == 14
    for words in found:
        typed(words, handbook)


def test_the_quickstart(handbook):
    found = commands(ROOT / "docs/quickstart.md", until="## 6.")
    assert len(found) == 13
    outputs = [typed(words, handbook).out for words in found]
    assert "0 reorganize sections: client" in "".join(outputs)


def test_the_example_of_product_documentation(tmp_path, monkeypatch):
    folder = tmp_path / "product-docs"
    shutil.copytree(ROOT / "examples/product-docs", folder, ignore=shutil.ignore_patterns(".idxopt"))
    monkeypatch.chdir(folder)
    found = commands(folder / "README.md")
    assert len(found) == 7
    for words in found:
        typed(words, folder)


def test_the_example_of_an_application(tmp_path, monkeypatch):
    folder = tmp_path / "product-docs"
    shutil.copytree(ROOT / "examples/product-docs", folder, ignore=shutil.ignore_patterns(".idxopt"))
    monkeypatch.chdir(folder)
    shell = commands(ROOT / "examples/application/README.md")
    for words in shell[:2]:
        typed(words, folder)
    service = runpy.run_path(str(ROOT / "examples/application/service.py"))
    application = service["application"](service["open_searcher"]("product-docs", Path("run.jsonl")))

    def asked(visitor: int) -> tuple[str, dict[str, Any]]:
        told = []
        environ = {"QUERY_STRING": "q=max+retry+count", "HTTP_X_SESSION": f"visitor {visitor}"}
        body = b"".join(application(environ, lambda status, _: told.append(status)))
        return told[0], json.loads(body)

    answers = [asked(visitor) for visitor in range(40)]
    assert answers == [asked(visitor) for visitor in range(40)]
    assert all(status == "200 OK" and "webhooks.md" in body["documents"] for status, body in answers)
    arms = [body["arm"] for _, body in answers]
    assert {*arms} == {"incumbent", "candidate"}
    figures = run("canary", "status", "product-docs", "--json").document["log"]
    assert {arm: figures[arm]["answers"] for arm in {*arms}} == {arm: 2 * arms.count(arm) for arm in {*arms}}
    for words in shell[2:]:
        typed(words, folder)
    assert len(shell) == 5


def test_the_example_of_an_existing_index_compiles(monkeypatch):
    monkeypatch.chdir(ROOT / "examples/existing-index")
    compiled = run("compile", "program.json", "--json").document
    places = [step["place"] for step in compiled["views"]["content"]["placements"]]
    assert places == ["both", "both", "client"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "product-docs/docs" not in str(page):
            assert "://" in target or (page.parent / target).exists(), target


def test_every_command_is_in_the_documentation():
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    from idxopt.cli.app import app

    assert [command.name for command in app.registered_commands if f"`{command.name}" not in text] == []
    groups = {
        str(one.typer_instance.info.name): one.typer_instance for one in app.registered_groups if one.typer_instance
    }
    assert [name for name in groups if f"`{name} " not in text] == []
    members = [str(one.name) for one in groups["canary"].registered_commands]
    assert sorted(members) == ["start", "status", "stop"]
    assert [name for name in members if f"`canary {name} " not in text] == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, call("demo", folder=folder, variables={"IDXOPT_CACHE_DIR": str(folder / "cache")})


def test_the_demo_shows_a_clear_gain(demo):
    _, ran = demo
    assert ran.code == ExitCode.OK, ran.err
    line = next(line for line in ran.out.splitlines() if "nDCG@10" in line)
    assert " better " in line
    assert "shared judged queries" in ran.out
    assert "csv.md: rank 1" in ran.out


def test_what_the_demo_suggests_works(demo):
    folder, ran = demo
    suggested = ran.out.partition("# Try next:")[2].strip().splitlines()
    assert len(suggested) == 4
    for line in suggested:
        words = shlex.split(line)[1:]
        done = call(*words, *(["--yes"] if words[0] == "rollback" else []), folder=folder)
        assert done.code == ExitCode.OK, done.err
    shown = [shlex.split(line)[2:] for line in ran.out.splitlines() if line.startswith("$ ")]
    assert [words[0] for words in shown] == ["apply", "plan", "apply", "compare", "search", "explain"]
    for words in shown[3:]:
        assert call(*words, folder=folder).code == ExitCode.OK


def test_the_demo_can_be_run_again(demo):
    folder, _ = demo
    again = call("demo", folder=folder, variables={"IDXOPT_CACHE_DIR": str(folder / "cache")})
    assert again.code == ExitCode.OK, again.err
