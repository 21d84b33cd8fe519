"""`normalize`: rewrites the text of fields in place. Each scheme is one function from text to text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from idxopt.operators.measures import iso_dates, plain_numbers, plain_units
from idxopt.operators.phrases import phrase_pattern
from idxopt.operators.transform import Context, Transform, rewriting
from idxopt.program.effects import normalized_fields
from idxopt.program.patterns import compile_replacement
from idxopt.program.steps import Normalize
from idxopt.text.identifiers import collapse_whitespace, lowercase, split_identifiers
from idxopt.text.structure import plain_text

Rewrite = Callable[[str], str]

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def compile_normalize(step: Normalize, _: Context) -> Transform:
    """The step as a function over rows. Raises ProgramError for a pattern or replacement that RE2 refuses."""
    return rewriting(normalized_fields(step), _rewrite(step))


def _rewrite(step: Normalize) -> Rewrite:
    keep = step.keep_original
    match step.scheme:
        case "split_identifiers":
            return lambda text: split_identifiers(text, keep_original=keep)
        case "numbers":
            return lambda text: plain_numbers(text, keep_original=keep)
        case "units":
            return lambda text: plain_units(text, keep_original=keep)
        case "dates":
            return lambda text: iso_dates(text, keep_original=keep)
        case "abbreviations":
            return table_replacement(step.table or {}, keep_original=keep, ignore_case=False)
        case "terms":
            return table_replacement(step.table or {}, keep_original=keep, ignore_case=True)
        case "regex_replace":
            return compile_replacement(step.pattern or "", step.replacement)
        case _:
            return _PLAIN[step.scheme]


def nfkc(text: str) -> str:
    """Unicode normalization form KC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def strip_accents(text: str) -> str:
    """Non-spacing marks taken off (NFD, category Mn removed, NFC): `caf\u00e9` becomes `cafe`, `\u00f8` stays."""
    if text.isascii():
        return text
    kept = unicodedata.normalize("NFD", text)
    for character in set(_BEYOND_ASCII.findall(kept)):
        if unicodedata.category(character) == "Mn":
            kept = kept.replace(character, "")
    return unicodedata.normalize("NFC", kept)


def html_strip(text: str) -> str:
    """The text of HTML."""
    return plain_text(text, "html")


def markdown_strip(text: str) -> str:
    """The text of Markdown."""
    return plain_text(text, "markdown")


def table_replacement(table: Mapping[str, str | list[str]], *, keep_original: bool, ignore_case: bool) -> Rewrite:
    """Replaces whole words by their table entry (several values: joined by a space), the longest entry first."""
    key = str.lower if ignore_case else str
    values = {key(name): value if isinstance(value, str) else " ".join(value) for name, value in table.items()}
    pattern = phrase_pattern(values, whole_words=True, ignore_case=ignore_case)

    def replace(text: str) -> str:
        return pattern.sub(
            lambda match: _entry(match.group(), values.get(key(match.group())), keep_original=keep_original), text
        )

    return replace


def _entry(found: str, value: str | None, *, keep_original: bool) -> str:
    if value is None:
        return found
    return f"{found} {value}" if keep_original else value


_PLAIN: Mapping[str, Rewrite] = {
    "lowercase": lowercase,
    "whitespace": collapse_whitespace,
    "nfkc": nfkc,
    "strip_accents": strip_accents,
    "html_strip": html_strip,
    "markdown_strip": markdown_strip,
}
