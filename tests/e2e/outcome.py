"""What every refusal has in common: one error, one remedy, the exit code, nothing changed."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

from idxopt.builds.state import StateStore
from idxopt.engines.embedded import EmbeddedEngine
from tests.e2e.bad import Bad
from tests.e2e.runner import run


def state(folder: Path) -> dict[str, Any]:
    """Everything that a reader, or the next plan, could see of the folder's engine."""
    engine = EmbeddedEngine(folder / "index")
    try:
        store = StateStore(engine)
        indices = [index for index in engine.list_indices("*") if index.name != ".idxopt-state"]
        return {
            "indices": {index.name: (index.uuid, index.settings, index.mappings) for index in indices},
            "documents": {
                index.name: {found.id: found.source for found in engine.scan(index.name)} for index in indices
            },
            "aliases": engine.aliases("*"),
            "templates": {template.name: template.body for template in engine.templates()},
            "history": store.history("handbook"),
            "builds": store.manifests("handbook"),
        }
    finally:
        engine.close()


def refused(folder: Path, case: Bad) -> None:
    """Runs the case twice, as text and as JSON, and looks at everything that it must and must not do."""
    if case.write is not None:
        case.write(folder)
    before = state(folder)
    with mock.patch.dict(os.environ, case.variables):
        told = run(*case.arguments)
        document = run("--json", *case.arguments).document["error"]
    assert told.code == case.code, told.err
    errors = [line for line in told.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, told.err
    for fragment in case.says:
        assert fragment in errors[0], told.err
    remedies = [line for line in told.err.splitlines() if line.startswith("remedy: ")]
    assert len(remedies) == 1, told.err
    assert case.remedy in remedies[0], told.err
    assert "Traceback" not in told.err + told.out
    assert document["message"] in errors[0]
    assert document["remedy"] == remedies[0].removeprefix("remedy: ")
    assert document["code"] not in ("bug", "error")
    assert state(folder) == before
