"""The step cache: what is kept, when it is used, and that it never changes or fails anything."""

import pytest

from idxopt.operators.cache import FILE_NAME, CacheSettings, StepCache
from idxopt.operators.interpreter import Interpreter, stored_rows
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import EMPTY_TABLES, build_tables
from idxopt.program.validate import program_from
from tests.unit.operators.corpus import document
from tests.unit.program.programs import program

SECTIONS = {"op": "slice", "unit": "headings", "keep_heading_path": True}
PRIME = {"op": "enrich", "with": "prime_terms", "into": "terms"}
LOWER = {"op": "normalize", "scheme": "lowercase"}
DOCUMENTS = [document(f"# A {n}\n\na\n\n## B\n\nb{n}", doc_id=str(n)) for n in range(100)]


@pytest.fixture
def cache(tmp_path):
    made = StepCache.open(CacheSettings(tmp_path))
    assert made is not None
    yield made
    made.close()


def run(cache, steps, documents=DOCUMENTS, tables=None):
    wanted = program(steps)
    tables = build_tables(wanted, documents) if tables is None else tables
    before = cache.hits
    interpreter = Interpreter(wanted, "parts", tables, cache=cache)
    made = [interpreter.stored(item) for item in documents]
    plain = Interpreter(wanted, "parts", tables)
    assert made == [plain.stored(item) for item in documents]
    return cache.hits - before


def test_a_changed_last_step_reuses_the_rest(cache):
    assert run(cache, [SECTIONS, LOWER]) == 0
    assert run(cache, [SECTIONS, LOWER]) == 100
    assert run(cache, [SECTIONS, {"op": "normalize", "scheme": "nfkc"}]) == 100
    assert run(cache, [SECTIONS, LOWER, PRIME]) == 100
    assert run(cache, [LOWER, SECTIONS]) == 0
    assert run(cache, [{**SECTIONS, "level": 3}, LOWER]) == 0


def test_other_text_or_other_tables_find_nothing(cache):
    assert run(cache, [PRIME, SECTIONS], DOCUMENTS[:50]) == 0
    assert run(cache, [PRIME, SECTIONS], DOCUMENTS[:50]) == 50
    assert run(cache, [PRIME, SECTIONS], DOCUMENTS) == 0
    changed = [document("other", doc_id=item.id) for item in DOCUMENTS]
    assert run(cache, [SECTIONS], changed, EMPTY_TABLES) == 0


def test_cheap_steps_are_not_kept(cache):
    assert cache.plan(program([LOWER]), program([LOWER]).views["parts"].steps, EMPTY_TABLES) is None


def test_weights_are_no_part_of_the_key(cache):
    weight = {"op": "reweight", "field": "title", "alpha": 2.0}
    assert run(cache, [SECTIONS]) == 0
    assert run(cache, [weight, SECTIONS]) == 100


def test_processes_share_one_file(tmp_path):
    settings = CacheSettings(tmp_path)
    wanted = program([SECTIONS, LOWER])
    made = [list(stored_rows(wanted, ["parts"], EMPTY_TABLES, DOCUMENTS, workers=2, cache=settings)) for _ in range(2)]
    assert made[0] == made[1]
    cache = StepCache.open(settings)
    assert cache is not None
    assert run(cache, [SECTIONS, LOWER]) == 100


def test_the_file_stays_below_its_bound(tmp_path):
    settings = CacheSettings(tmp_path, max_bytes=300_000)
    cache = StepCache.open(settings)
    assert cache is not None
    for n in range(2_000):
        cache.put(n.to_bytes(16, "big"), b"x" * 1_000)
        if n % 50 == 0:
            cache.commit()
    cache.close()
    assert (tmp_path / FILE_NAME).stat().st_size < 600_000
    cache = StepCache.open(settings)
    assert cache is not None
    assert cache.get((1_999).to_bytes(16, "big")) is not None
    assert cache.get((0).to_bytes(16, "big")) is None


def test_a_damaged_file_is_made_anew(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"no database " * 1_000)
    cache = StepCache.open(CacheSettings(tmp_path))
    assert cache is not None
    assert run(cache, [SECTIONS]) == 0
    assert run(cache, [SECTIONS]) == 100


def test_a_cache_that_cannot_be_used_fails_nothing(tmp_path, cache):
    (tmp_path / "file").write_text("")
    assert StepCache.open(CacheSettings(tmp_path / "file")) is None
    wanted = program([SECTIONS])
    made = list(stored_rows(wanted, ["parts"], EMPTY_TABLES, DOCUMENTS, cache=CacheSettings(tmp_path / "file")))
    assert made == list(stored_rows(wanted, ["parts"], EMPTY_TABLES, DOCUMENTS))
    cache._connection.execute("DROP TABLE rows")
    assert run(cache, [SECTIONS]) == 0


def test_another_tokenizer_or_a_judge_is_another_key(cache, tmp_path):
    model = {"kind": "embedder", "id": "test/model", "dimension": 8, "similarity": "cosine"}
    plain = program([{"op": "slice", "unit": "words", "window": 8}]).model_dump(by_alias=True, exclude_unset=True)
    plain["views"]["parts"]["steps"][0]["unit"] = "m"
    wanted = program_from({**plain, "models": {"m": model}}, "test")
    file = tmp_path / "tokenizer.json"

    def key(tokenizer, *, judged=False):
        file.write_text(tokenizer)
        models = StepModels(tokenizers={"m": str(file)}, judged=judged)
        return cache.plan(wanted, wanted.views["parts"].steps, EMPTY_TABLES, models)._keys[0]

    assert key("one") == key("one")
    assert len({key("one"), key("other"), key("one", judged=True)}) == 3
