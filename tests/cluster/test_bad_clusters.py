"""The command line against clusters in trouble: one clear error, its exit code, nothing changed for readers."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from idxopt.errors import ExitCode
from tests.e2e.runner import Ran, program, run, sections, write_json, write_site
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Match, Reply, Rule, Silence
from tests.nodes.secure import SecureNode

TIMEOUT_S = 30


def block(status: int, reason: str) -> str:
    """The body of a block, as nodes write it."""
    cause = {"type": "cluster_block_exception", "reason": f"index [i] blocked by: [{reason}];"}
    return json.dumps({"error": {"root_cause": [cause], **cause}, "status": status})


def forbidden(action: str) -> str:
    """The body of a refusal by the security plugin."""
    cause = {"type": "security_exception", "reason": f"no permissions for [{action}] and User [name=reader]"}
    return json.dumps({"error": {"root_cause": [cause], **cause}, "status": 403})


@dataclass
class Place:
    """A folder whose cluster is a node behind a proxy, with one program live."""

    name: str
    node: str
    proxy: FaultProxy
    folder: Path

    def state(self) -> dict[str, Any]:
        """What readers and other people see: indices of this name with counts, aliases, and every other index."""
        aliases = requests.get(f"{self.node}/_alias?expand_wildcards=all", timeout=TIMEOUT_S).json()
        counts = requests.get(
            f"{self.node}/_cat/indices/{self.name}?format=json&h=index,uuid,docs.count", timeout=TIMEOUT_S
        ).json()
        own = {index: found for index, found in aliases.items() if index.startswith(self.name)}
        return {"aliases": {index: found for index, found in own.items() if found["aliases"]}, "counts": counts}


@pytest.fixture
def place(opensearch_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    name = f"t{secrets.token_hex(4)}"
    monkeypatch.chdir(write_site(tmp_path))
    write_json(tmp_path / "program.json", program(name))
    write_json(tmp_path / "better.json", sections(name))
    with FaultProxy(opensearch_url) as proxy:
        settings = f'url = "{proxy.url}"\nsource = "docs.jsonl"\nworkers = 1\n'
        (tmp_path / "idxopt.toml").write_text(f'default = "node"\n[clusters.node]\n{settings}')
        applied = run("apply", "program.json", "--yes")
        assert applied.code == ExitCode.OK, applied.err
        yield Place(name, opensearch_url, proxy, tmp_path)
        proxy.rules.clear()
        assert run("destroy", name, "--confirm", name).code == ExitCode.OK


def one_error(ran: Ran, *says: str, remedy: str = "", code: ExitCode = ExitCode.ERROR) -> None:
    """Exactly one error with a remedy, and no traceback."""
    assert ran.code == code, ran.err
    lines = ran.err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    remedies = [line for line in lines if line.startswith("remedy: ")]
    assert len(errors) == 1, ran.err
    assert len(remedies) == 1, ran.err
    assert "Traceback" not in ran.err
    for part in says:
        assert part in errors[0]
    assert remedy in remedies[0]


FLOOD = block(
    429, "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block"
)
APPLY = ("apply", "better.json", "--rebuild", "--yes")
TROUBLE = [
    pytest.param(
        APPLY,
        Reply(Match(), 401, "Unauthorized", "text/plain"),
        ("refuses the credentials",),
        "user and password",
        id="401 in plain text",
    ),
    pytest.param(
        APPLY, Reply(Match("PUT", "/t*"), 403, forbidden("indices:admin/create")), ("create",), "", id="403 create"
    ),
    pytest.param(
        APPLY, Reply(Match("POST", "*/_bulk"), 403, forbidden("indices:data/write")), ("write",), "", id="403 write"
    ),
    pytest.param(
        APPLY,
        Reply(Match("POST", "/_aliases"), 403, forbidden("indices:admin/aliases")),
        ("alias",),
        "",
        id="403 alias",
    ),
    pytest.param(
        APPLY, Reply(Match("POST", "*/_bulk"), 429, FLOOD), ("disk is full",), "free disk space", id="no disk"
    ),
    pytest.param(
        APPLY,
        Reply(Match("PUT", "/.idxopt-*"), 403, block(403, "FORBIDDEN/8/index write (api)")),
        ("write",),
        "block",
        id="read-only state",
    ),
    pytest.param(
        ("search", "NAME", "keys"), Reply(Match("POST", "*/_msearch"), 503, block(503, "red")), (), "", id="search 503"
    ),
    pytest.param(
        ("plan", "better.json"),
        Reply(Match(), 502, "<html>Bad Gateway</html>", "text/html"),
        ("a proxy got no answer",),
        "",
        id="gateway",
    ),
    pytest.param(
        ("plan", "better.json"), Reply(Match(), 200, "<html>Hello</html>", "text/html"), (), "", id="a web page"
    ),
]


@pytest.mark.parametrize(("arguments", "rule", "says", "remedy"), TROUBLE)
def test_trouble(place: Place, arguments: tuple[str, ...], rule: Rule, says: tuple[str, ...], remedy: str) -> None:
    before = place.state()
    place.proxy.rules.append(rule)
    words = [place.name if word == "NAME" else word for word in arguments]
    one_error(run(*words), *says, remedy=remedy)
    document = run("--json", *words).document["error"]
    assert document["code"] not in ("bug", "error", "usage")
    place.proxy.rules.clear()
    assert place.state() == before
    assert run("search", place.name, "marker3", "--json").document["hits"][0]["id"] == "d3"
    assert run("status", place.name, "--check").code == ExitCode.OK


def test_a_node_that_never_answers(place: Place) -> None:
    config = place.folder / "idxopt.toml"
    config.write_text(config.read_text() + "timeout_s = 1\n")
    place.proxy.rules.append(Silence(Match()))
    one_error(run("plan", "better.json"), remedy="")


def test_a_red_index_as_source(place: Place) -> None:
    red = f"{place.name}-red"
    body = {"settings": {"index.routing.allocation.require._name": "nobody", "number_of_replicas": 0}}
    requests.put(f"{place.node}/{red}?wait_for_active_shards=0", json=body, timeout=TIMEOUT_S).raise_for_status()
    try:
        before = place.state()
        one_error(run("plan", "better.json", "--source", f"index:{red}"), red)
        one_error(run(*APPLY, "--source", f"index:{red}"), red)
        assert place.state() == before
    finally:
        requests.delete(f"{place.node}/{red}", timeout=TIMEOUT_S)


def test_an_index_has_the_public_name(place: Place) -> None:
    taken = f"{place.name}x"
    requests.put(f"{place.node}/{taken}", timeout=TIMEOUT_S).raise_for_status()
    try:
        write_json(place.folder / "taken.json", program(taken))
        one_error(run("apply", "taken.json", "--yes"), taken, "an index", remedy="alias")
    finally:
        requests.delete(f"{place.node}/{taken}", timeout=TIMEOUT_S)


def test_a_foreign_alias_is_taken_over_only_by_its_name(place: Place) -> None:
    taken, foreign = f"{place.name}y", f"{place.name}z"
    body = {"aliases": {taken: {}}, "settings": {"number_of_replicas": 0}}
    requests.put(f"{place.node}/{foreign}", json=body, timeout=TIMEOUT_S).raise_for_status()
    write_json(place.folder / "taken.json", program(taken))
    try:
        one_error(run("apply", "taken.json", "--yes"), taken, foreign, remedy=f"--take-over {foreign}")
        over = ("apply", "taken.json", "--take-over", foreign)
        one_error(run(*over, "--yes"), taken, remedy=f"--confirm {taken}", code=ExitCode.USAGE)
        one_error(run(*over, "--confirm", foreign), remedy="--confirm")
        assert list(requests.get(f"{place.node}/_alias/{taken}", timeout=TIMEOUT_S).json()) == [foreign]
        done = run(*over, "--confirm", taken)
        assert done.code == ExitCode.OK, done.err
        assert foreign not in requests.get(f"{place.node}/_alias/{taken}", timeout=TIMEOUT_S).json()
        assert requests.get(f"{place.node}/{foreign}", timeout=TIMEOUT_S).ok
    finally:
        run("destroy", taken, "--confirm", taken)
        requests.delete(f"{place.node}/{foreign}", timeout=TIMEOUT_S)


def test_seven_writes_are_told_and_decided_about(place: Place) -> None:
    """H6: applications write through the alias; going back and rebuilding ask what becomes of it."""
    assert run(*APPLY).code == ExitCode.OK
    for number in range(3):
        document = {"title": "New", "text": f"inserted{number}"}
        requests.put(f"{place.node}/{place.name}/_doc/n{number}", json=document, timeout=TIMEOUT_S).raise_for_status()
    for number in range(2):
        document = {"title": "Changed", "text": f"updated{number}"}
        requests.put(f"{place.node}/{place.name}/_doc/d{number}", json=document, timeout=TIMEOUT_S).raise_for_status()
        requests.delete(f"{place.node}/{place.name}/_doc/d{number + 8}", timeout=TIMEOUT_S).raise_for_status()
    requests.post(f"{place.node}/{place.name}/_refresh", timeout=TIMEOUT_S).raise_for_status()
    assert "7 (3 inserted, 2 updated, 2 deleted)" in run("status", place.name).out
    shown = run("rollback", place.name, "--plan")
    assert "7 writes of applications" in shown.out
    refused = run("rollback", place.name, "--yes")
    one_error(refused, "7 (3 inserted", remedy="--carry-writes", code=ExitCode.REFUSED)
    carried = run("rollback", place.name, typed="carry\nyes\n")
    assert carried.code == ExitCode.OK, carried.err
    assert "carry or discard" in carried.err
    for word, wanted in (("inserted2", "n2"), ("updated1", "d1")):
        assert run("search", place.name, word, "--json").document["hits"][0]["id"] == wanted
    assert run("search", place.name, "marker8", "--json").document["hits"] == []


@pytest.fixture
def secured(secure_opensearch: SecureNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_site(tmp_path))
    monkeypatch.setenv("GOOD_PASSWORD", secure_opensearch.password)
    monkeypatch.setenv("BAD_PASSWORD", "wrong-password")
    common = f'url = "{secure_opensearch.url}"\nca = "{secure_opensearch.ca}"\nsource = "docs.jsonl"\n'
    (tmp_path / "idxopt.toml").write_text(
        f'[clusters.wrong]\n{common}auth = {{user = "admin", password = "env:BAD_PASSWORD"}}\n'
        f'[clusters.reader]\n{common}auth = {{user = "readall", password = "file:readall.txt"}}\n'
        f"[clusters.nobody]\n{common}\n"
        f'[clusters.untrusted]\nurl = "{secure_opensearch.url}"\n'
        f'[clusters.admin]\n{common}auth = {{user = "admin", password = "env:GOOD_PASSWORD"}}\n'
    )
    (tmp_path / "readall.txt").write_text("readall\n")
    return tmp_path


@pytest.mark.parametrize("cluster", ["wrong", "nobody"])
def test_a_wrong_password_and_none(secured: Path, cluster: str) -> None:
    ran = run("plan", "program.json", "--cluster", cluster)
    one_error(ran, "refuses the credentials")
    assert "wrong-password" not in ran.err + run("plan", "program.json", "--cluster", cluster, "--debug").err
    assert run("doctor", "--cluster", cluster).code == ExitCode.ERROR


def test_a_certificate_that_nobody_trusts(secured: Path) -> None:
    one_error(run("plan", "program.json", "--cluster", "untrusted"), "certificate", remedy="ca")


def test_a_user_who_may_only_read(secured: Path) -> None:
    one_error(run("apply", "program.json", "--yes", "--cluster", "reader"))
    seen = run("doctor", "--cluster", "reader")
    assert seen.code == ExitCode.ERROR
    assert "no permissions for" in seen.out
    applied = run("apply", "program.json", "--yes", "--cluster", "admin")
    assert applied.code == ExitCode.OK, applied.err
    try:
        one_error(run("search", "handbook", "marker3", "--cluster", "reader"), "no permissions for", remedy="privilege")
        one_error(run("destroy", "handbook", "--confirm", "handbook", "--cluster", "reader"))
    finally:
        assert run("destroy", "handbook", "--confirm", "handbook", "--cluster", "admin").code == ExitCode.OK
