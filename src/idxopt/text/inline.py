"""Inline markup of reStructuredText and AsciiDoc removed in one pass; no pattern looks far beyond the next mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TEXT, _LINK = False, True

# Each pattern has one group: the text that stays.
_REST: Sequence[tuple[str, bool]] = (
    (r"``([^`]+(?:`[^`]+)*?)``", _TEXT),
    (r"(?::[\w:.+-]{1,60}:)`~?!?([^`<>]*[^`<>\s])\s*(?:<[^<>`]*>)?`", _TEXT),
    (r"`([^`<>]*[^`<>\s])\s*(?:<[^<>`]*>)?`__?", _LINK),
    (r"`([^`<>]+)`", _TEXT),
    (r"\*\*([^*\s](?:[^*]*[^*\s])?)\*\*", _TEXT),
    (r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", _TEXT),
    (r"(?<!\w)\|([^|\s](?:[^|]*[^|\s])?)\|_{0,2}(?!\w)", _TEXT),
    (r"\[(?:#?[\w.-]*|\*)\]_()(?!\w)", _TEXT),
    (r"(?<![\w_])([A-Za-z0-9](?:[\w.+-]{0,100}[A-Za-z0-9])?)_{1,2}(?=[-\s'\")\]}>/:.,;!?\\]|$)", _LINK),
    (r"\\ ()", _TEXT),
    (r"\\(\S?)", _TEXT),
)
_ASCIIDOC: Sequence[tuple[str, bool]] = (
    (r"\[\[[^\[\]]*\]\]()", _TEXT),
    (r"<<[^<>,]*,([^<>]*)>>", _LINK),
    (r"<<([^<>,]*)>>", _LINK),
    (r"(?:link|xref|mailto):[^\s\[\]]{1,500}\[([^\[\]]*)\]", _LINK),
    (r"\bhttps?://[^\s\[\]]{1,500}\[([^\[\]]+)\]", _LINK),
    (r"(?:image|icon):[^\s\[\]:][^\s\[\]]{0,500}\[([^\[\],]*)[^\[\]]*\]", _TEXT),
    (r"(?:kbd|btn|menu|footnote|pass|stem|anchor|indexterm2?):[\w,-]{0,40}\[([^\[\]]*)\]", _TEXT),
    (r"``([^`]+)``", _TEXT),
    (r"`\+?([^`+]+)\+?`", _TEXT),
    (r"\*\*([^*]+)\*\*", _TEXT),
    (r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", _TEXT),
    (r"__([^_]+)__", _TEXT),
    (r"(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)", _TEXT),
    (r"(?<![\w#])#([^#\s](?:[^#]*[^#\s])?)#(?![\w#])", _TEXT),
    (r"(?<!\w)\+([^+\s](?:[^+]*[^+\s])?)\+(?!\w)", _TEXT),
    (r" \+$()", _TEXT),
)


class _Rules:
    """Patterns tried in their order at each place; what a pattern leaves is not looked at again."""

    def __init__(self, rules: Sequence[tuple[str, bool]]) -> None:
        self._pattern = re.compile("|".join(pattern for pattern, _ in rules))
        self._is_link = [kind for _, kind in rules]

    def strip(self, text: str) -> tuple[str, int]:
        linked = 0

        def kept(match: re.Match[str]) -> str:
            nonlocal linked
            group = match.lastindex or 0
            if self._is_link[group - 1]:
                linked += len(match[group])
            return match[group]

        return self._pattern.sub(kept, text), linked


_REST_RULES, _ASCIIDOC_RULES = _Rules(_REST), _Rules(_ASCIIDOC)


def strip_rest(text: str) -> tuple[str, int]:
    """Text of reStructuredText without inline markup, and how many of its code points are link text."""
    return _REST_RULES.strip(text)


def strip_asciidoc(text: str) -> tuple[str, int]:
    """Text of AsciiDoc without inline markup, and how many of its code points are link text."""
    return _ASCIIDOC_RULES.strip(text)
