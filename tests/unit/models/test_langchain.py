"""LangChain objects, known by their methods alone; the real classes are tested where they are installed."""

from types import SimpleNamespace
from typing import Any

import pytest

from idxopt.errors import ModelError
from idxopt.models.langchain import LangChainEmbedder, LangChainGenerator
from idxopt.models.ports import Prompt
from tests.unit.models.stubs import DIMENSION, vector_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Embeddings:
    def __init__(self, change=lambda vectors: vectors) -> None:
        self.change = change
        self.asked: list[tuple[str, int]] = []

    def embed_documents(self, texts):
        self.asked.append(("documents", len(texts)))
        return self.change([vector_of(text).tolist() for text in texts])

    def embed_query(self, text):
        self.asked.append(("query", 1))
        return vector_of(text).tolist()


class Chat:
    """Answers one after another."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def invoke(self, input, /, **arguments):
        self.calls.append((input, arguments))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def message(content: Any, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(content=content, **more)


def embedder(embeddings) -> LangChainEmbedder:
    return LangChainEmbedder(embeddings, id="lc", dimension=DIMENSION)


def test_queries_and_passages_go_their_own_ways():
    embeddings = Embeddings()
    found = embedder(embeddings).embed([f"t{number}" for number in range(300)], "passage")
    assert embeddings.asked == [("documents", 256), ("documents", 44)]
    assert found.vectors[299] == pytest.approx(vector_of("t299"), abs=1e-6)
    assert (found.tokens, found.truncated) == (None, ())
    embedder(embeddings).embed(["a", "b"], "query")
    assert embeddings.asked[2:] == [("query", 1), ("query", 1)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda vectors: vectors[:-1], "2 vectors came back for 3 texts"),
        (lambda vectors: [*vectors[:2], [0.0] * DIMENSION], "text 2 is all zeros"),
        (lambda vectors: [*vectors[:2], [float("nan")] * DIMENSION], "text 2 is not finite"),
        (lambda vectors: [vector[:-1] for vector in vectors], "7 dimensions, not 8"),
    ],
)
def test_wrong_answers_are_refused(change, says):
    with pytest.raises(ModelError, match=says):
        embedder(Embeddings(change)).embed(["a", "b", "c"], "passage")


def test_what_it_raises_is_a_model_error():
    def fail(vectors):
        raise ConnectionError("no route")

    with pytest.raises(ModelError, match="ConnectionError: no route"):
        embedder(Embeddings(fail)).embed(["a"], "passage")


def test_an_answer_with_its_counts():
    chat = Chat(message("fine", usage_metadata={"input_tokens": 11, "output_tokens": 2}))
    found = LangChainGenerator(chat, id="lc").generate(Prompt("summary", "t", system="s", user="u", max_tokens=9))
    assert (found.text, found.input_tokens, found.output_tokens, found.finish) == ("fine", 11, 2, "stop")
    assert chat.calls == [([("system", "s"), ("human", "u")], {"temperature": 0, "max_tokens": 9})]


def test_an_answer_in_parts_that_was_cut_and_has_no_counts():
    chat = Chat(
        message([{"type": "text", "text": "on"}, "e", {"type": "image"}], response_metadata={"finish_reason": "length"})
    )
    generator = LangChainGenerator(chat, id="lc", limit="num_predict", arguments={})
    found = generator.generate(Prompt("summary", "t", user="äu", max_tokens=2))
    assert (found.text, found.input_tokens, found.output_tokens, found.finish) == ("one", 3, 2, "length")
    assert chat.calls[0][1] == {"num_predict": 2}


def test_json_is_asked_for_in_words_and_once_more():
    chat = Chat(message("no"), message('```json\n{"n": 1}\n```'))
    found = LangChainGenerator(chat, id="lc").generate(Prompt("keywords", "t", user="u", schema=SCHEMA))
    assert found.text == '{"n": 1}'
    assert '"required": ["n"]' in chat.calls[0][0][0][1]
    assert "not JSON" in chat.calls[1][0][1][1]


@pytest.mark.parametrize("content", [None, [], [{"type": "image"}], 5])
def test_no_text_is_no_answer(content):
    with pytest.raises(ModelError, match="holds no text"):
        LangChainGenerator(Chat(message(content)), id="lc").generate(Prompt("summary", "t", user="u"))


def test_a_failed_call_is_a_model_error():
    with pytest.raises(ModelError, match="TimeoutError"):
        LangChainGenerator(Chat(TimeoutError()), id="lc").generate(Prompt("summary", "t", user="u"))


def test_the_name_decides_the_identity():
    one, two = LangChainGenerator(Chat(), id="a"), LangChainGenerator(Chat(), id="b", price=(1.0, 2.0))
    assert one.identity.key != two.identity.key
    assert two.price == (1.0, 2.0)


def test_the_real_classes():
    core = pytest.importorskip("langchain_core.language_models.fake_chat_models", exc_type=ImportError)
    embeddings = pytest.importorskip("langchain_core.embeddings.fake", exc_type=ImportError)
    found = LangChainEmbedder(embeddings.DeterministicFakeEmbedding(size=4), id="lc", dimension=4).embed(["a"], "query")
    assert found.vectors.shape == (1, 4)
    chat = core.FakeListChatModel(responses=["hello"])
    assert LangChainGenerator(chat, id="lc").generate(Prompt("summary", "t", user="u")).text == "hello"
