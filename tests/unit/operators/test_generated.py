"""Steps with a generator: what is missing is asked for at once, the store answers, keys hold all that decides."""

import json
import pickle
import sqlite3
import threading

import pytest

from idxopt.errors import BuildError, ModelError, ProgramError
from idxopt.models.prompts import (
    INPUT_CHARACTERS,
    VERSIONS,
    TextRequest,
    answer_of,
    cut,
    most_characters,
    prompt,
    schema,
)
from idxopt.operators.cache import CacheSettings, StepCache
from idxopt.operators.interpreter import Interpreter, stored_rows
from idxopt.operators.row import Document
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import EMPTY_TABLES
from idxopt.operators.texts import Kept, NotGenerated, TextStore
from tests.unit.operators.generating import LANGUAGE_MODEL, answering, enrich, generating, made_of, rows_of

TEXT = "## One\n\nA text about shards.\n\n## Two\n\nMore about nodes."
GOOD = {
    "summary": {"summary": "It is about shards."},
    "keywords": {"keywords": ["shards", "nodes", "shards"]},
    "questions": {"questions": ["What is a shard?", "What is a node?"]},
    "paraphrase": {"paraphrase": "Shards, in other words."},
    "mindmap": {"topics": [{"topic": "Shards", "points": ["parts", "of an index"]}, {"topic": "Nodes", "points": []}]},
}
STORED = {
    "summary": "It is about shards.",
    "keywords": ["shards", "nodes"],
    "questions": ["What is a shard?", "What is a node?"],
    "paraphrase": "Shards, in other words.",
    "mindmap": "Shards\nShards > parts\nShards > of an index\nNodes",
}


@pytest.mark.parametrize("task", GOOD)
def test_the_store_answers(task, tmp_path):
    program = generating(enrich(task), models=LANGUAGE_MODEL)
    models = answering(program, TEXT, tmp_path, lambda request: json.dumps(GOOD[task]))
    assert made_of(program, TEXT, models=models) == STORED[task]


def test_all_that_is_missing_is_named_at_once():
    program = generating(
        {"op": "slice", "unit": "headings"}, enrich("summary"), models=LANGUAGE_MODEL, markup="markdown"
    )
    with pytest.raises(NotGenerated) as missing:
        rows_of(program, TEXT)
    assert missing.value.generator == "small"
    assert [request.text.split("\n")[0] for request in missing.value.requests] == ["## One", "## Two"]


def test_a_failed_answer_leaves_the_field_out(tmp_path):
    program = generating(enrich("summary"), models=LANGUAGE_MODEL)
    models = StepModels(texts=str(tmp_path / "texts.sqlite"))
    with pytest.raises(NotGenerated) as missing:
        rows_of(program, TEXT, models=models)
    (request,) = missing.value.requests
    store = TextStore.open(tmp_path / "texts.sqlite")
    store.put(request.key(models.identity("small", program.models)), "summary", Kept(None, "no JSON"))
    assert made_of(program, TEXT, models=models) is None


def test_questions_become_rows_that_later_steps_read(tmp_path):
    steps = (enrich("questions", rows=True, into="body"), {"op": "normalize", "scheme": "lowercase"})
    program = generating(*steps, models=LANGUAGE_MODEL)
    models = answering(program, TEXT, tmp_path, lambda _: json.dumps(GOOD["questions"]))
    rows = rows_of(program, TEXT, models=models)
    assert [row.fields["body"] for row in rows] == ["what is a shard?", "what is a node?"]


def test_keys_hold_generator_task_text_and_options():
    base = TextRequest("summary", "text", {"markup": "text"})
    others = [
        base.key("b"),
        TextRequest("paraphrase", "text", {"markup": "text"}).key("a"),
        TextRequest("summary", "other", {"markup": "text"}).key("a"),
        TextRequest("summary", "text", {"markup": "html"}).key("a"),
    ]
    assert base.key("a") == TextRequest("summary", "text", {"markup": "text"}).key("a")
    assert len({base.key("a"), *others}) == 5


def test_a_new_prompt_version_is_another_text(monkeypatch):
    request = TextRequest("summary", "text")
    before = request.key("a")
    monkeypatch.setitem(VERSIONS, "summary", VERSIONS["summary"] + 1)
    assert request.key("a") != before


def test_another_model_is_another_text_and_another_cached_row(tmp_path):
    program = generating(enrich("summary"), models=LANGUAGE_MODEL)
    models = answering(program, TEXT, tmp_path, lambda _: json.dumps(GOOD["summary"]))
    cache = StepCache.open(CacheSettings(tmp_path / "rows"))
    assert cache is not None
    row = Interpreter(program, "parts", EMPTY_TABLES, models=models, cache=cache)
    document = Document("doc", {"title": "Title", "text": TEXT})
    assert row.rows(document)[0].fields["made"] == STORED["summary"]
    other = StepModels(texts=models.texts, identities={"small": "another"})
    with pytest.raises(NotGenerated):
        Interpreter(program, "parts", EMPTY_TABLES, models=other, cache=cache).rows(document)


def test_worker_processes_read_the_store(tmp_path):
    program = generating(enrich("summary"), models=LANGUAGE_MODEL)
    models = answering(program, TEXT, tmp_path, lambda _: json.dumps(GOOD["summary"]))
    assert pickle.loads(pickle.dumps(models)) == models
    documents = [Document(f"d{number}", {"title": "T", "text": TEXT}) for number in range(5)]
    made = stored_rows(program, ["parts"], EMPTY_TABLES, documents, models=models, workers=2)
    assert [rows["parts"][0].body["idxopt"]["made"] for _, rows in made] == [STORED["summary"]] * 5


def test_a_section_without_a_verdict_is_missing_where_verdicts_are_wanted(tmp_path):
    program = generating(enrich("restructure"), models=LANGUAGE_MODEL)
    text = "## One\n\n" + "Each index is kept on several nodes so that one may fail without a loss. " * 3
    models = answering(program, text, tmp_path, lambda _: json.dumps({"parts": ["Each index is kept on nodes."]}))
    assert "Each index is kept on nodes." in made_of(program, text, models=models)
    judged = StepModels(texts=models.texts, judged=True)
    with pytest.raises(NotGenerated) as missing:
        rows_of(program, text, models=judged)
    (request,) = missing.value.requests
    key = request.key(judged.identity("small", program.models))
    store = TextStore.open(tmp_path / "texts.sqlite")
    store.judge(key, True)
    assert made_of(program, text, models=judged) == text
    store.judge(key, False)
    assert "Each index is kept on nodes." in made_of(program, text, models=judged)


@pytest.mark.parametrize("task", [*GOOD, "restructure"])
@pytest.mark.parametrize(
    "answer",
    ["", "no", "[]", "{}", "null", '{"summary": 3}', '{"parts": "x"}', '{"x"', "[" * 100_000, '{"topics": [1]}'],
)
def test_answers_of_another_shape_are_refused(task, answer):
    request = TextRequest(task, "text", {"path": [], "parts": ["text"]})
    with pytest.raises(ModelError):
        answer_of(request, answer)


def test_a_fence_around_the_answer_is_taken_off_and_bad_characters_are_left_out():
    request = TextRequest("summary", "text")
    assert answer_of(request, '```json\n{"summary": "a\\ud800b\\u0000"}\n```') == "ab"


def test_the_prompt_bounds_the_answer_by_the_input():
    short, long = (TextRequest("restructure", text, {"path": ["A", "B"], "parts": [text]}) for text in ("x", "x" * 900))
    assert prompt(short, len).max_tokens < prompt(long, len).max_tokens < 900 * 2
    made = prompt(long, len)
    assert "A > B" in made.user
    assert made.schema == schema(long)
    assert made.schema["properties"]["parts"]["minItems"] == 1
    assert prompt(TextRequest("summary", "x" * 9_000), len).max_tokens == 320


def test_long_texts_are_cut_at_a_sentence_for_models_with_a_limit():
    assert most_characters(None) == INPUT_CHARACTERS
    assert most_characters(512) == 768
    assert most_characters(10) == 200
    assert cut("One. Two. Three.", 12) == "One. Two."
    assert cut("x" * 50, 10) == "x" * 10
    assert cut("short", 10) == "short"


def test_a_store_of_another_version_or_a_damaged_one_is_refused_with_a_remedy(tmp_path):
    newer = tmp_path / "newer.sqlite"
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 9")
    connection.commit()
    connection.close()
    with pytest.raises(BuildError, match="version 9"):
        TextStore.open(newer)
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database at all, but long enough to be read as one" * 50)
    with pytest.raises(BuildError, match="cannot be used as the store"):
        TextStore.open(damaged)


def test_threads_share_a_store_and_what_is_there_stays(tmp_path):
    store = TextStore.open(tmp_path / "texts.sqlite")
    threads = [
        threading.Thread(target=lambda n=n: store.put(f"k{n % 10}", "summary", Kept(f"a{n % 10}"))) for n in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.put("k1", "summary", Kept("other"))
    assert len(store) == 10
    assert store.get([f"k{n}" for n in range(2_000)])["k1"] == Kept("a1")
    assert len(store.get([f"k{n}" for n in range(2_000)])) == 10


def test_slices_by_the_tokens_of_a_model_need_its_tokenizer():
    models = {"mini": {"kind": "embedder", "id": "maker/mini"}}
    program = generating({"op": "slice", "unit": "mini", "window": 4}, models=models)
    with pytest.raises(ProgramError, match="tokenizer is not known"):
        rows_of(program, TEXT)
