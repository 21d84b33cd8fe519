"""English function words that say nothing about a text."""

from __future__ import annotations

from idxopt.text.analysis import ENGLISH_STOP_WORDS

STOP_WORDS = ENGLISH_STOP_WORDS | frozenset(
    "about above after again all also am among any because been before being below between both can cannot "
    "could did do does doing done down during each few from further had has have having he her here hers him "
    "his how however i its itself just may me might more most must my myself nor now off once only other our "
    "out over own same shall she should so some than them those through too under until up upon us use used "
    "using very via was we were what when where whether which while who whom whose why within without would "
    "you your yours".split()
)
"""The default stop words of `prime_terms` and `keywords`: Lucene's 33 and the commonest other function words."""
