"""`slice`: rows along one field, by windows of words, sentences or paragraphs, or a row a section.

- words are the tokens of Lucene's standard tokenizer; sentences and paragraphs are those of `text.sentences`; a key of
  `models` means the tokens of that model (special ones not counted). A unit reaches to the start of the next, so that
  every character is in a row. No row has more than `window` units. The tokens are those of the whole text: a row cut
  out of it may count a token more or less where a word is cut.
- tables (Markdown) are cut between rows, and the later pieces repeat the header, within the window.
- `min_size`: a shorter last row takes units from the row before it; for headings, a section with fewer words is joined
  to the one after it (the last one to the one before).
- `cut` sentences (words, tokens): a row ends where a sentence does; a sentence longer than `window` is cut inside.
- headings: cut at `level` and above; a document without a heading of that level is cut at its most frequent one. A byte
  order mark and front matter are left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from idxopt.errors import ProgramError
from idxopt.models.ports import Tokenizer
from idxopt.operators.markup import parsed_markup, structure_of
from idxopt.operators.remembering import once
from idxopt.operators.splitting import Piece, splitting
from idxopt.operators.transform import Context, Transform
from idxopt.operators.windows import Table, Window, windows
from idxopt.program.schema import Markup
from idxopt.program.steps import Slice
from idxopt.text.analysis import standard_starts, standard_tokens
from idxopt.text.blocks import skip_bom
from idxopt.text.sentences import paragraph_spans, sentence_spans

_Section = tuple[tuple[str, ...], int, int]
"""Heading path, start, end."""

Spans = Callable[[str], Iterable[tuple[int, int]]]


def compile_slice(step: Slice, context: Context) -> Transform:
    """The step as a function over rows."""
    if step.unit == "headings":
        return splitting(
            step.field, section_pieces(step.level, step.min_size, context.markup, path=step.keep_heading_path)
        )
    slicing = Slicing.of(step, context)
    return splitting(step.field, lambda text: [_piece(text, window) for window in slicing.windows(text)])


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a step cuts a text, whatever else its row holds (units other than headings). `units`: where they start."""

    step: Slice
    markup: Markup
    units: Callable[[str], Sequence[int]]

    @classmethod
    def of(cls, step: Slice, context: Context) -> Slicing:
        return cls(step, context.markup, _units(step.unit, context))

    def windows(self, text: str) -> list[Window]:
        """The windows of a text."""
        step, starts = self.step, self.units(text)
        size = step.window or 1
        is_cut = len(starts) > size
        tables = _tables(text, self.markup) if is_cut else []
        stops = _starts("sentences", text) if is_cut and step.cut == "sentences" else []
        found = windows(text, starts, tables, size=size, overlap=step.overlap, min_size=step.min_size, stops=stops)
        begin = skip_bom(text)
        if begin:
            return [Window(max(window.start, begin), window.end, window.header) for window in found]
        return found

    def even_units(self, text: str) -> Sequence[int] | None:
        """The starts of the units where windows follow each other evenly: from 0, every `window` - `overlap` units, as
        far as the end of the text.

        None where a table, a sentence, a smallest window or a byte order mark is in the way.
        """
        step, starts = self.step, self.units(text)
        is_cut = len(starts) > (step.window or 1)
        if is_cut and (step.min_size or step.cut == "sentences" or _tables(text, self.markup)):
            return None
        return None if skip_bom(text) else starts


def _units(name: str, context: Context) -> Callable[[str], Sequence[int]]:
    """Where the units of a text start."""
    if name not in _STARTS:
        spans = _model_spans(name, context)
        return lambda text: [start for start, _ in spans(text)]

    return lambda text: _starts(name, text)


def _starts(unit: str, text: str) -> Sequence[int]:
    return once(f"starts of {unit}", text, _STARTS[unit])


def _of_spans(spans: Spans) -> Callable[[str], Sequence[int]]:
    return lambda text: array("q", (start for start, _ in spans(text)))


_STARTS: dict[str, Callable[[str], Sequence[int]]] = {
    "words": standard_starts,
    "sentences": _of_spans(sentence_spans),
    "paragraphs": _of_spans(paragraph_spans),
}


def _model_spans(name: str, context: Context) -> Spans:
    """The tokens of a model; those that begin inside another's character (bytes of one code point) are one unit."""
    path = context.models.tokenizers.get(name)
    if path is None:
        id_ = context.specs[name].id if name in context.specs else name
        raise ProgramError(
            f'slices by the tokens of the model "{name}", and its tokenizer is not known',
            remedy=f'give `tokenizer` (a folder or a tokenizer.json) in [models."{id_}"] of idxopt.toml',
        )
    tokenizer = _tokenizer(path)

    def spans(text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for start, end in tokenizer.spans(text):
            if end > start and (not found or start > found[-1][0]):
                found.append((start, end))
        return found

    return spans


@lru_cache(maxsize=8)
def _tokenizer(path: str) -> Tokenizer:
    from idxopt.models.tokens import FileTokenizer  # most programs need no tokenizer of a model

    return FileTokenizer(Path(path))


def _piece(text: str, window: Window) -> Piece:
    cut = text[window.start : window.end]
    return Piece(window.header + cut, window.start, window.end, verbatim=not window.header)


def _tables(text: str, markup: Markup) -> list[Table]:
    """Tables with a header, each with the lines of cells right above its header counted in."""
    if markup != "markdown" or "|" not in text:
        return []
    found: list[Table] = []
    for block in parsed_markup(text, markup).blocks:
        if block.table is not None and block.table.header and block.table.body and block.depth == 0:
            start = _with_lines_above(text, block.start)
            found.append(Table(start, [row.start for row in block.table.body], block.end))
    return found


def _with_lines_above(text: str, start: int) -> int:
    """Lines that begin with a bar and stand right above a table belong to its header (case H16)."""
    while start > 0:
        line_start = text.rfind("\n", 0, start - 1) + 1
        if not text[line_start:start].lstrip().startswith("|"):
            break
        start = line_start
    return start


def section_pieces(level: int, min_size: int, markup: Markup, *, path: bool) -> Callable[[str], list[Piece]]:
    """A function from a text to a piece a section. `min_size` counts words; `path`: pieces carry their heading path."""

    def split(text: str) -> list[Piece]:
        structure = structure_of(text, markup)
        found = [
            (section.path, max(section.start, structure.body_start), section.end)
            for section in structure.sections_at(level)
            if section.end > structure.body_start
        ]
        return [
            Piece(text[start:end], start, end, path=names if path else None)
            for names, start, end in _joined(text, found or [((), len(text), len(text))], min_size)
        ]

    return split


def _joined(text: str, found: list[_Section], min_size: int) -> list[_Section]:
    """Neighbouring sections joined until none has fewer than `min_size` words; a joined one keeps the first path."""
    joined: list[_Section] = []
    short: _Section | None = None
    for path, start, end in found:
        section = (path, start, end) if short is None else (short[0] or path, short[1], end)
        if min_size and len(standard_tokens(text[section[1] : end])) < min_size:
            short = section
        else:
            joined.append(section)
            short = None
    if short is not None:
        last = joined.pop() if joined else short
        joined.append((last[0], last[1], short[2]))
    return joined
