"""`reorganize`: changes the structure of a field or of the rows.

- `sections`: a row a section, as `slice headings`, with the heading path in the field `path`.
- `table_rows`: a row a body row, as lines `header: value` (no header: the cells); `attributes`: a row a row of a table
  with two columns, as `attribute: value`. `list_items`: a row an item, without the lists inside it, which have their
  own. `qa_pairs`: a row a question with its answer: a heading that ends with a question mark, or lines `Q:` and `A:`.
  What is left of the text is a row before them, unless it is blank.
- `code_blocks`: code blocks move to the field `into` (a list of texts).
- `merge_short`: each row with fewer than `min_size` words in `field` is joined to the row after it, the last one to the
  row before; the other fields, and the path, are those of the first of them.
- `promote` copies, `rename` moves a field to `into`, as it is.
- `join` writes the texts of its fields to `into`, in their order, a line feed between two; absent and empty ones are
  left out, and with no text at all there is no `into`. The fields stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from idxopt.operators.markup import parsed_markup
from idxopt.operators.outline import section_end, without_spans
from idxopt.operators.row import Row
from idxopt.operators.slice import section_pieces
from idxopt.operators.splitting import Piece, splitting
from idxopt.operators.transform import Adding, Context, Transform, text_in, with_field, without_field
from idxopt.program.effects import reorganized_fields
from idxopt.program.schema import Markup
from idxopt.program.steps import Reorganize
from idxopt.text.analysis import standard_tokens
from idxopt.text.blocks import Block, Parsed, Table, TableRow

Finder = Callable[[str, Parsed], tuple[list[Piece], list[tuple[int, int]]]]
"""From a text and its structure to the pieces that become rows, and the spans that they take out of the text."""

_QUESTION = re.compile(r"^[ \t]*(?:\*\*|__)?(?:Q|Question)[ \t]*[0-9]*[ \t]*[:.)]", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*(?:\*\*|__)?(?:A|Answer)[ \t]*[0-9]*[ \t]*[:.)]", re.MULTILINE)


def compile_reorganize(step: Reorganize, context: Context) -> Transform:
    """The step as a function over rows."""
    names = reorganized_fields(step)
    name, into = names[0], step.into or names[0]
    match step.to:
        case "sections":
            return splitting(name, section_pieces(step.level, 0, context.markup, path=True))
        case "code_blocks":
            return lambda rows: [_code_apart(row, name, into, context.markup) for row in rows]
        case "merge_short":
            return lambda rows: merged(rows, name, step.min_size or 1)
        case "promote":
            return Adding(into, lambda row: row.fields.get(name))
        case "rename":
            return lambda rows: [without_field(_copied(row, name, into), name) for row in rows]
        case "join":
            return Adding(into, lambda row: _texts_joined(row, names))
        case _:
            return splitting(name, _rows_of(_FINDERS[step.to], context.markup))


def _copied(row: Row, name: str, into: str) -> Row:
    value = row.fields.get(name)
    return row if value is None else with_field(row, into, value)


def _texts_joined(row: Row, names: Sequence[str]) -> str | None:
    texts = [text for text in (text_in(row, name) for name in names) if text]
    return "\n".join(texts) if texts else None


def _code_apart(row: Row, name: str, into: str, markup: Markup) -> Row:
    text = text_in(row, name)
    if text is None:
        return row
    code = [block for block in parsed_markup(text, markup).blocks if block.kind == "code"]
    row = with_field(row, into, [block.text for block in code])
    return with_field(row, name, without_spans(text, ((block.start, block.end) for block in code)))


def _rows_of(find: Finder, markup: Markup) -> Callable[[str], list[Piece]]:
    def split(text: str) -> list[Piece]:
        pieces, taken = find(text, parsed_markup(text, markup))
        rest = without_spans(text, taken)
        if not pieces or rest.strip():
            pieces.insert(0, Piece(rest, 0, len(text), verbatim=not taken))
        return pieces

    return split


def _table_rows(text: str, parsed: Parsed) -> tuple[list[Piece], list[tuple[int, int]]]:
    del text
    tables = [(block, block.table) for block in parsed.blocks if block.table is not None and block.table.body]
    pieces = [_piece(_with_headers(row, table), row) for _, table in tables for row in table.body]
    return pieces, [(block.start, block.end) for block, _ in tables]


def _attributes(text: str, parsed: Parsed) -> tuple[list[Piece], list[tuple[int, int]]]:
    del text
    tables = [
        (block, block.table) for block in parsed.blocks if block.table is not None and _has_two_columns(block.table)
    ]
    pieces = [_piece(": ".join(filter(None, row.cells)), row) for _, table in tables for row in table.body]
    return pieces, [(block.start, block.end) for block, _ in tables]


def _has_two_columns(table: Table) -> bool:
    return bool(table.body) and all(len(row.cells) == 2 for row in table.body)


def _piece(text: str, row: TableRow) -> Piece:
    return Piece(text, row.start, row.end, verbatim=False)


def _with_headers(row: TableRow, table: Table) -> str:
    headers = table.header[-1].cells if table.header else ()
    named = [f"{header}: {cell}" if header else cell for header, cell in zip(headers, row.cells, strict=False) if cell]
    return "\n".join([*named, *filter(None, row.cells[len(headers) :])])


def _list_items(text: str, parsed: Parsed) -> tuple[list[Piece], list[tuple[int, int]]]:
    lists = [block for block in parsed.blocks if block.kind == "list"]
    pieces: list[Piece] = []
    for block in parsed.blocks:
        if block.kind == "list_item":
            inner = [
                other
                for other in lists
                if other.depth > block.depth and block.start <= other.start and other.end <= block.end
            ]
            own = without_spans(text[block.start : block.end], _shifted(inner, block.start)).strip()
            if own:
                pieces.append(Piece(own, block.start, block.end, verbatim=False))
    return pieces, [(block.start, block.end) for block in lists]


def _shifted(blocks: Iterable[Block], by: int) -> list[tuple[int, int]]:
    return [(block.start - by, block.end - by) for block in blocks]


def _qa_pairs(text: str, parsed: Parsed) -> tuple[list[Piece], list[tuple[int, int]]]:
    spans: list[tuple[int, int]] = []
    for number, heading in enumerate(parsed.headings):
        if heading.text.rstrip().endswith(("?", "\uff1f")) and (not spans or heading.start >= spans[-1][1]):
            end = section_end(parsed.headings, number, len(text))
            if text[heading.end : end].strip():
                spans.append((heading.start, end))
    spans += [span for span in _marked_pairs(text, parsed) if not any(start <= span[0] < end for start, end in spans)]
    return [Piece(text[start:end], start, end) for start, end in sorted(spans)], spans


def _marked_pairs(text: str, parsed: Parsed) -> list[tuple[int, int]]:
    """Spans from a line `Q:` to the next one or the next heading, where a line `A:` is in between."""
    questions = [match.start() for match in _QUESTION.finditer(text)]
    stops = sorted([*questions, *(heading.start for heading in parsed.headings), len(text)])
    spans: list[tuple[int, int]] = []
    following = iter(stops)
    stop = next(following)
    for start in questions:
        while stop <= start:
            stop = next(following)
        if _ANSWER.search(text, start, stop):
            spans.append((start, stop))
    return spans


_FINDERS: dict[str, Finder] = {
    "table_rows": _table_rows,
    "attributes": _attributes,
    "list_items": _list_items,
    "qa_pairs": _qa_pairs,
}


def merged(rows: list[Row], name: str, min_size: int) -> list[Row]:
    """Neighbouring rows joined until none has fewer than `min_size` words in the field."""
    joined: list[Row] = []
    short: Row | None = None
    for row in rows:
        row = row if short is None else _joined(short, row, name)
        if len(standard_tokens(text_in(row, name) or "")) < min_size:
            short = row
        else:
            joined.append(row)
            short = None
    if short is not None:
        joined.append(_joined(joined.pop(), short, name) if joined else short)
    return joined


def _joined(first: Row, second: Row, name: str) -> Row:
    before, after = text_in(first, name), text_in(second, name)
    if before is None or after is None:
        return with_field(first, name, before if after is None else after) if before or after else first
    adjoining = first.span is not None and second.span is not None and first.span[1] == second.span[0]
    exact = adjoining and first.verbatim == second.verbatim == name
    row = with_field(first, name, before + after if exact else f"{before}\n\n{after}")
    span = (first.span[0], second.span[1]) if adjoining and first.span and second.span else None
    return Row(row.doc_id, row.fields, row.changed, row.path, span, name if exact else None)
