"""Acronyms that documents define, as a table over the whole corpus: `Elastic Block Store (EBS)` in both directions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from idxopt.operators.enrich.acronyms import acronyms
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.mining.sample import texts
from idxopt.program.schema import Source
from idxopt.text.analysis import analyzer

MAX_ENTRIES = 2_000
LEAST_SHARE = 0.3
"""An expansion that fewer of an acronym's defining documents give is left out: it means something else there."""
MOST_EXPANSIONS = 2
MOST_CHARACTERS = 120
_DEFINED = re.compile(r"^(.*) \(([^()]+)\)$", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")


def acronym_table(
    corpus: Corpus, source: Source, fields: Sequence[str] | None = None, *, limit: int = MAX_ENTRIES
) -> dict[str, list[str]]:
    """Acronyms to expansions and expansions to acronyms, those that most documents define first; at most `limit`.

    For `normalize abbreviations` (which minds case) and for `enrich synonyms` (which does not: an acronym that is seen
    as an ordinary word in lower case at least as often as in capitals, such as ALL or AIDS, is therefore left out).
    Empty where the documents define none; `fields` are names of the program (None: all).
    """
    defined: defaultdict[str, Counter[str]] = defaultdict(Counter)
    spelled: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    seen: Counter[str] = Counter()
    english = analyzer("english")
    for text in texts(corpus, source, fields):
        seen.update(set(_WORD.findall(text)))
        for name in acronyms(text):
            match = _DEFINED.match(name)
            if match is None or len(match[1]) > MOST_CHARACTERS:
                continue
            meaning = " ".join(english(match[1]))
            if meaning:
                defined[match[2]][meaning] += 1
                spelled[match[2], meaning][match[1]] += 1
    ranked = sorted(defined, key=lambda acronym: (-sum(defined[acronym].values()), acronym))
    table: dict[str, list[str]] = {}
    for acronym in ranked:
        if _is_word(acronym, seen):
            continue
        for expansion in _expansions(acronym, defined[acronym], spelled):
            _put(table, acronym, expansion, limit)
            _put(table, expansion, acronym, limit)
    return table


def _is_word(acronym: str, seen: Mapping[str, int]) -> bool:
    return seen.get(acronym.lower(), 0) >= max(1, seen.get(acronym, 0))


def _expansions(acronym: str, meanings: Counter[str], spelled: Mapping[tuple[str, str], Counter[str]]) -> Sequence[str]:
    """The usual meanings, each as it is written most often."""
    least = LEAST_SHARE * sum(meanings.values())
    usual = [meaning for meaning, count in sorted(meanings.items(), key=_most_first) if count >= least]
    return [min(spelled[acronym, meaning].items(), key=_most_first)[0] for meaning in usual[:MOST_EXPANSIONS]]


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _put(table: dict[str, list[str]], term: str, value: str, limit: int) -> None:
    if term in table:
        if value not in table[term]:
            table[term].append(value)
    elif len(table) < limit:
        table[term] = [value]
