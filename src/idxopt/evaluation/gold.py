"""Gold spans: the places in documents that answer a query, from the files of three kinds of collection.

- `spans.jsonl` with `doc`, `start`, `end` (code points of the document's text): COVID-QA.
- `spans.jsonl` with `corpus`, `start`, `end` (of `{corpus}.md` beside it), where the documents are pieces of that file,
  in its order and named `{corpus}:NUMBER`: Chroma's chunking evaluation. A span may lie in several pieces.
- `answers.jsonl` with the text of an answer and its document: the place is looked for, see `located`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import SourceError
from idxopt.evaluation.lines import content_lines, existing_file
from idxopt.text.analysis import standard_spans
from idxopt.text.identifiers import lowercase

LOOSE = 0.8
"""Share of a quote's words that a place must have to stand for it when the quote is not found word for word."""

_SPANS, _ANSWERS = "spans.jsonl", "answers.jsonl"
_MOST_SPREAD = 1.5


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A place that answers a query: code points of the document's text."""

    query: str
    doc: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GoldSpans:
    """All that were found. `loose`: placed by most of their words only; `lost`: queries whose answer was not found."""

    spans: tuple[GoldSpan, ...]
    loose: int = 0
    lost: tuple[str, ...] = ()


def has_gold_spans(folder: Path) -> bool:
    """Whether the folder has a file that `load_gold_spans` reads."""
    return existing_file(folder, [_SPANS, _ANSWERS]) is not None


def load_gold_spans(folder: Path, texts: Mapping[str, str]) -> GoldSpans:
    """The gold spans of a collection; `texts` holds the documents that take part, others are left out.

    Raises SourceError where the folder has no such file or a line cannot be used.
    """
    spans = existing_file(folder, [_SPANS])
    if spans is not None:
        lines = list(_objects(spans))
        if lines and "corpus" in lines[0][1]:
            return GoldSpans(tuple(_of_pieces(folder, spans, lines, texts)))
        return GoldSpans(tuple(_of_documents(spans, lines, texts)))
    answers = existing_file(folder, [_ANSWERS])
    if answers is None:
        raise SourceError(
            "holds no gold spans", remedy="add spans.jsonl or answers.jsonl (docs/measures.md)", place=str(folder)
        )
    return _of_answers(answers, texts)


def located(text: str, quote: str, *, loose: float | None = None) -> tuple[int, int] | None:
    """Where a quote stands in a text: as it is, else by its words (case, markup and punctuation aside).

    With `loose`, a share: else the place with the most of its words, no more than half as long again, where it has
    that share of them.
    """
    if not quote.strip():
        return None
    begin = text.find(quote)
    if begin >= 0:
        return begin, begin + len(quote)
    spans = list(standard_spans(text))
    words = [lowercase(text[start:end]) for start, end in spans]
    wanted = [lowercase(quote[start:end]) for start, end in standard_spans(quote)]
    if not wanted:
        return None
    for number in range(len(words) - len(wanted) + 1):
        if words[number] == wanted[0] and words[number : number + len(wanted)] == wanted:
            return spans[number][0], spans[number + len(wanted) - 1][1]
    return _densest(spans, words, wanted, loose) if loose is not None else None


def _densest(
    spans: Sequence[tuple[int, int]], words: Sequence[str], wanted: Sequence[str], share: float
) -> tuple[int, int] | None:
    """The first window with the most of the wanted words, where it has `share` of them."""
    size = min(len(words), max(len(wanted), round(len(wanted) * _MOST_SPREAD)))
    left = Counter(wanted)
    held = best = 0
    place = 0
    for number, word in enumerate(words):
        left[word] -= 1
        held += left[word] >= 0
        if number >= size:
            gone = words[number - size]
            held -= left[gone] >= 0
            left[gone] += 1
        if held > best:
            best, place = held, number
    if not words or best < share * len(wanted):
        return None
    return spans[max(0, place - size + 1)][0], spans[place][1]


def _of_documents(
    file: Path, lines: Sequence[tuple[int, dict[str, Any]]], texts: Mapping[str, str]
) -> Iterator[GoldSpan]:
    for number, line in lines:
        query, doc, start, end = _fields(file, number, line, "doc")
        if doc in texts:
            if not 0 <= start < end <= len(texts[doc]):
                raise SourceError(
                    f"the span {start} to {end} is not in the text of document {doc!r}",
                    remedy="check that the spans belong to this collection",
                    place=f"{file}:{number}",
                )
            yield GoldSpan(query, doc, start, end)


def _of_pieces(
    folder: Path, file: Path, lines: Sequence[tuple[int, dict[str, Any]]], texts: Mapping[str, str]
) -> Iterator[GoldSpan]:
    pieces: dict[str, list[tuple[int, int, str]]] = {}
    for number, line in lines:
        query, corpus, start, end = _fields(file, number, line, "corpus")
        if corpus not in pieces:
            pieces[corpus] = _pieces(folder / f"{corpus}.md", corpus, texts)
        for begin, stop, doc in pieces[corpus]:
            if begin < end and start < stop:
                yield GoldSpan(query, doc, max(start, begin) - begin, min(end, stop) - begin)


def _pieces(file: Path, corpus: str, texts: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Start and end in the file of every document that is a piece of it."""
    try:
        whole = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot be read ({error})", remedy="put the reference text there", place=str(file)
        ) from error
    found = []
    position = 0
    for doc in sorted(doc for doc in texts if doc.startswith(f"{corpus}:")):
        begin = whole.find(texts[doc], position)
        if begin < 0:
            raise SourceError(
                f"document {doc!r} is no piece of it", remedy="check that both are of one release", place=str(file)
            )
        found.append((begin, begin + len(texts[doc]), doc))
        position = begin + 1
    return found


def _of_answers(file: Path, texts: Mapping[str, str]) -> GoldSpans:
    spans: list[GoldSpan] = []
    lost: list[str] = []
    loose = 0
    for number, line in _objects(file):
        try:
            query, doc, answer = str(line["_id"]), str(line["doc"]), str(line["answer"])
        except KeyError as error:
            raise _missing(file, number, error) from error
        if doc not in texts:
            continue
        place = located(texts[doc], answer)
        if place is None:
            place = located(texts[doc], answer, loose=LOOSE)
            loose += place is not None
        if place is None:
            lost.append(query)
        else:
            spans.append(GoldSpan(query, doc, *place))
    return GoldSpans(tuple(spans), loose, tuple(lost))


def _fields(file: Path, number: int, line: Mapping[str, Any], place: str) -> tuple[str, str, int, int]:
    try:
        return str(line["query"]), str(line[place]), int(line["start"]), int(line["end"])
    except KeyError as error:
        raise _missing(file, number, error) from error
    except (TypeError, ValueError) as error:
        raise SourceError(
            f"`start` and `end` are no numbers ({error})", remedy="correct the line", place=f"{file}:{number}"
        ) from error


def _missing(file: Path, number: int, error: KeyError) -> SourceError:
    return SourceError(f"the line has no {error}", remedy="correct the line", place=f"{file}:{number}")


def _objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in content_lines(file):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise SourceError(f"broken JSON: {error}", remedy="correct the line", place=f"{file}:{number}") from error
        if not isinstance(value, dict):
            raise SourceError("is no JSON object", remedy="correct the line", place=f"{file}:{number}")
        yield number, value


def pieces_of(spans: Sequence[tuple[int, int]], start: int, end: int) -> range:
    """The numbers of the spans (in order, none overlapping) that lie at least partly between `start` and `end`."""
    first = max(0, bisect_right(spans, (start, start)) - 1)
    if first < len(spans) and spans[first][1] <= start:
        first += 1
    last = first
    while last < len(spans) and spans[last][0] < end:
        last += 1
    return range(first, last)
