"""Bad documents, queries, judgments and run files: the place is a file and a line wherever there is one."""

import gzip
import json
from pathlib import Path

import pytest

from idxopt.errors import ExitCode
from tests.e2e.bad import Bad, raw, text
from tests.e2e.outcome import refused
from tests.e2e.runner import documents, run

DOCS = "new.jsonl"
APPLY = ("apply", "program.json", "--rebuild", "--yes", "--source")
FIRST = json.dumps(documents(1)[0]).encode() + b"\n"
JUDGED = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")


def lines(id_: str, content: bytes, *says: str, remedy: str = "", name: str = DOCS, code=ExitCode.REFUSED) -> Bad:
    """Documents of which some are bad: all are listed, and the gate refuses."""
    return Bad(id_, (*APPLY, name), says, remedy, code, write=raw(name, content))


def unreadable(id_: str, content: bytes, *says: str, remedy: str = "", name: str = DOCS) -> Bad:
    """A place that cannot be read as a whole."""
    return lines(id_, content, *says, remedy=remedy, name=name, code=ExitCode.ERROR)


def document(**changes: object) -> bytes:
    return json.dumps({**documents(3)[2], **changes}).encode() + b"\n"


def folder_of_nothing(folder: Path) -> None:
    (folder / "nothing").mkdir()


DOCUMENTS = [
    Bad("place that is not there", (*APPLY, "nowhere.jsonl"), ("nowhere.jsonl",), "check the path"),
    Bad("folder without documents", (*APPLY, "nothing"), ("nothing", "no files to index"), write=folder_of_nothing),
    Bad("index of no cluster", (*APPLY, "index:nowhere"), ("index:nowhere",)),
    Bad("index without a name", (*APPLY, "index:"), ("index:",), "index:NAME"),
    Bad(
        "no documents named", ("apply", "program.json", "--rebuild", "--yes"), ("no documents were named",), "--source"
    ),
    unreadable("empty file", b"", DOCS),
    unreadable("unknown kind of file", b"\x00\x01\x02", "new.bin", name="new.bin"),
    lines("broken JSON line", FIRST + b'{"_id": "d2", \n', f"{DOCS}:2", "JSON"),
    lines("line that is a list", FIRST + b"[1]\n", f"{DOCS}:2"),
    unreadable("id twice", FIRST + FIRST, "d0", "occurs 2 times"),
    lines("no id", FIRST + b'{"title": "t", "text": "x"}\n', f"{DOCS}:2", "_id"),
    lines("id of 600 bytes", FIRST + document(_id="x" * 600), f"{DOCS}:2", "512"),
    lines("NUL byte", FIRST + b'{"_id": "d2", "title": "a\0b", "text": "x"}\n', f"{DOCS}:2", "NUL"),
    lines("Latin-1", FIRST + b'{"_id": "d2", "title": "caf\xe9", "text": "x"}\n', f"{DOCS}:2", "UTF-8"),
    unreadable(
        "no document has a mapped field", b'{"_id": "d1", "name": "t"}\n', DOCS, "title", remedy="source.fields"
    ),
    lines("line over the size limit", FIRST + document(text="x" * (33 * 1024 * 1024)), f"{DOCS}:2", "33,554,432 bytes"),
    unreadable("broken gzip", gzip.compress(FIRST)[:20], DOCS),
    unreadable("Parquet that is none", b"PAR1 and nothing more", "new.parquet", name="new.parquet"),
    lines("CSV with a short line", b"_id,title,text\nd1,t,x\nd2\n", "new.csv:3", name="new.csv"),
]


@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case.id)
def test_bad_documents(live, case):
    refused(live, case)


def evaluated(id_: str, write, *says: str, remedy: str = "", arguments=JUDGED, code=ExitCode.ERROR) -> Bad:
    return Bad(id_, ("evaluate", "handbook", *arguments), says, remedy, code, write)


def no_qrels(folder: Path) -> None:
    (folder / "qrels.tsv").unlink()


RUN = ("evaluate", "bad.run", "--qrels", "qrels.tsv")
JUDGMENTS = [
    evaluated(
        "queries that are not there", None, "nowhere", arguments=("--queries", "nowhere", "--qrels", "qrels.tsv")
    ),
    evaluated("broken query", text("queries.jsonl", '{"_id": "q1", "text": "a"}\n{"_id"\n'), "queries.jsonl:2"),
    evaluated("query id twice", text("queries.jsonl", '{"_id": "q1", "text": "a"}\n' * 2), "queries.jsonl:2", "q1"),
    evaluated("query without text", text("queries.jsonl", '{"_id": "q1"}\n'), "queries.jsonl:1", "text"),
    evaluated(
        "grade that is no number", text("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\thigh\n"), "qrels.tsv:2"
    ),
    evaluated("judgments of other queries", text("qrels.tsv", "query-id\tcorpus-id\tscore\nx\td1\t1\n"), "judgment"),
    evaluated(
        "queries in Latin-1", raw("queries.jsonl", b'{"_id": "q1", "text": "caf\xe9"}\n'), "queries.jsonl", "UTF-8"
    ),
    Bad("run file with a short line", RUN, ("bad.run:1", "fields"), write=text("bad.run", "q1 Q0 d1 1\n")),
    Bad("run file with a score of nan", RUN, ("bad.run:1", "nan"), write=text("bad.run", "q1 Q0 d1 1 nan t\n")),
    Bad("run file with a document twice", RUN, ("bad.run:2", "d1"), write=text("bad.run", "q1 Q0 d1 1 2 t\n" * 2)),
    Bad("folder without judgments", ("evaluate", "handbook", "--dataset", "."), ("judgments",), write=no_qrels),
]


@pytest.mark.parametrize("case", JUDGMENTS, ids=lambda case: case.id)
def test_bad_judgments(live, case):
    refused(live, case)


def test_bad_documents_are_listed_and_can_be_allowed(live):
    (live / DOCS).write_bytes(FIRST + b"{broken\n" + document())
    ran = Bad("", (*APPLY, DOCS, "--allow-rejected", "0"), (f"{DOCS}:2",), code=ExitCode.REFUSED)
    refused(live, ran)
    assert run(*APPLY, DOCS, "--allow-rejected", "1").code == ExitCode.OK
