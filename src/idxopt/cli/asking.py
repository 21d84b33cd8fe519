"""Questions about documents for `queries make`: written by a generator under a ledger, as an apply writes its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from idxopt.cli.generating import consent, open_priced
from idxopt.cli.progress import ConsoleProgress
from idxopt.cli.session import Session

if TYPE_CHECKING:
    from idxopt.operators.row import Document
    from idxopt.program.schema import Program, Source

_VIEW, _FIELD, _MODEL = "content", "questions", "writer"


def questions_about(
    work: Session,
    progress: ConsoleProgress,
    documents: Sequence[Document],
    source: Source,
    model: str,
    *,
    budget: float | None,
    yes: bool,
) -> dict[str, list[str]]:
    """By document id the questions that its text answers. What was written before is not asked for again.

    Raises BudgetReached, ConfigError, ModelError, and UsageError or Declined where nobody agrees to the costs.
    """
    from idxopt.config.load import cache_dir
    from idxopt.deploy.generation import Writing, ledger_of_texts, models_at
    from idxopt.deploy.options import TextOptions
    from idxopt.errors import SourceError
    from idxopt.hashing import digest
    from idxopt.operators.interpreter import Interpreter
    from idxopt.operators.tables import EMPTY_TABLES
    from idxopt.program.canonical import program_hash

    program = _program(source, model)
    with open_priced(program, work.config, budget) as models:
        cache = cache_dir()
        steps = models_at(program, models, cache)
        known = work.config.models.get(model)
        options = TextOptions(budget=budget, consent=consent(work.settings, progress, lambda _: yes))
        if known is not None:
            options = TextOptions(budget, known.concurrency, options.consent)
        writing = Writing(program, models, steps, options, cache / "texts", progress, progress.check)
        about = ledger_of_texts(program_hash(program), digest([document.id for document in documents]))
        writing.write([_VIEW], EMPTY_TABLES, lambda: documents, about)
        interpreter = Interpreter(program, _VIEW, EMPTY_TABLES, models=steps)
        found: dict[str, list[str]] = {}
        for document in documents:
            try:
                rows = interpreter.rows(document)
            except SourceError:  # a document that no engine could store is asked nothing about
                continue
            answer: Any = rows[0].fields.get(_FIELD, []) if rows else []
            found[document.id] = [text for text in answer if isinstance(text, str)]
    return found


def _program(source: Source, model: str) -> Program:
    from idxopt.program.validate import program_from

    field = "body" if "body" in source.fields else list(source.fields)[-1]
    step = {"op": "enrich", "with": "questions", "field": field, "into": _FIELD, "generator": _MODEL}
    plain: dict[str, Any] = {
        "schema": "idxopt/1",
        "name": "queries",
        "source": source.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "models": {_MODEL: {"kind": "generator", "id": model}},
        "views": {_VIEW: {"steps": [step], "lexical": {"fields": {field: {}}}}},
    }
    return program_from(plain, "queries make")
