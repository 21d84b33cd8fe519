"""Generated texts within an apply: judged sections, writes that are carried, the store between builds."""

import json
from pathlib import Path
from typing import Any

import pytest

from idxopt.deploy.options import TextOptions
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import LoadRow
from idxopt.errors import BudgetReached, GateRefused, ModelError
from idxopt.models.opening import Models
from idxopt.models.ports import Generation, ModelIdentity, Prompt
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from tests.deploy.harness import program, put_live, write_documents

PROSE = (
    "Each index is kept on several nodes so that one may fail without a loss of data. It is a nice thing to know, and "
    "people speak of it at lunch. The limit is 40 shards."
)
REWRITTEN = "Each index is kept on several nodes. The limit is 40 shards."


class Rewriter:
    """A generator in this process, as Python passes one: it answers every section alike and counts its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("generator", "maker/rewriter")

    @property
    def price(self) -> tuple[float, float]:
        return 1.0, 1.0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, prompt: Prompt) -> Generation:
        self.asked.append(prompt.text)
        made = json.dumps({"parts": [REWRITTEN for _ in prompt.options["parts"]]})
        return Generation(made, 10, 5)


class Judge:
    """An entailment model that finds contradictions where a text says so, and may fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked = 0

    def contradicts(self, premise: str, hypothesis: str) -> bool:
        self.asked += 1
        if self.fails:
            raise ModelError("the entailment model is down")
        assert hypothesis == REWRITTEN
        return "contradicted" in premise


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    made = EmbeddedEngine(tmp_path / "local")
    yield made
    made.close()


def wanted() -> Program:
    step = {"op": "enrich", "with": "restructure", "into": "dense", "generator": "small"}
    plain = canonical(program("handbook", views=1))
    view = {"steps": [step], "lexical": {"fields": {"title": {}, "body": {}}}}
    model = {"kind": "generator", "id": "maker/rewriter"}
    return program_from({**plain, "views": {"content": view}, "models": {"small": model}}, "test")


def site(tmp_path: Path, bodies: list[str]) -> Path:
    made = [
        {"_id": f"d{n}", "title": f"T {n}", "text": f"## Part\n\n{body}", "lang": "en"} for n, body in enumerate(bodies)
    ]
    return write_documents(tmp_path / "documents.jsonl", made)


def models(generator: Rewriter) -> Models:
    return Models(wanted().models, {}, cache=None, secret=str, given={"small": generator})


def dense(engine: EmbeddedEngine) -> dict[str, str]:
    (index,) = engine.aliases("handbook")["handbook"]
    return {document.id: document.source["idxopt"]["dense"] for document in engine.scan(index)}


def test_equal_sections_are_written_once(engine: EmbeddedEngine, tmp_path: Path) -> None:
    generator = Rewriter()
    applied = put_live(engine, wanted(), site(tmp_path, [PROSE] * 5), tmp_path, models=models(generator))
    assert len(generator.asked) == 1
    assert (applied.generated.texts, applied.generated.tokens_in) == (1, 10)
    assert set(dense(engine).values()) == {f"## Part\n\n{REWRITTEN}"}


def test_a_contradiction_keeps_the_original(engine: EmbeddedEngine, tmp_path: Path) -> None:
    generator, judge = Rewriter(), Judge()
    data = site(tmp_path, [PROSE, f"{PROSE} This is contradicted by nobody."])
    put_live(engine, wanted(), data, tmp_path, models=models(generator), texts=TextOptions(entailment=judge))
    found = dense(engine)
    assert found["d0"] == f"## Part\n\n{REWRITTEN}"
    assert found["d1"].endswith("contradicted by nobody.")
    assert judge.asked == 2


def test_a_judge_that_fails_stops_the_apply_and_is_asked_alone_the_next_time(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    generator, data = Rewriter(), site(tmp_path, [PROSE])
    failing = TextOptions(entailment=Judge(fails=True))
    with pytest.raises(ModelError, match="entailment"):
        put_live(engine, wanted(), data, tmp_path, models=models(generator), texts=failing)
    judge = Judge()
    put_live(engine, wanted(), data, tmp_path, models=models(generator), texts=TextOptions(entailment=judge))
    assert len(generator.asked) == 1
    assert judge.asked == 1


def test_writes_of_applications_get_their_texts(engine: EmbeddedEngine, tmp_path: Path) -> None:
    generator, data = Rewriter(), site(tmp_path, [PROSE])
    put_live(engine, wanted(), data, tmp_path, models=models(generator))
    (index,) = engine.aliases("handbook")["handbook"]
    state = engine.get_index(index)
    assert state is not None
    written = {"title": "New", "text": f"## Part\n\nNew words. {PROSE}", "lang": "en"}
    engine.overwrite(index, state.uuid, [LoadRow("d9", written)], [])
    engine.refresh(index)
    applied = put_live(
        engine,
        wanted(),
        data,
        tmp_path,
        intent={"rebuild": True},
        models=models(generator),
        carry_writes=True,
    )
    assert applied.writes.inserted == 1
    assert dense(engine)["d9"] == f"## Part\n\n{REWRITTEN}"
    assert len(generator.asked) == 2
    ledgers = [file.name for file in tmp_path.rglob("handbook-*.sqlite") if "texts" in file.parts[-2]]
    assert len(ledgers) == 1, "one budget over the load and what was carried"


def test_writes_whose_texts_nobody_agreed_to_are_refused_and_those_without_any_are_carried(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    generator, data = Rewriter(), site(tmp_path, [PROSE])
    put_live(engine, wanted(), data, tmp_path, models=models(generator))
    (index,) = engine.aliases("handbook")["handbook"]

    def write(text: str) -> None:
        state = engine.get_index(index)
        assert state is not None
        engine.overwrite(index, state.uuid, [LoadRow("d9", {"title": "N", "text": text, "lang": "en"})], [])
        engine.refresh(index)

    def carry(for_writes: bool) -> Any:
        return put_live(
            engine,
            wanted(),
            data,
            tmp_path,
            intent={"rebuild": True},
            models=models(generator),
            carry_writes=True,
            texts=TextOptions(for_writes=for_writes),
        )

    write(f"## Part\n\nNew words. {PROSE}")
    with pytest.raises(GateRefused, match="1 by small") as refused:
        carry(False)
    assert "--yes" in (refused.value.remedy or "")
    assert len(generator.asked) == 1, "nothing was sent"
    assert engine.aliases("handbook")["handbook"].keys() == {index}, "the old build serves"
    write(f"## Part\n\n{PROSE}")  # the store has it
    assert carry(False).writes.inserted == 1
    assert len(generator.asked) == 1


def chain() -> Program:
    """Questions about a summary, and keywords of the body: none of them is known before the summary is there."""
    plain = canonical(wanted())
    steps = [
        {"op": "enrich", "with": "summary", "into": "summary", "generator": "small"},
        {"op": "enrich", "with": "questions", "field": "summary", "into": "asked", "generator": "small"},
        {"op": "enrich", "with": "keywords", "into": "words", "generator": "small"},
    ]
    content = {**plain["views"]["content"], "steps": steps}
    return program_from({**plain, "views": {"content": content}}, "test")


def test_consent_names_the_steps_whose_texts_come_on_top(engine: EmbeddedEngine, tmp_path: Path) -> None:
    seen: list[Any] = []

    def refuse(estimates: Any) -> None:
        seen.extend(estimates)
        raise ModelError("nobody agreed")

    data = site(tmp_path, [PROSE, f"More. {PROSE}"])
    with pytest.raises(ModelError, match="nobody agreed"):
        put_live(engine, chain(), data, tmp_path, models=models(Rewriter()), texts=TextOptions(consent=refuse))
    (one,) = seen
    assert one.texts == 2
    assert one.later == (
        "content.steps[1] (enrich questions by small)",
        "content.steps[2] (enrich keywords by small)",
    )
    with pytest.raises(ModelError, match="nobody agreed"):
        put_live(engine, wanted(), data, tmp_path, models=models(Rewriter()), texts=TextOptions(consent=refuse))
    assert seen[-1].later == (), "a single step has nothing on top"


def test_nothing_is_sent_without_consent_or_money(engine: EmbeddedEngine, tmp_path: Path) -> None:
    generator, data = Rewriter(), site(tmp_path, [PROSE])

    def refuse(estimates: Any) -> None:
        assert [one.texts for one in estimates] == [1]
        raise ModelError("nobody agreed")

    with pytest.raises(ModelError, match="nobody agreed"):
        put_live(engine, wanted(), data, tmp_path, models=models(generator), texts=TextOptions(consent=refuse))
    with pytest.raises(BudgetReached):
        put_live(engine, wanted(), data, tmp_path, models=models(generator), texts=TextOptions(budget=0.0))
    assert generator.asked == []
    assert engine.aliases("handbook") == {}
