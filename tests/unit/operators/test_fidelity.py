"""The audit of a rewritten section, by hand-made cases: what is counted, and where the gate closes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.fidelity import Count, acronyms_in, fidelity, numbers_in

SOURCE = (
    "The BERT model reached 91.0% on QASPER after 3 epochs. Training took 1,200 hours on the cluster of Hong Kong. "
    "It is a pleasant result."
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,234.5 and 0.50", {"1234.5", "0.5"}),
        ("91.0% is 91 %", {"91"}),
        ("version 2.19.1", {"2.19.1"}),
        ("1. first\n2) second\n3 third", {"3"}),
        ("10,20 apples", {"10", "20"}),
        ("no digits", set()),
        ("1,000,000 in 2024-05", {"1000000", "2024", "5"}),
    ],
)
def test_numbers_are_compared_by_value(text, found):
    assert numbers_in(text) == found


def test_acronyms_lose_their_plural():
    assert acronyms_in("GPUs, a GPU, the TF-IDF of B2B; a B, iOS") == {"GPU", "B2B", "TF-IDF"}


def test_a_copy_keeps_everything():
    found = fidelity(SOURCE, SOURCE)
    assert found.refusals() == ()
    assert (found.numbers, found.acronyms) == (Count(3, 3), Count(2, 2))
    assert found.verbatim == Count(3, 3)
    assert found.absent.kept == 0


def test_filler_may_go():
    found = fidelity(SOURCE, SOURCE.removesuffix(" It is a pleasant result."))
    assert found.refusals() == ()
    assert found.verbatim == Count(2, 3)


def test_a_number_lost_from_a_sentence_with_a_kept_term():
    found = fidelity(SOURCE, SOURCE.replace("1,200 hours", "hours"))
    assert found.lost == ("1200",)
    assert "number lost" in found.refusals()


def test_a_number_that_went_with_its_whole_sentence_counts_for_the_share_only():
    source = SOURCE + " ".join(f" Case number {n} was fine." for n in range(10, 40))
    kept = source.replace(" Training took 1,200 hours on the cluster of Hong Kong.", "")
    found = fidelity(source, kept)
    assert found.lost == ()
    assert found.refusals() == ()
    assert found.numbers == Count(32, 33)


def test_below_nine_tenths_of_the_numbers():
    source = "Alpha has 1 part. Beta has 2 parts. Gamma has 3 parts."
    found = fidelity(source, "Alpha has 1 part. Beta has 2 parts.")
    assert found.numbers.share == pytest.approx(2 / 3)
    assert "numbers kept" in found.refusals()


def test_below_nine_tenths_of_the_acronyms():
    found = fidelity("The GPU and the CPU work.", "The GPU works.")
    assert found.refusals() == ("acronyms kept",)


@pytest.mark.parametrize("invented", ["Marie Curie said so.", "The TPU helps.", "It has 77 parts."])
def test_spans_absent_from_the_source(invented):
    found = fidelity(SOURCE, f"{SOURCE} {invented}")
    assert found.absent.kept == 1
    assert "spans absent from the source" in found.refusals()


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("See [Start](GettingStarted.md) first.", "GettingStarted, see [Start](GettingStarted.md) first."),
        ("The SDKs of AWS.", "The SDK of AWS."),
        ("Set `Max_Size` to 4.", "To 4 set Max_Size."),
    ],
)
def test_how_a_word_is_joined_makes_no_absent_span(source, rewritten):
    assert fidelity(source, rewritten).absent.kept == 0


def test_two_percent_absent_spans_pass():
    source = " ".join(str(n) for n in range(100, 150))
    assert fidelity(source, f"{source} 7").absent == Count(1, 51)
    assert "spans absent from the source" not in fidelity(source, f"{source} 7").refusals()
    assert "spans absent from the source" in fidelity(source, f"{source} 7 8").refusals()


def test_a_contradiction_refuses():
    assert fidelity(SOURCE, SOURCE, contradicts=True).refusals() == ("contradiction",)
    assert fidelity(SOURCE, SOURCE, contradicts=False).refusals() == ()


def test_entities_are_reported_and_never_refuse():
    source = "They met in New York and in New York again. Then the long way to San Marino was taken."
    found = fidelity(source, "They met in New York.")
    assert found.entities == Count(1, 2)
    assert found.refusals() == ()


def test_counts_add_up_and_nothing_has_no_share():
    assert Count(1, 2) + Count(2, 2) == Count(3, 4)
    assert Count().share is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_compare(source, rewritten):
    found = fidelity(source, rewritten)
    for count in (found.numbers, found.acronyms, found.entities, found.verbatim, found.absent):
        assert 0 <= count.kept <= count.all
    assert fidelity(source, source).refusals() == ()
