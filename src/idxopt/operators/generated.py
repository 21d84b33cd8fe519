"""`enrich` with a generator: summary, keywords, questions, paraphrase, mindmap, restructure.

A step never calls a language model. It says which texts it needs (`models.prompts.TextRequest`) and reads them from the
store of generated texts; a text that is not there raises NotGenerated, and `deploy.generation` makes it. The generator
`extractive` has no weights and answers at once.

- summary, paraphrase, mindmap and restructure write a text; keywords and questions a list.
- questions with `rows`: a row a question, with the question in the field `into`; a row without questions stays.
- a text without words, or one whose answer could not be used, gets no field (restructure: the text as it is).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from idxopt.errors import ModelError, ProgramError
from idxopt.models.extractive import TASKS, Extractive
from idxopt.models.prompts import QUESTIONS, Answer, TextRequest, answer_of, cut, most_characters, prompt
from idxopt.operators.restructure import Ask, SectionResult, restructured
from idxopt.operators.row import Row
from idxopt.operators.step_models import is_extractive
from idxopt.operators.texts import Kept, NotGenerated, TextStore
from idxopt.operators.transform import Context, Transform, text_in, with_field
from idxopt.program.steps import Generated, Keywords

Rewrite = Callable[[str], tuple[str, list[SectionResult]]]


def compile_generated(step: Generated | Keywords, context: Context) -> Transform:
    """The step as a function over rows. Raises ProgramError for what its generator cannot do."""
    generator = step.generator or ""
    if is_extractive(generator, context.specs) and step.with_ not in TASKS:
        raise ProgramError(
            f"{step.with_} cannot be done by choosing sentences, which is what the generator extractive does",
            remedy=f"name a language model; extractive does {', '.join(TASKS)}",
        )
    if step.with_ == "restructure":
        rewrite = restructuring(generator, context)
        return _deriving(step, lambda texts: _restructured(texts, rewrite))
    ask, most = _asking(generator, context), _most(generator, context)
    return _deriving(step, lambda texts: _answers(texts, step, context, ask, most))


def restructuring(generator: str, context: Context) -> Rewrite:
    """From a text to the rewritten one, and what became of its sections. The function raises NotGenerated."""
    ask, most = _asking(generator, context), _most(generator, context)
    return lambda text: restructured(text, context.markup, ask, most=most)


def _most(generator: str, context: Context) -> int:
    spec = context.specs.get(generator)
    return most_characters(spec.max_tokens if spec is not None else None)


def _asking(generator: str, context: Context) -> Ask:
    """Where the answers of a generator come from. The function raises NotGenerated with all requests not answered."""
    if is_extractive(generator, context.specs):
        return _extracted
    identity = context.models.identity(generator, context.specs)
    place = context.models.texts

    def read(requests: Sequence[TextRequest]) -> list[Kept]:
        keys = [request.key(identity) for request in requests]
        found = _store(place).get(keys) if place is not None else {}
        missing = {
            key: request
            for key, request in zip(keys, requests, strict=True)
            if key not in found or (context.models.judged and _unjudged(request, found[key]))
        }
        if missing:
            raise NotGenerated(generator, list(missing.values()))
        return [found[key] for key in keys]

    return read


def _unjudged(request: TextRequest, kept: Kept) -> bool:
    return request.task == "restructure" and kept.answer is not None and kept.contradicts is None


@lru_cache(maxsize=4)
def _store(place: str) -> TextStore:
    return TextStore.open(Path(place))


def _extracted(requests: Sequence[TextRequest]) -> list[Kept]:
    return [_extract(request) for request in requests]


def _extract(request: TextRequest) -> Kept:
    generator = Extractive()
    try:
        return Kept(answer_of(request, generator.generate(prompt(request, len)).text))
    except ModelError as error:
        return Kept(None, error.message)


def _deriving(step: Generated | Keywords, derive: Callable[[Sequence[str]], Sequence[Answer | None]]) -> Transform:
    """Asks for the texts of all rows of a document at once."""

    def transform(rows: list[Row]) -> list[Row]:
        texts = [text_in(row, step.field) for row in rows]
        try:
            answers = iter(derive([text for text in texts if text is not None and text.strip()]))
        except NotGenerated as missing:
            missing.step = step
            raise
        made: list[Row] = []
        for row, text in zip(rows, texts, strict=True):
            answer = next(answers) if text is not None and text.strip() else None
            made += _with_answer(row, step, answer)
        return made

    return transform


def _with_answer(row: Row, step: Generated | Keywords, answer: Answer | None) -> list[Row]:
    if not answer:
        return [row]
    if isinstance(step, Generated) and step.rows:
        return [with_field(row, step.into, one) for one in ([answer] if isinstance(answer, str) else answer)]
    return [with_field(row, step.into, answer)]


def _answers(
    texts: Sequence[str], step: Generated | Keywords, context: Context, ask: Ask, most: int
) -> list[Answer | None]:
    options: dict[str, Any] = {"markup": context.markup}
    if isinstance(step, Keywords):
        options["count"] = step.top
    elif step.with_ == "questions":
        options["count"] = QUESTIONS
    return [kept.answer for kept in ask([TextRequest(step.with_, cut(text, most), options) for text in texts])]


def _restructured(texts: Sequence[str], rewrite: Rewrite) -> list[Answer | None]:
    missing: list[TextRequest] = []
    made: list[Answer | None] = []
    generator = ""
    for text in texts:
        try:
            made.append(rewrite(text)[0])
        except NotGenerated as error:
            generator = error.generator
            missing += error.requests
    if missing:
        raise NotGenerated(generator, missing)
    return made
