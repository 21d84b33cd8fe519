"""`enrich restructure` (PRIME, semantic restructuring): the text again, denser, section by section, under its headings.

The sections are those of `enrich heading_tree`. Headings of every level, code, tables and front matter stay as they
are, and so do sections of fewer than `SHORT` words; the prose between them is what a generator rewrites, one request
a section (several where a section is longer than a request may be). What comes back must pass the fidelity gate
(`operators.fidelity`) and leave the structure alone, else the section stays the original. A document whose headings
would still not be the same is left as it was.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from idxopt.models.prompts import TextRequest
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.operators.fidelity import Fidelity, fidelity
from idxopt.operators.markup import parsed_markup
from idxopt.operators.texts import Kept
from idxopt.program.schema import Markup
from idxopt.text.blocks import Block
from idxopt.text.structure import PRIME_LEVEL, Section, plain_text

SHORT = 30
"""White-space separated words of prose below which a section is kept."""
SHORT_PART = 6
"""The same for a stretch of prose between two blocks that stay."""

Ask = Callable[[Sequence[TextRequest]], Sequence[Kept]]
Outcome = Literal["rewritten", "kept", "refused", "failed"]
_VERBATIM = frozenset({"heading", "code", "table"})
_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SectionResult:
    """What became of one section. `kept`: too short, or nothing in it is prose. `reasons`: why it was refused, or has
    no usable answer. `fidelity` compares prose with prose, of rewritten and refused sections; `text` is what is stored.
    """

    path: tuple[str, ...]
    original: str
    text: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    fidelity: Fidelity | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    """A section with its prose: spans in the text that go to the generator, and the requests that carry them."""

    section: Section
    spans: tuple[_Span, ...]
    requests: tuple[TextRequest, ...]


def restructured(text: str, markup: Markup, ask: Ask, *, most: int) -> tuple[str, list[SectionResult]]:
    """The text with its sections rewritten where that may be, and what became of each.

    `ask` answers all requests of the document at once, or raises. `most`: code points that one request may carry.
    """
    works = [_work(text, markup, section, most) for section in tree_sections(text, markup, PRIME_LEVEL)]
    answers = iter(ask([request for work in works for request in work.requests]))
    results = [_result(text, markup, work, [next(answers) for _ in work.requests]) for work in works]
    shape, rewritten = _shape(text, markup), _joined(results)
    if _shape(rewritten, markup) == shape:
        return rewritten, results
    results = [_checked(text, markup, work.section, one) for work, one in zip(works, results, strict=True)]
    rewritten = _joined(results)
    if _shape(rewritten, markup) == shape:
        return rewritten, results
    return text, [_refused(result, "structure of the document") for result in results]


def _joined(results: Sequence[SectionResult]) -> str:
    return "".join(result.text for result in results)


def _checked(text: str, markup: Markup, section: Section, result: SectionResult) -> SectionResult:
    """Refused where its headings, code or tables, or the heading after it, come out of the parser otherwise."""
    following = text[section.end : section.end + _PROBE]
    before, after = _shape(result.original + following, markup), _shape(result.text + following, markup)
    if before == after:
        return result
    return _refused(result, "headings" if before[0] != after[0] else "code or tables")


def _refused(result: SectionResult, reason: str) -> SectionResult:
    if result.outcome != "rewritten":
        return result
    return replace(result, outcome="refused", reasons=(reason,), text=result.original)


def _work(text: str, markup: Markup, section: Section, most: int) -> _Work:
    spans = tuple(_prose(text, markup, section))
    if sum(len(text[start:end].split()) for start, end in spans) < SHORT:
        return _Work(section, (), ())
    parts = [_material(text[start:end], markup) for start, end in spans]
    return _Work(section, spans, tuple(_requests(section.path, parts, most)))


def _requests(path: tuple[str, ...], parts: Sequence[str], most: int) -> Iterator[TextRequest]:
    """One request, or several: no more parts in one than `most` code points hold, but at least one part."""
    group: list[str] = []
    size = 0
    for part in parts:
        if group and size + len(part) > most:
            yield _request(path, group)
            group, size = [], 0
        group.append(part)
        size += len(part)
    yield _request(path, group)


def _request(path: tuple[str, ...], parts: Sequence[str]) -> TextRequest:
    return TextRequest("restructure", "\n\n".join(parts), {"path": list(path), "parts": list(parts)})


def _material(prose: str, markup: Markup) -> str:
    return plain_text(prose, markup) if markup == "html" else prose.strip()


def _prose(text: str, markup: Markup, section: Section) -> Iterator[_Span]:
    """Stretches of prose in a section, without white space at their ends."""
    begin = max(section.start, section.body_start)
    blocks = [block for block in parsed_markup(text, markup).blocks if begin <= block.start < section.end]
    depth = min((block.depth for block in blocks), default=0)
    top = [block for block in blocks if block.depth == depth]
    fixed = [block for block in top if _is_fixed(block, blocks)]
    if markup == "html":
        spans = [(block.start, block.end) for block in top if block not in fixed]
    else:
        edges = [begin, *(edge for block in fixed for edge in (block.start, block.end)), section.end]
        spans = list(zip(edges[::2], edges[1::2], strict=True))
    for start, end in spans:
        stretch = text[start:end]
        if len(stretch.split()) >= SHORT_PART:
            yield start + len(stretch) - len(stretch.lstrip()), end - len(stretch) + len(stretch.rstrip())


def _is_fixed(block: Block, blocks: Sequence[Block]) -> bool:
    return any(other.kind in _VERBATIM and block.start <= other.start < block.end for other in blocks)


def _result(text: str, markup: Markup, work: _Work, answers: Sequence[Kept]) -> SectionResult:
    section = work.section
    original = text[section.start : section.end]
    tokens_in, tokens_out = sum(one.tokens_in for one in answers), sum(one.tokens_out for one in answers)
    result = SectionResult(section.path, original, original, "kept", tokens_in=tokens_in, tokens_out=tokens_out)
    if not work.requests:
        return result
    parts: list[str] = []
    for answer in answers:
        if not isinstance(answer.answer, list):
            return replace(result, outcome="failed", reasons=(answer.failure or "no usable answer",))
        parts += answer.answer
    asked = [part for request in work.requests for part in request.options["parts"]]
    if not any(part.strip() for part in parts):
        return replace(result, outcome="refused", reasons=("empty",))
    measured = fidelity("\n\n".join(asked), "\n\n".join(parts), contradicts=_verdict(answers))
    made = _assembled(text, markup, work, parts)
    if reasons := measured.refusals():
        return replace(result, outcome="refused", reasons=reasons, fidelity=measured)
    return replace(result, outcome="rewritten", text=made, fidelity=measured)


def _verdict(answers: Sequence[Kept]) -> bool | None:
    found = [answer.contradicts for answer in answers if answer.contradicts is not None]
    return any(found) if found else None


def _assembled(text: str, markup: Markup, work: _Work, parts: Sequence[str]) -> str:
    """The section with its prose exchanged. An empty part leaves the white space around it."""
    made: list[str] = []
    position = work.section.start
    for (start, end), part in zip(work.spans, parts, strict=True):
        made += [
            text[position:start],
            f"<p>{html.escape(part, quote=False)}</p>" if markup == "html" and part else part,
        ]
        position = end
    return "".join([*made, text[position : work.section.end]])


_PROBE = 2_000
"""Code points behind a section that are parsed with it: an unclosed fence would swallow them."""


def _shape(text: str, markup: Markup) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
    """Headings as both readers of a text see them (that of slices, and that of the heading tree); code and tables."""
    parsed = parsed_markup(text, markup)
    headings = [(heading.level, heading.text) for heading in parsed.headings]
    headings += [(section.level, section.heading or "") for section in tree_sections(text, markup, PRIME_LEVEL)]
    return headings, [(block.kind, block.text) for block in parsed.blocks if block.kind in ("code", "table")]
