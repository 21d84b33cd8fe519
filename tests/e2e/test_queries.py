"""`idxopt queries make`, and what commands say of figures over what it made."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from idxopt.errors import ExitCode
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.text.structure import parse
from tests.e2e.runner import program, run, write_json, write_lines
from tests.model_servers.server import ModelServer, Request, chat, serving

THINGS = ("pump", "valve", "filter", "sensor", "motor", "gauge", "boiler", "hose", "switch", "lamp")
DOINGS = ("cleaning", "replacing", "testing", "storing", "ordering", "painting")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Markdown manuals, a page for each thing and doing; the words of headings are in other pages too."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(1)
    pages = []
    for number, (thing, doing) in enumerate((thing, doing) for thing in THINGS for doing in DOINGS):
        others = " ".join(chance.choice(THINGS) + " " + chance.choice(DOINGS) for _ in range(30))
        text = (
            f"# {doing.title()} the {thing} in winter\n\nBefore {doing} a {thing} somebody closes room {number}.\n\n"
            f"## Tools for {doing} the old {thing}\n\nTake {others}.\n\n## Notes\n\nNone but {others}.\n"
        )
        pages.append(
            {"_id": f"p{number}", "title": f"{doing.title()} the {thing} in winter", "text": text, "lang": "en"}
        )
    write_lines(tmp_path / "docs.jsonl", pages)
    write_json(tmp_path / "program.json", program())
    return tmp_path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_headings_from_documents_to_figures(site: Path) -> None:
    made = run("queries", "make", "docs.jsonl", "--from", "headings", "--queries", "20", "--out", "judged")
    assert made.code == ExitCode.OK, made.err
    assert "20 queries in judged: synthetic judgments (known-item from headings)" in made.out
    assert "good only for judged/corpus.jsonl" in made.out
    judged = load_dataset_folder(site / "judged")
    assert len(judged.queries) == 20
    changed = {str(page["_id"]): page for page in lines(site / "judged/corpus.jsonl")}
    before = {str(page["_id"]): page for page in lines(site / "docs.jsonl")}
    assert changed.keys() == before.keys()
    for query in judged.queries:
        (id_,) = judged.qrels[query.id]
        headings = [one.text for one in parse(str(changed[id_]["text"]), "markdown").headings]
        assert query.text not in headings
        assert query.text in str(before[id_]["text"])
    assert sum(changed[id_] != before[id_] for id_ in before) == 20
    removed = lines(site / "judged/removed.jsonl")
    for cut in removed:
        text = str(before[str(cut["document"])][str(cut["field"])])
        assert text[int(str(cut["start"])) : int(str(cut["end"]))] == cut["text"]

    applied = run("apply", "program.json", "--source", "judged", "--yes")
    assert applied.code == ExitCode.OK, applied.err
    told = run("evaluate", "handbook", "--dataset", "judged")
    assert told.code == ExitCode.OK, told.err
    assert "! synthetic judgments (known-item from headings)" in told.out
    assert run("evaluate", "handbook", "--dataset", "judged", "--json").document["synthetic"] == (
        "known-item from headings"
    )
    run_file = run("evaluate", "handbook", "--dataset", "judged", "--run-out", "run.trec")
    assert run_file.code == ExitCode.OK
    only_qrels = run("evaluate", "run.trec", "--qrels", "judged/qrels/test.tsv")
    assert "! synthetic judgments" in only_qrels.out
    compared = run("compare", "handbook", "run.trec", "--dataset", "judged")
    assert compared.out.count("synthetic judgments (known-item from headings)") == 1
    assert run("compare", "handbook", "run.trec", "--dataset", "judged", "--json").document["synthetic"]


def test_a_study_reads_the_changed_documents_and_its_winner_the_whole_ones(site: Path) -> None:
    made = run("queries", "make", "docs.jsonl", "--from", "headings", "--queries", "40", "--out", "judged")
    (line,) = (line for line in made.out.splitlines() if line.startswith("Next: "))
    assert line == "Next: idxopt optimize judged --name NAME --out studies/NAME"
    for judgments in (("--dev", "judged"), ("--dataset", "judged"), ("--test", "judged", "--dev", "judged")):
        refused = run("optimize", "docs.jsonl", *judgments, "--out", "study")
        assert refused.code == ExitCode.USAGE
        assert "docs.jsonl still has them" in refused.err
        assert "idxopt optimize judged ..." in refused.err
    files = ("--queries", "judged/queries.jsonl", "--qrels", "judged/qrels/test.tsv")
    assert run("optimize", "docs.jsonl", *files, "--out", "study").code == ExitCode.USAGE
    assert not (site / "study").exists()
    few = ("--evaluations", "6", "--rule", "paper", "--no-latency")
    ran = run("optimize", "judged", "--name", "handbook", "--out", "study", *few)
    assert ran.code == ExitCode.OK, ran.err
    assert "! the documents of this study have texts removed; they are whole in docs.jsonl" in ran.out
    again = run("optimize", "judged", "--name", "handbook", "--out", "study", *few, "--json")
    assert again.document["plan"].startswith("idxopt plan study/program.json --source docs.jsonl")
    shutil.copy(site / "judged/corpus.jsonl", site / "copy.jsonl")
    copied = run("optimize", "copy.jsonl", "--dev", "judged", "--out", "other", *few, "--json")
    assert copied.code == ExitCode.OK, copied.err
    assert "--source docs.jsonl" in copied.document["plan"]


def test_too_few_queries_name_the_limit_that_makes_them_few(site: Path) -> None:
    few = run("queries", "make", "docs.jsonl", "--from", "headings", "--from", "titles", "--out", "judged")
    assert "! fewer than the 200 that were wanted: at most 1 of one document is taken" in few.out
    assert "--per-document 2 allows more" in few.out
    every = ("--from", "headings", "--per-document", "9")
    assert "no more candidates are left" in run("queries", "make", "docs.jsonl", *every, "--out", "judged").out


def test_the_next_command_maps_documents_alike(site: Path) -> None:
    mapping = ("--id", "title", "--field", "body=text", "--markup", "text", "--out", "judged")
    made = run("queries", "make", "docs.jsonl", "--from", "sentences", *mapping)
    assert made.code == ExitCode.OK, made.err
    assert "Next: idxopt optimize judged --name NAME --id title --field body=text --markup text --out " in made.out


def test_a_gate_over_them_says_so(site: Path) -> None:
    assert run("queries", "make", "docs.jsonl", "--from", "headings", "--out", "judged").code == ExitCode.OK
    judged = ("--queries", "judged/queries.jsonl", "--qrels", "judged/qrels/test.tsv")
    refused = run("apply", "program.json", "--source", "judged", "--yes", *judged, "--require", "Judged@10>=.9")
    assert refused.code == ExitCode.REFUSED
    assert "measured with synthetic judgments (known-item from headings)" in refused.err
    passed = run("apply", "program.json", "--source", "judged", "--yes", *judged, "--require", "nDCG@10>=.01")
    assert passed.code == ExitCode.OK, passed.err
    assert "synthetic judgments (known-item from headings)" in passed.out + passed.err


def test_the_same_seed_makes_the_same_files(site: Path) -> None:
    for out, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        assert run("queries", "make", "docs.jsonl", "--queries", "9", "--seed", seed, "--out", out).code == ExitCode.OK
    names = ("queries.jsonl", "qrels/test.tsv", "corpus.jsonl", "removed.jsonl")
    assert all((site / "one" / name).read_bytes() == (site / "two" / name).read_bytes() for name in names)
    assert (site / "one/queries.jsonl").read_bytes() != (site / "three/queries.jsonl").read_bytes()
    facts = json.loads((site / "one/synthetic.json").read_bytes())
    assert facts["seed"] == 3
    assert sum(facts["made"].values()) == facts["queries"] == 9
    assert facts["candidates_looked_at"] == 9 + sum(facts["dropped"].values())


def test_titles_are_removed_only_where_they_are_asked_for(site: Path) -> None:
    plain = run("queries", "make", "docs.jsonl", "--out", "plain")
    assert plain.code == ExitCode.OK, plain.err
    before = {str(page["_id"]): page["title"] for page in lines(site / "docs.jsonl")}
    assert {str(page["_id"]): page["title"] for page in lines(site / "plain/corpus.jsonl")} == before
    titled = run("queries", "make", "docs.jsonl", "--from", "titles", "--queries", "5", "--out", "titled")
    assert "! titles were removed" in titled.out
    assert "! titles were removed" not in plain.out
    emptied = [page for page in lines(site / "titled/corpus.jsonl") if page["title"] == ""]
    assert len(emptied) == 5
    assert all(not str(page["text"]).startswith("# ") for page in emptied)


def test_it_replaces_its_own_folder_and_no_other(site: Path) -> None:
    assert run("queries", "make", "docs.jsonl", "--out", "judged").code == ExitCode.OK
    again = run("queries", "make", "docs.jsonl", "--from", "llm", "--model", "extractive", "--out", "judged")
    assert again.code == ExitCode.OK, again.err
    assert not (site / "judged/corpus.jsonl").exists(), "of the run before"
    (site / "judged/notes.txt").write_text("mine")
    refused = run("queries", "make", "docs.jsonl", "--out", "judged")
    assert refused.code == ExitCode.USAGE
    assert "other files" in refused.err
    assert run("queries", "make", "docs.jsonl", "--out", "docs.jsonl").code == ExitCode.USAGE
    assert run("queries", "make", ".", "--out", ".").code == ExitCode.USAGE


def test_questions_without_weights(site: Path) -> None:
    told = run("queries", "make", "docs.jsonl", "--from", "llm", "--model", "extractive", "--out", "asked", "--json")
    assert told.code == ExitCode.OK, told.err
    assert told.document["synthetic"] == "questions by extractive"
    assert told.document["changed_documents"] == 0
    assert load_dataset_folder(site / "asked").synthetic == "questions by extractive"


def questions(request: Request) -> web.Response:
    said = request.body["messages"][-1]["content"]
    about = next(line for line in said.splitlines() if line.startswith("# "))[2:].lower()
    asked = [f"Who closes a room before {about}?", "What does the text say of it all?"]
    usage = {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140}
    return web.json_response(chat(json.dumps({"questions": asked}), usage=usage))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(questions) as found:
        yield found


def test_questions_of_a_language_model_are_agreed_to_and_paid_once(site: Path, server: ModelServer) -> None:
    (site / "idxopt.toml").write_text(
        f'[models."maker/small"]\nprovider = "http"\nurl = "{server.url}"\nretries = 0\n'
        "price_input = 1.0\nprice_output = 2.0\n"
    )
    asking = (
        "queries",
        "make",
        "docs.jsonl",
        "--from",
        "llm",
        "--model",
        "maker/small",
        "--queries",
        "8",
        "--out",
        "asked",
    )
    refused = run(*asking)
    assert refused.code == ExitCode.USAGE
    assert "add --yes" in refused.err
    assert not server.requests
    poor = run(*asking, "--yes", "--budget", "0.000001")
    assert poor.code == ExitCode.BUDGET
    assert not server.requests
    assert not (site / "asked").exists()
    made = run(*asking, "--yes", "--budget", "1")
    assert made.code == ExitCode.OK, made.err
    assert len(server.requests) == 8
    judged = load_dataset_folder(site / "asked")
    assert judged.synthetic == "questions by maker/small"
    assert all(query.text.startswith("Who closes a room before") for query in judged.queries)
    assert run(*asking, "--yes").code == ExitCode.OK
    assert len(server.requests) == 8, "what was written is not asked for again"


def test_clicks_of_a_table(site: Path) -> None:
    rows = ["query,document,position,clicked,session"]
    rows += [
        f"winter pump,p{place},{place},{int(place == 3 and user % 2)},s{user}"
        for user in range(40)
        for place in (1, 2, 3)
    ]
    rows += [f"oil,gone,1,1,t{user}" for user in range(20)]
    (site / "log.csv").write_text("\n".join(rows) + "\n")
    told = run("queries", "make", "docs.jsonl", "--from", "clicks", "--log", "log.csv", "--out", "clicked")
    assert told.code == ExitCode.OK, told.err
    assert "synthetic judgments (grades from clicks (log.csv))" in told.out
    assert "unknown document 1" in told.out
    judged = load_dataset_folder(site / "clicked")
    assert [query.text for query in judged.queries] == ["winter pump"]
    assert judged.qrels[judged.queries[0].id] == {"p1": 0, "p2": 0, "p3": 2}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--from", "dreams"), ExitCode.USAGE, "'dreams' is nothing"),
        (("--from", "llm", "--from", "titles", "--model", "x"), ExitCode.USAGE, "cannot be mixed"),
        (("--from", "llm"), ExitCode.USAGE, "needs --model"),
        (("--model", "x"), ExitCode.USAGE, "alone takes --model"),
        (("--from", "clicks"), ExitCode.USAGE, "needs --log"),
        (("--from", "llm", "--model", "x"), ExitCode.ERROR, 'no model "x"'),
        (("--from", "clicks", "--log", "none.csv"), ExitCode.ERROR, "none.csv"),
        (("--from", "titles", "--field", "body=text"), ExitCode.ERROR, "none of the 0 candidates"),
        (("--program", "program.json", "--field", "body=text"), ExitCode.USAGE, "--field"),
        (("--from", "ubi"), ExitCode.ERROR, "ubi_queries"),
    ],
)
def test_what_cannot_be_made(site: Path, arguments: tuple[str, ...], code: ExitCode, says: str) -> None:
    ran = run("queries", "make", "docs.jsonl", "--out", "judged", *arguments)
    assert ran.code == code, ran.err
    assert says in ran.err
    assert "remedy:" in ran.err
    assert "Traceback" not in ran.err
    assert not (site / "judged").exists()


def test_help_has_an_example_and_stays_light() -> None:
    told = " ".join(run("queries", "make", "--help").out.split())
    assert "Example: idxopt queries make" in told
    code = "import sys; from idxopt.cli import main; main(['queries', 'make', '-h']); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_headings_of_a_real_collection(shared: Path, tmp_path: Path) -> None:
    """Of MedQuAD's headings most are the same question about another disease: they stay apart by its name."""
    place = shared / "datasets/medquad_pages"
    told = run(
        "queries", "make", place, "--from", "headings", "--queries", "60", "--out", tmp_path / "judged", "--json"
    )
    assert told.code == ExitCode.OK, told.err
    facts = told.document
    assert facts["queries"] == facts["changed_documents"] == 60
    assert facts["dropped"]["trivial"] > 0
    judged = load_dataset_folder(tmp_path / "judged")
    assert len({query.text.lower() for query in judged.queries}) == 60
