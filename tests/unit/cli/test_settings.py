"""Options of every command: before and after the subcommand, against variables; and questions."""

import pytest

from idxopt.cli.confirm import Declined, can_ask, confirm
from idxopt.cli.settings import Settings
from idxopt.errors import ExitCode, UsageError
from tests.e2e.runner import run

CONFIG = """
default = "first"
[clusters.first]
engine = "embedded"
folder = "one"
[clusters.second]
engine = "embedded"
folder = "two"
[clusters.third]
engine = "embedded"
folder = "three"
"""


@pytest.fixture
def configured(tmp_path, monkeypatch):
    (tmp_path / "idxopt.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cluster(*arguments: str) -> str:
    """The cluster that a command line ends up with."""
    told = run(*arguments, "--json")
    assert told.code == ExitCode.OK, told.err
    values = {item["name"]: item["value"] for item in told.document["configuration"]}
    return str(values["cluster"])


DOCTOR = ("doctor", "--config-only")


def test_an_option_wins_over_the_variable_in_both_places(configured, monkeypatch):
    assert cluster(*DOCTOR) == "first"
    monkeypatch.setenv("IDXOPT_CLUSTER", "second")
    assert cluster(*DOCTOR) == "second"
    assert cluster(*DOCTOR, "--cluster", "third") == "third"
    assert cluster("--cluster", "third", *DOCTOR) == "third"


def test_the_later_place_wins(configured):
    assert cluster("--cluster", "second", *DOCTOR, "--cluster", "third") == "third"


def test_the_configuration_too(configured, monkeypatch):
    for name, default in (("a.toml", "second"), ("b.toml", "third")):
        (configured / name).write_text(CONFIG.replace('"first"', f'"{default}"', 1))
    monkeypatch.setenv("IDXOPT_CONFIG", "a.toml")
    assert cluster(*DOCTOR) == "second"
    assert cluster(*DOCTOR, "--config", "b.toml") == "third"
    assert cluster("--config", "b.toml", *DOCTOR) == "third"


def test_the_nearest_configuration_above_counts(configured, monkeypatch):
    below = configured / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert cluster(*DOCTOR) == "first"


def test_every_value_names_its_origin(configured, monkeypatch):
    monkeypatch.setenv("IDXOPT_CLUSTER", "second")
    values = {item["name"]: item for item in run(*DOCTOR, "--json").document["configuration"]}
    assert values["cluster"]["origin"] == "IDXOPT_CLUSTER"
    assert values["clusters.second.folder"]["origin"].endswith("idxopt.toml")
    assert values["clusters.second.keep"] == {"name": "clusters.second.keep", "value": "1", "origin": "default"}


@pytest.mark.parametrize(
    "arguments", [("--json", "status", "none"), ("status", "none", "--json"), ("status", "--json", "none")]
)
def test_json_in_any_place(configured, arguments):
    assert run(*arguments).document["live"] is None


def test_words_after_the_separator_are_no_options(configured):
    told = run("search", "none", "--", "--json")
    assert told.code == ExitCode.ERROR
    assert told.err.startswith("error: none: there is no live build")


def test_settings_merge():
    inner, outer = Settings(cluster="a", verbose=1), Settings(cluster="b", config="c", quiet=1, debug=True)
    assert inner.over(outer) == Settings(cluster="a", config="c", verbose=1, quiet=1, debug=True)


@pytest.mark.parametrize(
    ("settings", "variable"), [(Settings(no_input=True), ""), (Settings(json=True), ""), (Settings(), "1")]
)
def test_who_may_not_be_asked(settings, variable, monkeypatch):
    monkeypatch.setenv("IDXOPT_NO_INPUT", variable)
    monkeypatch.setattr("sys.stdin", _Terminal("yes\n"))
    assert not can_ask(settings)
    with pytest.raises(UsageError) as error:
        confirm(settings, "Go on?", "yes", remedy="add --yes")
    assert error.value.remedy == "add --yes"


def test_the_variable_0_allows_questions(monkeypatch):
    monkeypatch.setenv("IDXOPT_NO_INPUT", "0")
    monkeypatch.setattr("sys.stdin", _Terminal("carry\n"))
    assert confirm(Settings(), "And the writes?", "carry", "discard", remedy="say it") == "carry"


@pytest.mark.parametrize("answer", ["", "no\n", "YES\n", "y\n", "\n"])
def test_anything_but_the_word_is_a_no(answer, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    with pytest.raises(Declined):
        confirm(Settings(), "Go on?", "yes", remedy="add --yes")


def test_without_a_terminal_stdin_is_never_read(monkeypatch):
    stdin = _Terminal("yes\n", terminal=False)
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(UsageError):
        confirm(Settings(), "Go on?", "yes", remedy="add --yes")
    assert stdin.lines == ["yes\n"]


def test_an_option_may_name_the_word(monkeypatch):
    assert confirm(Settings(json=True), "Remove?", "handbook", given="handbook", remedy="") == "handbook"
    with pytest.raises(Declined):
        confirm(Settings(), "Remove?", "handbook", given="yes", remedy="")


class _Terminal:
    def __init__(self, answer: str, *, terminal: bool = True) -> None:
        self.lines = [answer]
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def readline(self) -> str:
        return self.lines.pop(0)
