"""Progress: silent where nobody watches, a bar after two seconds on a terminal, and where signals stop work."""

import io
import signal
import time

import pytest

from idxopt.cli import progress as module
from idxopt.cli.interruption import Interruption, Stopped, Terminated, between_steps, stopped_by, terminable
from idxopt.cli.progress import ConsoleProgress, counting, patient, stoppable
from idxopt.cli.settings import Settings
from idxopt.errors import ExitCode


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch) -> Terminal:
    """stderr as a terminal; called inside a test, since pytest puts its own stderr back after fixtures."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def work(settings: Settings, *, patience: float, monkeypatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", patience)
    with counting(settings) as progress:
        progress.stage("load")
        for done in range(3):
            progress.advance("load content", done, 3)


def test_short_work_shows_nothing(monkeypatch):
    watched = terminal(monkeypatch)
    work(Settings(), patience=60, monkeypatch=monkeypatch)
    assert watched.getvalue() == ""


def test_long_work_shows_a_bar(monkeypatch):
    watched = terminal(monkeypatch)
    work(Settings(), patience=0, monkeypatch=monkeypatch)
    assert "load content" in watched.getvalue()
    assert "2/3" in watched.getvalue()


@pytest.mark.parametrize("settings", [Settings(quiet=1), Settings(json=True)])
def test_quiet_and_json_show_nothing(monkeypatch, settings):
    watched = terminal(monkeypatch)
    work(settings, patience=0, monkeypatch=monkeypatch)
    with patient(settings, "sampling"):
        time.sleep(0.05)
    assert watched.getvalue() == ""


def test_a_pipe_gets_nothing(capsys, monkeypatch):
    work(Settings(), patience=0, monkeypatch=monkeypatch)
    assert capsys.readouterr().err == ""


def test_uncounted_work_is_named_once_it_is_long(monkeypatch):
    watched = terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)
    with patient(Settings(), "sampling documents"):
        time.sleep(0.3)
    assert "sampling documents" in watched.getvalue()


def test_the_first_signal_stops_between_steps(capsys):
    with stoppable(Settings()) as progress:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress.stage("verify")
    assert "again to stop at once" in capsys.readouterr().err


def test_the_second_one_at_once(capsys):
    with stoppable(Settings()):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_sigterm_is_told_apart(capsys):
    with between_steps() as interruption:
        signal.raise_signal(signal.SIGTERM)
        assert interruption.asked
        with pytest.raises(Terminated) as raised:
            interruption.check()
    assert stopped_by(raised.value) == ExitCode.TERMINATED
    assert stopped_by(KeyboardInterrupt()) == ExitCode.INTERRUPTED


def test_once_readers_move_the_work_is_finished(capsys):
    with stoppable(Settings()) as progress:
        progress.stage("switch")
        signal.raise_signal(signal.SIGINT)
        progress.stage("collect")
        progress.advance("collect", 1, 2)


def test_a_signal_before_the_switch_still_stops_it(capsys):
    with between_steps() as interruption:
        progress = ConsoleProgress(Settings(), interruption)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress.stage("switch")


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with terminable(), between_steps():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_nothing_asked_nothing_raised():
    Interruption().check()
    assert str(Stopped(ExitCode.INTERRUPTED)) == "stopped"
