"""Every form of `enrich` by hand, and PRIME's formula worked out independently."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.enrich.lead import CJK_TERMINATORS, CLOSING, TERMINATORS, first_sentences, first_words
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.streams import DELETED, STOP_WORDS, prime_tokens
from idxopt.operators.tables import build_tables
from idxopt.text.identifiers import WHITE_SPACE
from tests.unit.operators.corpus import document, field, rows
from tests.unit.program.programs import program


def enriched(text, kind, **more):
    return field({"op": "enrich", "with": kind, "into": "x", **more}, text)


PAGE = """# Title page

The volume is fast.

## Attach a volume

Attach, detach.

### On Linux

mount it

## Delete

Gone.
"""


def test_prime_tokens_delete_punctuation_and_split_at_white_space():
    assert prime_tokens("Don't STOP-it (os.path)\u00a0now\u3000\u201cyes\u201d\ufeff") == [
        "dont",
        "stopit",
        "ospath",
        "now",
        "yes",
    ]
    assert set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") <= set(DELETED)
    assert not any(character.isalnum() for character in DELETED)
    assert len(set(DELETED)) == len(DELETED)


def prime_by_hand(tokens, headings, frequencies, total, alpha=0.3, beta=2.0, stop=STOP_WORDS):
    scores = {}
    for term in set(tokens) - stop:
        idf = math.log((total + 1) / (frequencies.get(term, 0) + 1)) + 1
        early = (1 - alpha) ** (tokens.index(term) / len(tokens))
        scores[term] = round(tokens.count(term) * idf * early * (1 + beta * (term in headings)), 9)
    return sorted(scores, key=lambda term: (-scores[term], [ord(character) for character in term]))


@pytest.mark.parametrize("stopwords", ["english", "none"])
def test_prime_terms_follow_the_formula(stopwords):
    documents = [
        document(PAGE, doc_id="a"),
        document("the volume is the disk", doc_id="b"),
        document("the end", doc_id="c"),
    ]
    step = {"op": "enrich", "with": "prime_terms", "into": "x", "top": 8, "stopwords": stopwords}
    tables = build_tables(program([step]), documents)
    frequencies = {"the": 3, "volume": 2, "is": 2}
    words = "title page the volume is fast attach a volume attach detach on linux mount it delete gone".split()
    frequencies |= dict.fromkeys(set(words) - set(frequencies), 1)
    stop = STOP_WORDS if stopwords == "english" else frozenset()
    expected = prime_by_hand(words, {"attach", "a", "volume", "delete"}, frequencies, 3, stop=stop)
    assert field(step, PAGE, tables=tables) == expected[:8]
    assert expected[0] in ("attach", "volume")


def test_prime_terms_need_no_h2_and_the_title_counts_for_nothing():
    text = "# one\n\nalpha beta\n\n# two\n\nbeta\n"
    step = {"op": "enrich", "with": "prime_terms", "into": "x", "top": 1}
    tables = build_tables(program([step]), [document(text)])
    assert field(step, text, tables=tables) == ["one"]
    interpreter = Interpreter(program([step]), "parts", tables)
    assert interpreter.rows(document(text, title="zzz zzz zzz"))[0].fields["x"] == ["one"]


def test_a_cut_table_gives_other_terms_the_frequency_of_its_last():
    documents = [
        document(" ".join(["aa"] * (n < 4) + ["bb"] * (n < 2) + ["cc"] * (n < 1)), doc_id=str(n)) for n in range(4)
    ]
    step = {"op": "enrich", "with": "prime_terms", "into": "x", "max_idf_terms": 2, "alpha": 0.0}
    tables = build_tables(program([step]), documents)
    table = tables.frequencies[("prime", "body")]
    assert (dict(table.counts), table.cut, table.absent()) == ({"aa": 4, "bb": 2}, True, 2)
    assert field(step, "cc bb aa dd", tables=tables) == ["bb", "cc", "dd", "aa"]


def test_heading_tree_as_text_and_as_structure():
    (row,) = rows({"op": "enrich", "with": "heading_tree", "into": "tree", "depth": 3}, PAGE)
    assert row.fields["tree"] == "Attach a volume\nAttach a volume > On Linux\nDelete"
    sections = row.fields["tree_sections"]
    assert [section["path"] for section in sections] == [
        [],
        ["Attach a volume"],
        ["Attach a volume", "On Linux"],
        ["Delete"],
    ]
    assert [section["id"] for section in sections] == ["0", "1", "2", "3"]
    assert "".join(PAGE[section["start"] : section["end"]] for section in sections) == PAGE
    assert row.changed == {"tree", "tree_sections"}
    assert enriched(PAGE, "heading_tree") == "Attach a volume\nDelete"
    assert enriched("# Only\n\n# Level\n", "heading_tree") == "Only\nLevel"
    assert enriched("no heading", "heading_tree") == ""


def test_keywords_are_the_words_that_stand_out():
    documents = [document("storage storage volume the the the", doc_id="a"), document("storage cloud", doc_id="b")]
    step = {"op": "enrich", "with": "keywords", "into": "x", "top": 2}
    tables = build_tables(program([step]), documents)
    assert field(step, "storage volume volume the 2024 a", tables=tables) == ["volume", "storage"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use Elastic Block Store (EBS) here.", ["Elastic Block Store (EBS)"]),
        ("the Elastic Block Stores (EBSs)", ["Elastic Block Stores (EBS)"]),
        ("EBS (Elastic Block Store) and EBS (Elastic Block Store)", ["Elastic Block Store (EBS)"]),
        ("Department of Defense (DoD), Bureau of Mines (BOM)", ["Bureau of Mines (BOM)"]),
        ("Trial and Error (TE)", ["Trial and Error (TE)"]),
        ("not the same (EBS)", []),
        ("Elastic (see below) (EBS)", []),
        ("(EBS)", []),
        ("non-small cell lung cancer (NSCLC)", ["non-small cell lung cancer (NSCLC)"]),
    ],
)
def test_acronyms(text, expected):
    assert enriched(text, "acronyms") == expected


def test_synonyms_of_what_is_found():
    table = {"ebs": ["block storage", "volume"], "vm": "virtual machine", "block": "disk"}
    assert enriched("An EBS for the VM; no ebsx", "synonyms", table=table) == [
        "block storage",
        "volume",
        "virtual machine",
    ]
    assert enriched("nothing", "synonyms", table=table) == []


def test_entities_are_runs_of_capitalised_words():
    text = "In 1920 Marie Curie met Niels Bohr. The Bank of England hired Marie Curie. Only Bohr left; Bohr wrote."
    assert enriched(text, "entities", top=4) == ["Marie Curie", "Bohr", "Niels Bohr", "Bank of England"]
    assert enriched("Hello there. Hello again. I say Hello.", "entities") == ["Hello"]
    assert enriched("It rains. Every day. No name.", "entities") == []


def test_neighbours_are_of_the_same_folder():
    ids = ["b/1", "a/2", "a/1", "a/10", "c"]
    step = {"op": "enrich", "with": "neighbours", "into": "x"}
    wanted = program([step])
    tables = build_tables(wanted, [document("t", title=f"T {name}", doc_id=name) for name in ids])
    interpreter = Interpreter(wanted, "parts", tables)

    def near(doc_id):
        return interpreter.rows(document("t", doc_id=doc_id))[0].fields["x"]

    assert near("a/1") == ["T a/10"]
    assert near("a/10") == ["T a/1", "T a/2"]
    assert near("a/2") == ["T a/10"]
    assert near("a/15") == ["T a/10", "T a/2"]
    assert near("b/1") == near("c") == near("d/9") == []


@pytest.mark.parametrize(
    ("count", "text", "expected"),
    [
        (1, "  One two. Three.", "One two."),
        (2, "One two. Three. Four.", "One two. Three."),
        (1, "No end", "No end"),
        (1, "v1.2 is out! Now.", "v1.2 is out!"),
        (1, 'He said "Stop." And left.', 'He said "Stop."'),
        (1, "\u4e00\u4e8c\u3002\u4e09\u56db\u3002", "\u4e00\u4e8c\u3002"),
        (1, "A heading\n\nText. More.", "A heading"),
        (2, "A heading\r\n\r\nText. More.", "A heading\r\n\r\nText."),
        (1, "One.\n\nTwo.", "One."),
        (2, "One.\n\nTwo.", "One.\n\nTwo."),
        (1, "Wait... what? Yes.", "Wait..."),
        (3, "", ""),
        (1, " \n\n ", ""),
    ],
)
def test_first_sentences(count, text, expected):
    assert first_sentences(text, count) == expected


def test_first_words():
    assert first_words(" a\u3000b\nc d ", 3) == "a\u3000b\nc"
    assert first_words("a b", 9) == "a b"
    assert first_words(" \n", 2) == ""


def slow_sentences(text: str, count: int) -> str:
    """The rule of `lead`, one character after the other, as an ingest script would follow it."""
    text = text.strip(WHITE_SPACE)
    found, begun, place = 0, False, 0
    while place < len(text):
        start, cjk, feeds = place, False, 0
        if text[place] in TERMINATORS:
            while place < len(text) and text[place] in TERMINATORS + CLOSING:
                cjk = cjk or text[place] in CJK_TERMINATORS
                place += 1
            begun = True
            if not (cjk or place == len(text) or text[place] in WHITE_SPACE):
                continue
            end = place
        elif text[place] in WHITE_SPACE:
            while text[place] in WHITE_SPACE:
                feeds += text[place] == "\n"
                place += 1
            if feeds < 2 or not begun:
                continue
            end = start
        else:
            begun = True
            place += 1
            continue
        found, begun = found + 1, False
        if found == count:
            return text[:end]
    return text


@given(st.text(st.sampled_from("ab .!?\u3002\uff01\"')\u2019\n\r\t\u3000\u2026"), max_size=60), st.integers(1, 4))
def test_first_sentences_follow_the_rule_character_by_character(text, count):
    assert first_sentences(text, count) == slow_sentences(text, count)


@given(st.text(), st.integers(1, 3))
def test_a_lead_is_a_prefix_of_the_trimmed_text(text, count):
    trimmed = text.strip(WHITE_SPACE)
    assert trimmed.startswith(first_sentences(text, count))
    assert trimmed.startswith(first_words(text, count))
    assert len(first_words(text, count).strip(WHITE_SPACE)) == len(first_words(text, count))
