"""Plain text: no headings; paragraphs are parted by blank lines."""

from __future__ import annotations

from idxopt.text.blocks import Block, Parsed, skip_bom
from idxopt.text.sentences import paragraph_spans


def parse_plain(text: str) -> Parsed:
    """Paragraphs; the plain text is the text itself, without a byte order mark."""
    begin = skip_bom(text)
    body = text[begin:]
    spans = [(begin + start, begin + end) for start, end in paragraph_spans(body)]
    found = [Block("paragraph", start, end, text[start:end].strip()) for start, end in spans]
    return Parsed((), tuple(block for block in found if block.text), body, begin)
