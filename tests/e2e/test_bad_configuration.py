"""Bad configuration: clusters, secrets, addresses."""

import pytest

from idxopt.errors import ExitCode
from tests.e2e.bad import Bad, text
from tests.e2e.outcome import refused
from tests.e2e.runner import run

PLAN = ("plan", "program.json")
TOML = "bad.toml"
SECRET = "hunter2-hunter2"


def configured(id_: str, content: str, *says: str, remedy: str = "", variables: dict[str, str] | None = None) -> Bad:
    arguments = (*PLAN, "--config", TOML, "--cluster", "prod")
    return Bad(id_, arguments, says, remedy, write=text(TOML, content), variables=variables or {})


def prod(id_: str, content: str, *says: str, remedy: str = "", variables: dict[str, str] | None = None) -> Bad:
    return configured(id_, f"[clusters.prod]\n{content}\n", *says, remedy=remedy, variables=variables)


URL = 'url = "http://127.0.0.1:9"\n'
CASES = [
    Bad("unknown cluster", (*PLAN, "--cluster", "locl"), ("idxopt.toml", '"locl"'), '"local"'),
    Bad("unknown cluster in the variable", PLAN, ('"staging"',), "staging", variables={"IDXOPT_CLUSTER": "staging"}),
    Bad("configuration that is not there", (*PLAN, "--config", "no.toml"), ("no.toml",), "--config"),
    Bad("configuration of the variable", PLAN, ("no.toml",), "IDXOPT_CONFIG", variables={"IDXOPT_CONFIG": "no.toml"}),
    configured("broken TOML", "[clusters.prod\n", TOML, "TOML"),
    configured("TOML in Latin-1", "", TOML, '"prod"', remedy="known: local"),
    configured("unknown table", "[cluster.prod]\n", TOML, "cluster"),
    configured("clusters that are no tables", 'clusters = "prod"\n', TOML, "clusters"),
    prod("unknown key", f"{URL}replcas = 2", "clusters.prod.replcas", remedy="replicas"),
    prod("unknown engine", 'engine = "solr"', "clusters.prod.engine"),
    prod("no address", 'engine = "opensearch"', "clusters.prod", "url"),
    prod("embedded without folder", 'engine = "embedded"', "clusters.prod", "folder"),
    prod("replicas that are text", f'{URL}replicas = "two"', "clusters.prod.replicas"),
    prod("time to live below two heartbeats", f"{URL}ttl_s = 5", "clusters.prod", "heartbeat_s"),
    prod("user without password", f'{URL}auth = {{user = "me"}}', "clusters.prod.auth", "belong together"),
    prod(
        "password as value",
        f'{URL}auth = {{user = "me", password = "{SECRET}"}}',
        "clusters.prod.auth.password",
        "reference",
        remedy="env:NAME",
    ),
    prod("password in the address", f'url = "http://me:{SECRET}@127.0.0.1:9"', "clusters.prod", "auth"),
    prod(
        "variable that is not set",
        f'{URL}auth = {{user = "me", password = "env:NO_SUCH_SECRET"}}',
        "clusters.prod.auth.password",
        "NO_SUCH_SECRET",
        remedy="export NO_SUCH_SECRET",
    ),
    prod(
        "secret file that is not there",
        f'{URL}auth = {{user = "me", password = "file:no-such-file"}}',
        "clusters.prod.auth.password",
        "no-such-file",
    ),
    prod("address that is none", 'url = "not an address"', "not an address"),
    prod("nobody answers", URL, "127.0.0.1:9"),
    prod("host that does not exist", 'url = "http://no-such-host.invalid:9200"', "no-such-host.invalid"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_bad_configuration(live, case):
    refused(live, case)


@pytest.mark.parametrize("case", [case for case in CASES if "as value" in case.id or "in the address" in case.id])
def test_a_secret_is_never_shown(live, case):
    case.write(live)
    config = ("--config", TOML, "--cluster", "prod")
    for arguments in (
        case.arguments,
        (*case.arguments, "--debug"),
        ("doctor", *config),
        ("doctor", "--config-only", *config),
    ):
        told = run(*arguments)
        assert SECRET not in told.out + told.err
        assert told.code in (ExitCode.ERROR, ExitCode.OK)


def test_an_unknown_variable_is_named_with_the_nearest_one(live, monkeypatch):
    monkeypatch.setenv("IDXOPT_CLUSTR", "prod")
    told = run("plan", "program.json")
    assert told.code == ExitCode.OK
    assert "IDXOPT_CLUSTR" in told.err
    assert "IDXOPT_CLUSTER" in told.err
