"""Gold spans: files of three kinds, and where a quote stands in a text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import SourceError
from idxopt.evaluation.gold import GoldSpan, load_gold_spans, located, pieces_of

TEXT = "Stop it. You can't stop **an instance** that has a replica!  Ask first."


def write(folder, name, *lines):
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Ask first.", "Ask first."),
        ("you can't stop an instance", "You can't stop **an instance"),
        ("an instance that has a REPLICA", "an instance** that has a replica"),
        ("an instance without a replica", None),
        ("", None),
        ("!?", None),
    ],
)
def test_a_quote_is_found_as_it_is_or_by_its_words(quote, found):
    place = located(TEXT, quote)
    assert (None if place is None else TEXT[slice(*place)]) == found


def test_a_loose_place_has_enough_of_the_words():
    quote = "stop an instance without a replica"  # five of six words stand within nine
    place = located(TEXT, quote, loose=0.8)
    assert place is not None
    assert {"stop", "instance", "replica"} <= set(TEXT[slice(*place)].lower().replace("*", "").split("!")[0].split())
    assert located(TEXT, quote, loose=0.9) is None
    assert located("", quote, loose=0.1) is None


@given(st.text(max_size=60), st.data())
def test_what_is_cut_out_of_a_text_is_found_in_it(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = located(text, text[start:end])
    if text[start:end].strip():
        assert place is not None
        assert text[slice(*place)] == text[start:end]
    else:
        assert place is None


def test_spans_of_documents(tmp_path):
    write(
        tmp_path,
        "spans.jsonl",
        {"query": "1", "doc": "a", "start": 0, "end": 4, "content": "Stop"},
        {"query": "2", "doc": "elsewhere", "start": 0, "end": 4},
    )
    assert load_gold_spans(tmp_path, {"a": TEXT}).spans == (GoldSpan("1", "a", 0, 4),)


def test_a_span_over_two_pieces_of_a_reference_is_in_both(tmp_path):
    whole = "alpha beta. gamma delta. gamma delta. end"
    texts = {"ref:0000": "alpha beta.", "ref:0001": "gamma delta.", "ref:0002": "gamma delta.", "other:0000": "x"}
    (tmp_path / "ref.md").write_text(whole, "utf-8")
    write(tmp_path, "spans.jsonl", {"query": "1", "corpus": "ref", "start": 6, "end": 17, "content": "beta. gamma"})
    write_again = {"query": "2", "corpus": "ref", "start": 25, "end": 30}
    with (tmp_path / "spans.jsonl").open("a") as file:
        file.write(json.dumps(write_again) + "\n")
    found = load_gold_spans(tmp_path, texts).spans
    assert found == (
        GoldSpan("1", "ref:0000", 6, 11),
        GoldSpan("1", "ref:0001", 0, 5),
        GoldSpan("2", "ref:0002", 0, 5),
    )


def test_answers_are_looked_for_in_their_documents(tmp_path):
    write(
        tmp_path,
        "answers.jsonl",
        {"_id": "1", "answer": "Ask first", "doc": "a"},
        {"_id": "2", "answer": "stop an instance without a replica", "doc": "a"},
        {"_id": "3", "answer": "nothing of the sort is said", "doc": "a"},
        {"_id": "4", "answer": "x", "doc": "elsewhere"},
    )
    found = load_gold_spans(tmp_path, {"a": TEXT})
    assert [span.query for span in found.spans] == ["1", "2"]
    assert (found.loose, found.lost) == (1, ("3",))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"query": "1", "doc": "a", "start": 0}'], "has no 'end'"),
        (['{"query": "1", "doc": "a", "start": "x", "end": 3}'], "no numbers"),
        (['{"query": "1", "doc": "a", "start": 3, "end": 999}'], "not in the text"),
        (["[1]"], "no JSON object"),
        (["{"], "broken JSON"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, lines, message):
    (tmp_path / "spans.jsonl").write_text("\n".join(lines), "utf-8")
    with pytest.raises(SourceError, match=message) as caught:
        load_gold_spans(tmp_path, {"a": TEXT})
    assert str(caught.value.place).endswith("spans.jsonl:1")


def test_a_folder_without_gold_spans_and_a_reference_that_is_not_there(tmp_path):
    with pytest.raises(SourceError, match="holds no gold spans"):
        load_gold_spans(tmp_path, {})
    write(tmp_path, "spans.jsonl", {"query": "1", "corpus": "ref", "start": 0, "end": 1})
    with pytest.raises(SourceError, match="cannot be read"):
        load_gold_spans(tmp_path, {})
    (tmp_path / "ref.md").write_text("something else", "utf-8")
    with pytest.raises(SourceError, match="no piece of it"):
        load_gold_spans(tmp_path, {"ref:0000": "alpha"})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=8), st.integers(0, 40), st.integers(0, 40))
def test_pieces_between_two_places(gaps, start, end):
    spans, position = [], 0
    for gap, size in gaps:
        spans.append((position + gap, position + gap + size))
        position += gap + size
    expected = [number for number, span in enumerate(spans) if span[0] < end and start < span[1]]
    if start < end:
        assert list(pieces_of(spans, start, end)) == expected


def test_every_span_of_the_shared_collections_lies_in_a_judged_document(shared):
    from benchmarks.collections import collection

    counts = {}
    for name in ("covidqa_docs", "chroma_chunking", "awsdocs_small"):
        of = collection(name)
        found = load_gold_spans(of.folder, {document["_id"]: document["text"] for document in of.documents()})
        qrels = of.judged().qrels
        assert all(
            any(doc == span.doc for doc in qrels[span.query]) for span in found.spans if name != "chroma_chunking"
        )
        counts[name] = (len({span.query for span in found.spans}), found.loose, len(found.lost))
    assert counts == {"covidqa_docs": (1380, 0, 0), "chroma_chunking": (472, 0, 0), "awsdocs_small": (88, 16, 12)}
