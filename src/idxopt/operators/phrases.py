"""Many phrases looked for at once: one pattern that takes the longest phrase at the leftmost place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_END = ""


def phrase_pattern(phrases: Iterable[str], *, whole_words: bool = False, ignore_case: bool = False) -> re.Pattern[str]:
    """A pattern for any of `phrases`, longest first. `whole_words`: no letter, digit or underscore right beside it.

    The phrases share their beginnings in the pattern, so that its cost does not grow with their number.
    """
    trie: dict[str, Any] = {}
    for phrase in phrases:
        node = trie
        for character in phrase.lower() if ignore_case else phrase:
            node = node.setdefault(character, {})
        node[_END] = {}
    pattern = _alternatives(trie)
    if whole_words:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def _alternatives(trie: dict[str, Any]) -> str:
    """The pattern of what may follow; the phrase that ends here comes last, so that a longer one wins."""
    branches = [_branch(character, trie[character]) for character in sorted(trie) if character != _END]
    if _END in trie:
        branches.append("")
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _branch(character: str, node: dict[str, Any]) -> str:
    text = re.escape(character)
    while len(node) == 1 and _END not in node:
        ((character, node),) = node.items()
        text += re.escape(character)
    return text if node.keys() == {_END} else text + _alternatives(node)
