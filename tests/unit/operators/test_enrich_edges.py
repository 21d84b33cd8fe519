"""What `enrich` finds at once is what its rules find step by step: ties, limits, odd white space, long texts."""

import math
import re
from collections import Counter

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from idxopt.operators.enrich.acronyms import acronyms
from idxopt.operators.enrich.best_terms import TermWeights, best_terms
from idxopt.operators.enrich.entities import entities
from idxopt.operators.enrich.lead import first_sentences, first_words
from idxopt.operators.enrich.prime_terms import decay, decay_rate, in_units, prime_scores
from idxopt.operators.markup import parsed_markup
from idxopt.operators.remembering import Memory, remembering
from idxopt.operators.streams import DELETED, STOP_WORDS, prime_places, prime_tokens, word_counts
from idxopt.program.steps import PrimeTerms
from idxopt.text.analysis import standard_tokens
from idxopt.text.identifiers import WHITE_SPACE, lowercase
from tests.unit.operators.corpus import field

SEPARATORS = "\x1c\x1d\x1e\x1f"
"""White space to `str.split`, and none by Unicode's property."""


def test_python_splits_at_white_space_and_four_separators():
    spaces = {chr(point) for point in range(0x110000) if chr(point).isspace()}
    assert spaces == {*WHITE_SPACE, *SEPARATORS}


def slow_words(text: str, count: int) -> str:
    words = list(re.finditer(f"[^{re.escape(WHITE_SPACE)}]+", text))[:count]
    return text[words[0].start() : words[-1].end()] if words else ""


@given(st.text(st.sampled_from("ab.\u00e9 \n\t\x1c\x1f\x85\u3000"), max_size=40), st.integers(1, 6))
@example("a b", 2)
@example("a b ", 2)
@example(" a\x1cb c", 1)
def test_first_words_by_the_rule(text, count):
    assert first_words(text, count) == slow_words(text, count)


def test_a_long_run_of_terminators_is_passed_over_at_once():
    dots = "." * 300_000
    assert first_sentences(f"a{dots}b. c", 1) == f"a{dots}b."
    assert first_sentences(f"a{chr(10) + ' ' * 300_000}b. c", 1).endswith("b.")


@given(st.text(st.sampled_from("aB\u0130\u03a3\u00c9 .-'\n\x1c\x1f\x85\u3000\u2019\u201c\ufeff"), max_size=40))
def test_prime_tokens_by_the_rule(text):
    left = "".join(sign for sign in lowercase(text) if sign not in DELETED)
    assert prime_tokens(text) == [token for token in re.split(f"[{re.escape(WHITE_SPACE)}]+", left) if token]


@given(st.lists(st.sampled_from(["the", "a", "7", "volume", "disk", "Disk", "x1"]), max_size=30).map(" ".join))
def test_places_and_counts_of_tokens(text):
    tokens = prime_tokens(text)
    with remembering(Memory()):
        for _ in range(2):
            places = prime_places(text, "text")
            assert dict(zip(places.terms, places.counts, strict=True)) == Counter(tokens)
            assert list(places.first) == [tokens.index(term) for term in places.terms]
            assert places.length == len(tokens)
            words, counts = word_counts(text, "text")
            found = standard_tokens(lowercase(parsed_markup(text, "text").plain))
            kept = [word for word in found if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()]
            assert dict(zip(words, counts, strict=True)) == Counter(kept)


NEAR = st.builds(lambda base, steps: base + steps * 2.5e-10, st.sampled_from([0.5, 3.0, 700.25]), st.integers(-9, 9))


@pytest.mark.parametrize("rounded", [in_units, lambda value: round(value, 9)])
@given(values=st.lists(NEAR, max_size=12), top=st.integers(1, 12), order=st.randoms())
def test_best_terms_are_those_of_all_rounded_values(rounded, values, top, order):
    terms = [f"t{number}" for number in range(len(values))]
    order.shuffle(terms)
    every = sorted(zip(terms, values, strict=True), key=lambda pair: (-rounded(pair[1]), pair[0]))
    assert best_terms(terms, values, top, rounded) == [term for term, _ in every[:top]]


def test_what_weighs_nothing_is_no_term():
    weights = TermWeights({"a": 2.0}, 1.0, without=["the", "a"])
    assert [weights[term] for term in ("a", "the", "b")] == [-math.inf, -math.inf, 1.0]
    terms = ["a", "b", "the"]
    assert best_terms(terms, [weights[term] for term in terms], 3, in_units) == ["b"]
    assert best_terms(["a", "the"], [-math.inf] * 2, 1, in_units) == []


@pytest.mark.parametrize("length", [1, 7, 1024, 1025])
def test_scores_of_short_and_long_texts_are_those_of_the_formula(length):
    step = PrimeTerms.model_validate({"op": "enrich", "with": "prime_terms", "into": "x", "alpha": 0.4})
    text = "## w0 w2\n" + " ".join(f"w{number % 800}" for number in range(length))
    places = prime_places(text, "markdown")
    scores = prime_scores(step, text, "markdown", places, TermWeights({"w0": 1.25}, 3.1))
    tokens = prime_tokens(text)
    for term, score in zip(places.terms, scores, strict=True):
        early = decay(decay_rate(step), tokens.index(term) / len(tokens))
        boost = 1 + step.beta if term in ("w0", "w2") else 1.0
        assert score == tokens.count(term) * (1.25 if term == "w0" else 3.1) * early * boost


WORD = r"\p{Lu}(?:[^\W_]|['\u2019-](?=[^\W_]))*+"
RUN = regex.compile(rf"(?<![^\W_]['\u2019-]?){WORD}(?: (?:(?:of|the|and|de|van|von) )*+{WORD})*+")
BEGINS = re.compile(r"(?:^|[.!?:;\u3002\uff01\uff1f]|\n|^[#>*+-]+)[\s\"'(\[*_#>+-]*$")


def slow_entities(text: str, top: int) -> list[str]:
    """The rule, each run looked at by itself."""
    counts: Counter[str] = Counter()
    certain: set[str] = set()
    for match in RUN.finditer(text):
        name, start = match[0], match.start()
        begins = BEGINS.search(text[max(0, start - 20) : start]) is not None
        first, _, rest = name.partition(" ")
        if begins and rest and first.lower() in STOP_WORDS:
            name, begins = re.sub("^(?:(?:of|the|and|de|van|von) )+", "", rest), False
        counts[name] += 1
        if not begins or " " in name:
            certain.add(name)
    names = list(counts)
    return sorted((name for name in names if name in certain and len(name) > 1), key=lambda name: -counts[name])[:top]


PIECES = ["The ", "Bank ", "of ", "Bank", "O'Neil", "X", "A1-B", "a", " ", ". ", "\n", " (", "-", "\u2019s", "'", "; "]
PIECES += [" " * 19, " " * 20, "# ", "\u00c9t\u00e9 ", "_", "\x1c", "\u3002", "9", "/"]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.integers(1, 5))
@example("Bank " + " " * 20 + "Bank", 5)
@example("The Bank. The Bank of The Bank", 5)
@example("Bank. Bank. a Bank", 5)
def test_entities_by_the_rule(text, top):
    assert entities(text, top) == slow_entities(text, top)


def test_a_second_number_of_entities_is_a_prefix_of_the_same():
    text = "we met Marie Curie, Niels Bohr, and Marie Curie"
    with remembering(Memory()):
        found = [field({"op": "enrich", "with": "entities", "into": "x", "top": top}, text) for top in (2, 1, 2)]
    assert found == [["Marie Curie", "Niels Bohr"], ["Marie Curie"], ["Marie Curie", "Niels Bohr"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("( EBS )", []),
        ("elastic block store ( EBS )", ["elastic block store (EBS)"]),
        ("a b c d e f g h i j (ABCDEFGHIJ)", ["a b c d e f g h i j (ABCDEFGHIJ)"]),
        ("ABCDEFGHIJ (a b c d e f g h i j)", ["a b c d e f g h i j (ABCDEFGHIJ)"]),
        ("ABCDEFGHIJs (a b c d e f g h i j)", ["a b c d e f g h i j (ABCDEFGHIJ)"]),
        ("ABCDEFGHIJK (a b c d e f g h i j k)", []),
        ("x&ABs (alpha beta)", ["alpha beta (AB)"]),
        ("x-AB (alpha beta) and xAB (alpha beta)", []),
        ("AB\n(alpha beta)", ["alpha beta (AB)"]),
        ("AB  (alpha beta) AB(alpha beta)", []),
        ("O'Neil's big (OB)", ["O'Neil's big (OB)"]),
        ("n'a beta (AB)", []),
        ("alpha " + "of the " * 50 + "beta (AB)", []),
        ("alpha " + "of the " * 40 + "beta (AB)", ["alpha " + "of the " * 40 + "beta (AB)"]),
    ],
)
def test_acronyms_at_their_limits(text, expected):
    assert acronyms(text) == expected
