"""Programs with a generator, and a store of texts that a function fills."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from idxopt.models.prompts import TextRequest, answer_of
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document, Row
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import EMPTY_TABLES
from idxopt.operators.texts import Kept, NotGenerated, TextStore
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

EXTRACTIVE = {"small": {"kind": "generator", "id": "extractive"}}
LANGUAGE_MODEL = {"small": {"kind": "generator", "id": "maker/small-model"}}


def generating(
    *steps: Mapping[str, Any], markup: str = "markdown", models: Mapping[str, Any] = EXTRACTIVE, view: str = "parts"
) -> Program:
    searched: dict[str, Any] = {"lexical": {"fields": {"title": {}}}}
    views = {"content": searched, view: {**searched, "steps": list(steps)}}
    return program_from(
        {
            "schema": "idxopt/1",
            "name": "handbook",
            "source": {"fields": {"title": "title", "body": "text"}, "markup": markup},
            "models": dict(models),
            "views": views,
        },
        "test",
    )


def enrich(form: str, **more: Any) -> dict[str, Any]:
    return {"op": "enrich", "with": form, "into": "made", "generator": "small", **more}


def rows_of(program: Program, body: str, *, models: StepModels | None = None, view: str = "parts") -> list[Row]:
    interpreter = Interpreter(program, view, EMPTY_TABLES, models=models or StepModels())
    return interpreter.rows(Document("doc", {"title": "Title", "text": body}))


def made_of(program: Program, body: str, *, models: StepModels | None = None) -> Any:
    (row,) = rows_of(program, body, models=models)
    return row.fields.get("made")


def answering(program: Program, body: str, place: Path, answer: Callable[[TextRequest], str]) -> StepModels:
    """A store with an answer to everything that a document needs."""
    models = StepModels(texts=str(place / "texts.sqlite"))
    store = TextStore.open(place / "texts.sqlite")
    while True:
        try:
            rows_of(program, body, models=models)
        except NotGenerated as missing:
            identity = models.identity(missing.generator, program.models)
            for request in missing.requests:
                store.put(request.key(identity), request.task, Kept(answer_of(request, answer(request))))
        else:
            return models
