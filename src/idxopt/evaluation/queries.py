"""Queries from BEIR (`queries.jsonl`), TREC (`qid<TAB>text` and `<top>` topics) and tables with a header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import SourceError
from idxopt.evaluation.delimited import Columns, read_table, recognise_header
from idxopt.evaluation.judgments import Query
from idxopt.evaluation.lines import content_lines, empty_file, first_line

_ID_KEYS = ("_id", "id", "query_id", "query-id", "qid")
_TEXT_KEYS = ("text", "query", "question")
_TOPIC_TAG = re.compile(r"<(/?)(top|num|title|desc|narr)>", re.IGNORECASE)
_TOPIC_LABELS = {"num": "number:", "title": "topic:"}

_Numbered = tuple[int, Query]


def load_queries(path: Path) -> tuple[Query, ...]:
    """Read queries, whichever of the formats they are in; gzip is unpacked.

    Raises SourceError (FILE:LINE) for broken JSON, a missing field, an id that comes twice, NUL bytes, another
    encoding than UTF-8, an empty file, and a format that is none of these.
    """
    first = first_line(path)
    columns = recognise_header(first)
    if first.lstrip().startswith("{"):
        found = _unique(path, _json_lines(path))
    elif _TOPIC_TAG.match(first.lstrip()):
        found = _unique(path, _topics(path))
    elif columns is not None and columns.holds_queries:
        found = _unique(path, _table(path, columns), judgment_table=columns.holds_judgments)
    elif "\t" in first:
        found = _unique(path, _tab_separated(path))
    else:
        raise SourceError(
            "is no format of queries that is known",
            remedy='use JSON lines ({"_id": "1", "text": "..."}), "id<TAB>text" lines, <top> topics, '
            "or a table whose header names query-id and query",
            place=f"{path}:1",
        )
    if not found:
        raise empty_file(path)
    return found


def _unique(path: Path, numbered: Iterator[_Numbered], *, judgment_table: bool = False) -> tuple[Query, ...]:
    """Refuse ids that come twice; a table of judgments repeats its query on each line, but with the same text."""
    seen: dict[str, _Numbered] = {}
    for line, query in numbered:
        earlier = seen.get(query.id)
        if earlier is None:
            seen[query.id] = (line, query)
        elif not (judgment_table and earlier[1].text == query.text):
            kind = "with another text " if judgment_table else ""
            raise SourceError(
                f"query id {query.id!r} comes twice {kind}(first on line {earlier[0]})",
                remedy="give every query an id of its own",
                place=f"{path}:{line}",
            )
    return tuple(query for _, query in seen.values())


def _json_lines(path: Path) -> Iterator[_Numbered]:
    for line, text in content_lines(path):
        try:
            entry = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise SourceError(
                f"is not valid JSON ({error})",
                remedy='write one JSON object a line: {"_id": "1", "text": "..."}',
                place=f"{path}:{line}",
            ) from error
        if not isinstance(entry, dict):
            raise SourceError(
                f"is {_json_kind(entry)}, not a JSON object",
                remedy='write one object a line: {"_id": "1", "text": "..."}',
                place=f"{path}:{line}",
            )
        query_id = _field(path, line, entry, _ID_KEYS)
        yield line, _query(path, line, query_id, _field(path, line, entry, _TEXT_KEYS))


def _field(path: Path, line: int, entry: dict[str, Any], keys: tuple[str, ...]) -> str:
    key = next((key for key in keys if entry.get(key) is not None), None)
    if key is None:
        held = ", ".join(sorted(entry)[:8]) or "nothing"
        raise SourceError(
            f"has no field {keys[0]!r} (it holds: {held})",
            remedy=f"add {keys[0]!r} to the line",
            place=f"{path}:{line}",
        )
    value = entry[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise SourceError(
            f"field {key!r} is {_json_kind(value)}, not text", remedy="write it in quotes", place=f"{path}:{line}"
        )
    return value


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return kinds[type(value)]


def _query(path: Path, line: int, query_id: str, text: str) -> Query:
    for name, value in (("id", query_id), ("text", text)):
        if not value.strip():
            raise SourceError(
                f"the query's {name} is empty", remedy="fill it or remove the query", place=f"{path}:{line}"
            )
    if "\x00" in query_id + text:
        raise SourceError("holds a NUL character", remedy="remove it", place=f"{path}:{line}")
    return Query(query_id.strip(), text.strip())


def _tab_separated(path: Path) -> Iterator[_Numbered]:
    for line, content in content_lines(path):
        query_id, tab, text = content.partition("\t")
        if not tab:
            raise SourceError("has no tab", remedy='write "id<TAB>text" on every line', place=f"{path}:{line}")
        yield line, _query(path, line, query_id, text)


def _table(path: Path, columns: Columns) -> Iterator[_Numbered]:
    for row in read_table(path, columns):
        yield row.line, _query(path, row.line, row.query_id, row.text or "")


def _topics(path: Path) -> Iterator[_Numbered]:
    """TREC ad hoc topics: the title is the query; a field ends at the next tag, whether or not it is closed."""
    fields: dict[str, list[str]] = {}
    current, start = None, 0
    for line, text in content_lines(path):
        position = 0
        for tag in _TOPIC_TAG.finditer(text):
            if current is not None:
                fields[current].append(text[position : tag.start()])
            position = tag.end()
            closing, name = bool(tag[1]), tag[2].lower()
            if name == "top":
                if start:
                    yield start, _topic(path, start, fields)
                fields, current, start = {}, None, 0 if closing else line
            else:
                current = None if closing else name
                fields.setdefault(name, [])
        if current is not None:
            fields[current].append(text[position:])
    if start:
        raise SourceError("the topic is not closed", remedy="end it with </top>", place=f"{path}:{start}")


def _topic(path: Path, line: int, fields: dict[str, list[str]]) -> Query:
    values = {}
    for name, label in _TOPIC_LABELS.items():
        value = " ".join(" ".join(fields.get(name, [])).split())
        if value.lower().startswith(label):
            value = value[len(label) :].strip()
        if not value:
            raise SourceError(f"the topic has no <{name}>", remedy=f"add <{name}> to it", place=f"{path}:{line}")
        values[name] = value
    return _query(path, line, values["num"], values["title"])
