"""Texts that language models must write before rows can be made: which are missing, what they may cost, making them.

The interpreter says what is missing: a document whose texts are not in the store raises NotGenerated. One pass counts
tokens for the estimate and the consent; a second one generates, a document's later steps after its earlier ones.

Nothing is paid twice. Each request is reserved in the ledger, sent, its answer written to the store, and only then its
cost committed. Killed before the answer is stored: the reservation stays open and counts as spent (the call may have
been paid for), and the text is asked for again. Killed after it: the text is there and is not asked for again; its
reservation counts in full. At most the requests under way at that moment are lost. One ledger belongs to one program
over one snapshot of the documents, so a budget holds over all runs that it takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

from idxopt.deploy.intent import TextsEstimate
from idxopt.deploy.options import ApplyOptions, Progress, TextOptions, TextsMade
from idxopt.errors import BudgetReached, IdxoptError
from idxopt.hashing import digest
from idxopt.ledger.ledger import Ledger
from idxopt.ledger.pricing import cost
from idxopt.models.answers import Unusable
from idxopt.models.metered import Request, bound
from idxopt.models.opening import Models
from idxopt.models.ports import Generation
from idxopt.models.prompts import Answer, TextRequest, answer_of, prompt
from idxopt.operators.fidelity import Entailment
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.step_models import StepModels, is_extractive
from idxopt.operators.tables import Tables
from idxopt.operators.texts import FILE_NAME, Kept, NotGenerated, TextStore
from idxopt.program.effects import step_model
from idxopt.program.schema import Program
from idxopt.program.steps import Generated, Keywords, Slice

TRIES = 2
"""Requests for one text whose answers cannot be used, before it is given up."""
_DOCUMENTS_AT_ONCE = 64

Missing = tuple[str, TextRequest]
"""The program's name of a generator, and what it is to write."""


def texts_file(cache: Path) -> Path:
    """Where the generated texts of all programs are."""
    return cache / "texts" / FILE_NAME


def ledger_of_texts(program_hash: str, documents: str) -> dict[str, str]:
    """What the ledger of a budget belongs to: one program over one snapshot of the documents (its digest)."""
    return {"program": program_hash, "documents": documents}


def step_models(program: Program, options: ApplyOptions) -> StepModels:
    """What the steps of a program may know of its models. Raises ConfigError for a tokenizer's path that is wrong."""
    return models_at(program, options.models, options.cache, judged=options.texts.entailment is not None)


def models_at(program: Program, models: Models | None, cache: Path, *, judged: bool = False) -> StepModels:
    """The same without an apply."""
    steps = [step for view in program.views.values() for step in view.steps]
    named = {name for step in steps if (name := step_model(step)) is not None}
    texts = str(texts_file(cache)) if any(generators_of(program, view) for view in program.views) else None
    if models is None:
        return StepModels(texts=texts, judged=judged)
    units = {step.unit for step in steps if isinstance(step, Slice) and step.unit in named}
    files = {name: models.tokenizer_file(name) for name in units}
    return StepModels(
        tokenizers={name: str(file) for name, file in files.items() if file is not None},
        identities={name: models.identity(name).key for name in named},
        texts=texts,
        judged=judged,
    )


def generators_of(program: Program, view: str) -> frozenset[str]:
    """The language models that write texts for a view (`extractive` is none)."""
    steps = program.views[view].steps
    names = {step.generator for step in steps if isinstance(step, Generated | Keywords) and step.generator is not None}
    return frozenset(name for name in names if not is_extractive(name, program.models))


def later_steps(program: Program, view: str, missing: NotGenerated) -> tuple[str, ...]:
    """Steps of a view behind the one whose texts are missing that have texts written too: which ones is known only once
    these are made. `content.steps[2] (enrich questions by small)`.
    """
    steps = program.views[view].steps
    first = next((number for number, step in enumerate(steps) if step is missing.step), len(steps))
    return tuple(
        f"{view}.steps[{number}] (enrich {step.with_} by {step.generator})"
        for number, step in enumerate(steps)
        if number > first
        and isinstance(step, Generated | Keywords)
        and step.generator is not None
        and not is_extractive(step.generator, program.models)
    )


def merged(known: Sequence[str], more: Iterable[str]) -> tuple[str, ...]:
    """Both, each once, in order."""
    return tuple(dict.fromkeys([*known, *more]))


class Wanting:
    """Says which texts of a document are missing."""

    def __init__(self, program: Program, views: Sequence[str], tables: Tables, models: StepModels) -> None:
        self._models = models
        self._program = program
        self._interpreters = [
            Interpreter(program, view, tables, models=models) for view in views if generators_of(program, view)
        ]
        self.later: dict[str, tuple[str, ...]] = {}
        """What comes on top of a generator's texts that were missing so far (`later_steps`)."""

    def __bool__(self) -> bool:
        return bool(self._interpreters)

    def of(self, document: Document) -> Iterator[tuple[str, Missing]]:
        """Key and request of each text that its next step needs; nothing for a document that the load will reject."""
        for interpreter in self._interpreters:
            try:
                interpreter.rows(document)
            except NotGenerated as missing:
                later = later_steps(self._program, interpreter.view_name, missing)
                self.later[missing.generator] = merged(self.later.get(missing.generator, ()), later)
                identity = self._models.identity(missing.generator, self._program.models)
                for request in missing.requests:
                    yield request.key(identity), (missing.generator, request)
            except Exception:  # noqa: S112, BLE001 - the load itself rejects and names such a document
                continue


class Counting:
    """Adds up what missing texts may cost, each once."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._seen: set[str] = set()
        self._sums: dict[str, TextsEstimate] = {}
        self._later: dict[str, tuple[str, ...]] = {}

    def add(self, key: str, missing: Missing) -> None:
        """Raises ConfigError for a generator that nothing says how to reach."""
        if key in self._seen:
            return
        self._seen.add(key)
        name, request = missing
        generator = self._models.generator(name)
        tokens_in, tokens_out = bound(generator, prompt(request, generator.count_tokens))
        before = self._sums.get(name) or TextsEstimate(
            model=name,
            id=generator.identity.id,
            texts=0,
            tokens_in=0,
            tokens_out=0,
            money=0.0,
            currency=self._models.currency(name),
        )
        self._sums[name] = before.model_copy(
            update={
                "texts": before.texts + 1,
                "tokens_in": before.tokens_in + tokens_in,
                "tokens_out": before.tokens_out + tokens_out,
                "money": before.money + cost(generator.price, tokens_in, tokens_out),
            }
        )

    def come_later(self, name: str, later: Sequence[str]) -> None:
        """Steps whose texts come on top of a generator's."""
        self._later[name] = merged(self._later.get(name, ()), later)

    def estimates(self, scale: float = 1.0) -> tuple[TextsEstimate, ...]:
        """By generator; `scale`: documents of the corpus for each one that was counted."""
        return tuple(
            one.model_copy(
                update={
                    "texts": round(one.texts * scale),
                    "tokens_in": round(one.tokens_in * scale),
                    "tokens_out": round(one.tokens_out * scale),
                    "money": one.money * scale,
                    "later": self._later.get(name, ()),
                }
            )
            for name, one in sorted(self._sums.items())
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Writing:
    """What the texts of one apply are made with. `check` raises where the work must stop (a lost lock, a signal)."""

    program: Program
    models: Models
    steps: StepModels
    options: TextOptions
    folder: Path
    progress: Progress
    check: Callable[[], None]

    @classmethod
    def of(cls, program: Program, options: ApplyOptions, progress: Progress, check: Callable[[], None]) -> Writing:
        """Raises ConfigError without models."""
        models = options.models or Models(program.models, {}, cache=None, secret=str)
        steps = step_models(program, options)
        return cls(program, models, steps, options.texts, options.cache / "texts", progress, check)

    def write(
        self,
        views: Sequence[str],
        tables: Tables,
        documents: Callable[[], Iterable[Document]],
        about: Mapping[str, str],
        *,
        consent: Callable[[Sequence[TextsEstimate]], None] | None = None,
    ) -> TextsMade:
        """Makes every text that the documents need for these views. `about`: what the budget's ledger belongs to.

        `consent`: instead of that of the options. Raises BudgetReached when the money is used up (what was made is
        kept), and ModelError, ConfigError, or what the consent raises.
        """
        wanting = Wanting(self.program, views, tables, self.steps)
        if not wanting:
            return TextsMade()
        self.progress.stage("count texts")
        counting = Counting(self.models)
        for number, document in enumerate(documents(), 1):
            for key, missing in wanting.of(document):
                counting.add(key, missing)
            self.progress.advance("count texts", number, 0)
            self.check()
        for name, later in wanting.later.items():
            counting.come_later(name, later)
        estimates = counting.estimates()
        if not estimates:
            return TextsMade()
        (consent or self.options.consent)(estimates)
        self.progress.stage("generate")
        path = self.folder / f"{self.program.name}-{digest(dict(about))[:16]}.sqlite"
        with Ledger.open(path, budget=self.options.budget) as ledger:
            return self._generate(wanting, documents(), ledger, sum(one.texts for one in estimates))

    def _generate(self, wanting: Wanting, documents: Iterable[Document], ledger: Ledger, expected: int) -> TextsMade:
        store = TextStore.open(texts_file(self.folder.parent))
        writer = _Writer(self.models, store, ledger, self.options.entailment)
        made = TextsMade()
        try:
            with ThreadPoolExecutor(self.options.concurrency, thread_name_prefix="idxopt-texts") as pool:
                for batch in _batches(documents):
                    while missing := {key: one for document in batch for key, one in wanting.of(document)}:
                        for text in _all(pool, writer, missing, self.check):
                            made += text
                            self.progress.advance("generate", made.texts, max(expected, made.texts))
        except BudgetReached as reached:
            raise _stopped(reached, len(store)) from reached
        finally:
            store.close()
        return made


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, _DOCUMENTS_AT_ONCE)):
        yield batch


def _stopped(reached: BudgetReached, texts: int) -> BudgetReached:
    return BudgetReached(
        f"{reached.message}; the {texts} texts in the store are kept, and nothing went live",
        place=reached.place,
        remedy="raise --budget and run the same command again: only what is missing is generated",
    )


def _all(
    pool: ThreadPoolExecutor, writer: _Writer, missing: Mapping[str, Missing], check: Callable[[], None]
) -> Iterator[TextsMade]:
    """Each text as it is made. After a failure nothing more is sent; what is under way is kept as the pool ends."""
    waiting: set[Future[TextsMade]] = {pool.submit(writer.write, key, *one) for key, one in missing.items()}
    try:
        while waiting:
            done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            check()
    finally:
        for future in waiting:
            future.cancel()


class _Writer:
    """Makes one text: reserve, send, store, commit."""

    def __init__(self, models: Models, store: TextStore, ledger: Ledger, entailment: Entailment | None) -> None:
        self._models = models
        self._store = store
        self._ledger = ledger
        self._entailment = entailment

    def write(self, key: str, name: str, request: TextRequest) -> TextsMade:
        """Asks, once more where the answer cannot be used, and keeps the answer or the failure."""
        known = self._store.get([key]).get(key)
        if known is not None:  # it lacks a verdict only, or another process was faster
            self._judge(key, request, known)
            return TextsMade()
        generator = self._models.generator(name)
        asked = prompt(request, generator.count_tokens)
        made = TextsMade()
        for left in reversed(range(TRIES)):
            sent = Request(generator, self._ledger, asked)
            try:
                generation = sent.send()
                answer, failure = _read(request, generation)
            except Unusable as error:
                generation, answer, failure = sent.in_full, None, error.message
            made += TextsMade(0, 0, generation.input_tokens, generation.output_tokens, sent.cost(generation))
            if answer is not None or not left:
                kept = Kept(answer, failure, made.tokens_in, made.tokens_out)
                self._store.put(key, request.task, kept)
            sent.settle(generation)
            if answer is not None or not left:
                self._judge(key, request, kept)
                break
            asked = dataclasses.replace(asked, user=f"{asked.user}\n\n{_AGAIN.format(failure=failure)}")
        return made + TextsMade(1, int(answer is None))

    def _judge(self, key: str, request: TextRequest, kept: Kept) -> None:
        """Asks the entailment model, where there is one, whether the section contradicts its original."""
        if self._entailment is None or request.task != "restructure" or not isinstance(kept.answer, list):
            return
        pairs = zip(request.options["parts"], kept.answer, strict=True)
        self._store.judge(
            key, any(self._entailment.contradicts(before, after) for before, after in pairs if after.strip())
        )


_AGAIN = "An earlier answer could not be used: {failure}. Answer with JSON that obeys the schema, and nothing else."


def _read(request: TextRequest, generation: Generation) -> tuple[Answer | None, str]:
    try:
        return answer_of(request, generation.text), ""
    except IdxoptError as error:
        cut = "it was cut at its token limit; " if generation.finish == "length" else ""
        return None, f"{cut}{error.message}"
