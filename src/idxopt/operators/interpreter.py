"""The interpreter: from a source document to the rows of a view, the same for every engine and every kind of build.

Pure within a document (contract 2). `stored_rows` streams a whole source through it, over worker processes when asked,
in order and in constant memory; a document that fails, or kills its worker, is handed to `on_reject` and the others go
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idxopt.errors import IdxoptError, SourceError
from idxopt.operators.cache import CacheSettings, StepCache
from idxopt.operators.parallel import Crashed, Pool
from idxopt.operators.paths import place, value_at
from idxopt.operators.registry import cost
from idxopt.operators.row import Document, Row, StoredRow, check_doc_id, row_id
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.steps import compile_steps
from idxopt.operators.tables import Tables, require
from idxopt.operators.transform import Context
from idxopt.program.schema import Program

OWN = "idxopt"
MAX_KEYWORD_BYTES = 32_766
"""UTF-8 bytes of one term, the engines' own limit. A document with a longer keyword in its metadata is rejected."""

_BATCH_DOCUMENTS = 64
_BATCH_CHARACTERS = 500_000

Fields = dict[str, Any]
Derived = list[dict[str, Any]]
"""What a view adds to the rows of one document, a JSON object a row: everything below `idxopt`."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that has no rows, and why."""

    doc_id: str
    reason: str


class Interpreter:
    """One view of a program as a function from a document to its rows.

    Raises ProgramError for steps that this version does not build, and where `tables` lack what the view needs; a
    document whose generated texts are not in the store of `models` raises NotGenerated.
    """

    def __init__(
        self,
        program: Program,
        view_name: str,
        tables: Tables,
        *,
        models: StepModels = NO_MODELS,
        cache: StepCache | None = None,
    ) -> None:
        self.program = program
        self.view_name = view_name
        self.primary = view_name == program.primary
        view = program.views[view_name]
        require(tables, program, view_name)
        self._transforms = compile_steps(view.steps, Context(program.source.markup, tables, models, program.models))
        self._plan = cache.plan(program, view.steps, tables, models) if cache is not None else None

    def rows(self, document: Document) -> list[Row]:
        """The rows of a document. Raises SourceError for a document that no engine could store."""
        check_doc_id(document.id)
        return self.rows_of(document.id, source_fields(self.program, document))

    def rows_of(self, doc_id: str, fields: Fields) -> list[Row]:
        """The rows of a document whose program fields are at hand."""
        _check_text(doc_id, fields)
        rows = [Row(doc_id, fields)]
        if self._plan is None:
            for transform in self._transforms:
                rows = transform(rows)
            return rows
        return self._plan.run(rows, self._transforms)

    def derived(self, doc_id: str, fields: Fields) -> Derived:
        """What is stored below `idxopt` in each row of the document."""
        rows = self.rows_of(doc_id, fields)
        if self.primary:
            return [_own_of_primary(row) for row in rows]
        return [_own_of_row(row, number) for number, row in enumerate(rows)]

    def stored(self, document: Document) -> list[StoredRow]:
        """The rows of a document as an engine stores them."""
        check_document(self.program, document)
        derived = self.derived(document.id, source_fields(self.program, document))
        return stored_of(self.program, document, derived, primary=self.primary)


def source_fields(program: Program, document: Document) -> Fields:
    """The program's fields as the source document has them; absent ones (and nulls) are left out."""
    found = ((name, value_at(document.source, path)) for name, path in program.source.fields.items())
    return {name: value for name, value in found if value is not None}


def check_document(program: Program, document: Document) -> None:
    """Raises SourceError for an id or a keyword that no engine can store."""
    check_doc_id(document.id)
    for path, kind in program.source.metadata.items():
        if kind == "keyword":
            _check_keyword(document, path)


def stored_of(program: Program, document: Document, derived: Derived, *, primary: bool) -> list[StoredRow]:
    """Stored rows: the source untouched beside `idxopt` (primary view), or `idxopt` and the metadata (other views)."""
    if primary:
        body = {**document.source, OWN: derived[0]}
        return [StoredRow(document.id, document.id, body)]
    metadata = _metadata(program, document)
    return [
        StoredRow(row_id(document.id, number), document.id, {**metadata, OWN: own})
        for number, own in enumerate(derived)
    ]


def stored_rows(
    program: Program,
    views: Sequence[str],
    tables: Tables,
    documents: Iterable[Document],
    *,
    models: StepModels = NO_MODELS,
    workers: int = 1,
    cache: CacheSettings | None = None,
    on_reject: Callable[[Rejected], None] | None = None,
) -> Iterator[tuple[Document, dict[str, list[StoredRow]]]]:
    """Each document with its stored rows by view, in the order of `documents`.

    `workers` 1 runs in this process. Without `on_reject` the first document that fails raises SourceError.
    """
    work = ViewsWork(program, tuple(views), tables, cache, models)
    batches = _batches(program, documents)
    if workers > 1 and _is_work(program, views):
        yield from _in_pool(work, batches, workers, on_reject)
        return
    answer = make_batch_function(work)
    for batch in batches:
        yield from _finished(work, batch, answer(batch.questions), on_reject)


@dataclass(frozen=True, slots=True)
class ViewsWork:
    """What a worker process needs to know."""

    program: Program
    views: tuple[str, ...]
    tables: Tables
    cache: CacheSettings | None
    models: StepModels = NO_MODELS


@dataclass(frozen=True, slots=True)
class _Batch:
    documents: list[Document]
    questions: list[tuple[str, Fields] | str]
    """Id and fields of each document, or the reason why it is rejected already."""


def make_batch_function(work: ViewsWork) -> Callable[[list[Any]], list[Any]]:
    """From questions to answers: what each view derives, in the order of the views, or the reason of a rejection."""
    cache = StepCache.open(work.cache) if work.cache is not None else None
    interpreters = [
        Interpreter(work.program, view, work.tables, models=work.models, cache=cache) for view in work.views
    ]

    def answer(questions: list[Any]) -> list[Any]:
        answers = [_answer(question, interpreters) for question in questions]
        if cache is not None:
            cache.commit()
        return answers

    return answer


def _answer(question: tuple[str, Fields] | str, interpreters: Sequence[Interpreter]) -> list[Derived] | str:
    if isinstance(question, str):
        return question
    doc_id, fields = question
    try:
        return [interpreter.derived(doc_id, fields) for interpreter in interpreters]
    except IdxoptError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - one bad document must not end a run; it is reported by name
        return f"{type(error).__name__}: {error}"


def _in_pool(
    work: ViewsWork, batches: Iterator[_Batch], workers: int, on_reject: Callable[[Rejected], None] | None
) -> Iterator[tuple[Document, dict[str, list[StoredRow]]]]:
    sent: list[_Batch] = []

    def questions() -> Iterator[list[tuple[str, Fields] | str]]:
        for batch in batches:
            sent.append(batch)
            yield batch.questions

    with Pool(f"{__name__}:{make_batch_function.__name__}", work, workers) as pool:
        for answers in pool.map(questions()):
            yield from _finished(work, sent.pop(0), answers, on_reject)


def _finished(
    work: ViewsWork, batch: _Batch, answers: Sequence[Any], on_reject: Callable[[Rejected], None] | None
) -> Iterator[tuple[Document, dict[str, list[StoredRow]]]]:
    for document, answer in zip(batch.documents, answers, strict=True):
        if isinstance(answer, Crashed):
            answer = f"the worker process died over it (exit code {answer.exit_code})"
        if isinstance(answer, str):
            if on_reject is None:
                raise SourceError(f"document {document.id!r}: {answer}", remedy="correct or remove the document")
            on_reject(Rejected(document.id, answer))
            continue
        yield (
            document,
            {
                view: stored_of(work.program, document, derived, primary=view == work.program.primary)
                for view, derived in zip(work.views, answer, strict=True)
            },
        )


def _batches(program: Program, documents: Iterable[Document]) -> Iterator[_Batch]:
    batch, characters = _Batch([], []), 0
    for document in documents:
        question: tuple[str, Fields] | str
        try:
            check_document(program, document)
            question = (document.id, source_fields(program, document))
        except SourceError as error:
            question = error.message
        except RecursionError:
            question = "is nested too deeply"
        else:
            characters += sum(len(value) for value in question[1].values() if isinstance(value, str))
        batch.documents.append(document)
        batch.questions.append(question)
        if len(batch.documents) >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = _Batch([], []), 0
    if batch.documents:
        yield batch


def _is_work(program: Program, views: Sequence[str]) -> bool:
    """Whether any step is worth sending the text to another process and back."""
    return any(cost(step) != "none" for view in views for step in program.views[view].steps)


def _own_of_primary(row: Row) -> dict[str, Any]:
    return {"doc_id": row.doc_id, **{name: row.fields[name] for name in sorted(row.changed) if name in row.fields}}


def _own_of_row(row: Row, number: int) -> dict[str, Any]:
    own = {"doc_id": row.doc_id, "row": number, **row.fields}
    if row.span is not None:
        own["span"] = list(row.span)
    return own


def _metadata(program: Program, document: Document) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {}
    for path in program.source.metadata:
        value = value_at(document.source, path)
        if value is not None:
            place(metadata, path, value)
    return metadata


def _check_keyword(document: Document, path: str) -> None:
    value = value_at(document.source, path)
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and len(item) * 4 > MAX_KEYWORD_BYTES:
            size = len(item.encode("utf-8", "surrogatepass"))
            if size > MAX_KEYWORD_BYTES:
                raise SourceError(
                    f"the keyword `{path}` has {size} bytes; engines index at most {MAX_KEYWORD_BYTES}",
                    remedy="shorten it, or leave it out of source.metadata",
                )


def _check_text(doc_id: str, fields: Fields) -> None:
    """Raises SourceError for half a surrogate pair: no engine stores such a text."""
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and not item.isascii():
                try:
                    item.encode("utf-8")
                except UnicodeEncodeError as error:
                    raise SourceError(
                        f"field {name!r} of document {doc_id!r} is no valid Unicode text (character {error.start})",
                        remedy="correct the text",
                    ) from error
