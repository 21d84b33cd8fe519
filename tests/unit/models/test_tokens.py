"""The tokenizer of a file: whole texts, code points, limits, pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import ModelError
from idxopt.models.tokens import FileTokenizer, LimitedTokenizer, is_cut, read_tokenization, text_tokens

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


@pytest.fixture(scope="module")
def file(minilm):
    return minilm / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(file):
    return FileTokenizer(file)


def limited(file, limit, **options):
    return LimitedTokenizer(read_tokenization(file), limit, place="models.x", **options)


def test_whole_texts_are_counted_whatever_the_file_says_of_truncation(tokenizer):
    assert tokenizer.count(["The cat sits outside", "", "word " * 1000]) == [4, 0, 1000]


def test_spans_count_code_points(tokenizer):
    text = "Straße 日本 \U0001f600 unhappiness"
    assert [text[start:end] for start, end in tokenizer.spans(text)][:5] == ["St", "raße", "日", "本", "\U0001f600"]
    assert "".join(text[start:end] for start, end in tokenizer.spans(text)[5:]) == "unhappiness"


@given(text=ANY_TEXT)
def test_spans_are_in_order_and_inside_for_any_text(tokenizer, text):
    spans = tokenizer.spans(text)
    assert len(spans) == tokenizer.count([text])[0]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


@given(text=ANY_TEXT, limit=st.integers(3, 40))
def test_a_limit_counts_special_tokens_and_says_what_it_cut(file, tokenizer, text, limit):
    (found,) = limited(file, limit).texts([text])
    whole = tokenizer.count([text])[0]
    assert len(found) == min(limit, whole + 2)
    assert is_cut(found) == (whole + 2 > limit)
    assert len(text_tokens(found)) == len(found) - 2


@pytest.mark.parametrize("query", ["", "a cat", "cat " * 500])
@pytest.mark.parametrize("limit", [5, 16, 64])
def test_of_a_pair_the_text_is_cut_and_a_long_query_too(file, query, limit):
    for text in ("", "short", "long " * 300):
        (found,) = limited(file, limit, pairs=True).pairs(query, [text])
        assert len(found) <= limit
        kinds = [kind for kind, special in zip(found.type_ids, found.special_tokens_mask, strict=True) if not special]
        assert (1 in kinds) == bool(text)
        assert (0 in kinds) == bool(query)


def test_without_a_limit_nothing_is_cut(file):
    (found,) = limited(file, None).texts(["word " * 2000])
    assert (len(found), is_cut(found)) == (2002, False)


@pytest.mark.parametrize(("limit", "pairs"), [(1, False), (2, False), (4, True)])
def test_a_limit_without_room_for_text_is_refused(file, limit, pairs):
    with pytest.raises(ModelError, match="leave no room"):
        limited(file, limit, pairs=pairs)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError) as caught:
        FileTokenizer(tmp_path / "tokenizer.json")
    assert caught.value.place == str(tmp_path / "tokenizer.json")
