"""Where a study scores its programs: one connection for all its evaluators, closed with the last of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.studies import LivePace, engine_choice
from idxopt.engines.embedded.engine import EmbeddedEngine
from tests.unit.optimizer.trials.collection import program, small


def test_a_connection_stays_open_for_the_evaluator_that_outlives_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "idxopt.toml").write_text(
        'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "local"\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    closed: list[EmbeddedEngine] = []
    close = EmbeddedEngine.close

    def closing(engine: EmbeddedEngine) -> None:
        closed.append(engine)
        close(engine)

    monkeypatch.setattr(EmbeddedEngine, "close", closing)
    corpus, queries, qrels = small()
    with session(Settings()) as work:
        opened = engine_choice(work, "local", tmp_path / "study", LivePace(0, 0)).opened
        assert opened is not None
        (tmp_path / "study").mkdir()
        with opened(corpus, queries, qrels) as whole:
            with opened(corpus, queries, qrels) as sample:
                scores = sample.scores(program())
            assert closed == []
            again = whole.scores(program())
            assert all((again.values[metric] == scores.values[metric]).all() for metric in scores.values)
        assert len(closed) == 1
