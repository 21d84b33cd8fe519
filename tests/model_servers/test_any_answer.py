"""Whatever JSON a server answers: a usable result, or a ModelError; never another exception."""

import json
import math
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from idxopt.errors import ModelError
from idxopt.models.answers import answered
from idxopt.models.http.chat import HttpGenerator
from idxopt.models.http.embeddings import HttpEmbedder
from idxopt.models.http.rerank import HttpReranker
from idxopt.models.ports import Generation, ModelIdentity, Prompt
from idxopt.program.schema import ModelSpec

NUMBER = st.one_of(st.integers(-2, 3), st.floats(), st.integers(10**30, 10**31))
SCALAR = st.one_of(st.none(), st.booleans(), NUMBER, st.text(max_size=4), st.sampled_from(["AACAPwAAgD8=", "stop"]))
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)
VECTOR = st.one_of(VALUE, st.lists(NUMBER, min_size=2, max_size=2))
ITEM = st.one_of(
    VALUE,
    st.fixed_dictionaries({"index": st.one_of(st.integers(0, 1), VALUE)}, optional={"embedding": VECTOR}),
    st.fixed_dictionaries({"index": st.integers(0, 1), "relevance_score": st.one_of(NUMBER, VALUE)}),
)
LISTS = st.one_of(VALUE, st.lists(ITEM, max_size=3))
ANSWER = st.fixed_dictionaries({}, optional={"data": LISTS, "results": LISTS})
CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "message": st.one_of(VALUE, st.fixed_dictionaries({"content": VALUE}, optional={"refusal": VALUE})),
        "finish_reason": VALUE,
    },
)
CHAT = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.one_of(VALUE, st.lists(st.one_of(CHOICE, VALUE), max_size=2)),
        "usage": st.one_of(
            VALUE, st.fixed_dictionaries({}, optional={"prompt_tokens": VALUE, "completion_tokens": VALUE})
        ),
    },
)
SPEC = ModelSpec(kind="embedder", id="m", dimension=2, similarity="cosine")


class Fixed:
    """A client whose server always answers the same."""

    place = "here"
    concurrency = 1

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def post(self, body: Any, **_: Any) -> Any:
        return self._answer


def client(answer: Any) -> Any:
    return Fixed(answer)


@given(ANSWER)
@example({"data": [{"index": 0, "embedding": "AACAPwAAgD8="}, {"index": 1, "embedding": [1, 2]}]})
def test_embeddings(answer: Any) -> None:
    model = HttpEmbedder(client(answer), SPEC, ModelIdentity("embedder", "m"), model="m", batch_tokens=100)
    try:
        found = model.embed(["a", "b"], "query").vectors
    except ModelError:
        return
    assert found.shape == (2, 2)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)


@given(ANSWER)
@example({"results": [{"index": 1, "relevance_score": 2}, {"index": 0, "relevance_score": 0.5}]})
def test_rerank(answer: Any) -> None:
    model = HttpReranker(client(answer), SPEC, ModelIdentity("reranker", "m"), model="m", batch_tokens=100)
    try:
        found = model.score("q", ["a", "b"])
    except ModelError:
        return
    assert len(found) == 2
    assert all(math.isfinite(score) for score in found)


@given(CHAT)
@example({"choices": [{"message": {"content": "text"}, "finish_reason": "stop"}]})
def test_chat(answer: Any) -> None:
    model = HttpGenerator(client(answer), ModelIdentity("generator", "m"), model="m", price=(1.0, 1.0))
    try:
        found = model.generate(Prompt("summary", "text", user="text"))
    except ModelError:
        return
    assert isinstance(found.text, str)
    assert found.input_tokens >= 0
    assert found.output_tokens >= 0


@given(st.one_of(st.text(), VALUE.map(json.dumps)))
@example("```json\n[1]\n```")
def test_answers_with_a_schema(text: str) -> None:
    prompt = Prompt("keywords", "text", user="text", schema={"type": "array", "items": {"type": "number"}})
    try:
        found = answered(lambda _: Generation(text, 1, 1), prompt, place="here")
    except ModelError:
        return
    assert all(isinstance(value, int | float) for value in json.loads(found.text))
