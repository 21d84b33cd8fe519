"""Identifiers, lower case and white space as they are specified."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.text.identifiers import WHITE_SPACE, collapse_whitespace, lowercase, split_identifiers

ANY = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("aBs1_. "))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", "get User Name"),
        ("HTTPServer", "HTTP Server"),
        ("parseJSONDoc.", "parse JSON Doc."),
        ("URLs and IDs", "URLs and IDs"),
        ("IDsFor VMsX", "IDs For VMs X"),
        ("URLset", "UR Lset"),
        ("max_size", "max size"),
        ("__init__", "init"),
        ("_ ___ a__b", "_ ___ a b"),
        ("os.path.join", "os path join"),
        ("3.14 v1.2 1.a", "3.14 v1.2 1 a"),
        ("End. Next .net a..b", "End. Next .net a..b"),
        ("a._b A.B_C", "a b A B C"),
        ("EC2 utf8 3D x86_64", "EC2 utf8 3D x86 64"),
        ("EC2Instance s3Bucket H1N1", "EC2 Instance s3 Bucket H1N1"),
        ("\u4f7f\u7528getUserName\u51fd\u6570", "\u4f7f\u7528get User Name\u51fd\u6570"),
        ("kebab-case std::vector", "kebab-case std::vector"),
        ("\u00c9tatMajor", "\u00c9tat Major"),
        ("", ""),
    ],
)
def test_split_identifiers(text: str, expected: str) -> None:
    assert split_identifiers(text) == expected


def test_original_is_kept_before_its_words() -> None:
    assert split_identifiers("call getUserName() EC2", keep_original=True) == "call getUserName get User Name() EC2"


def specified(text: str) -> str:
    """The docstring of split_identifiers, character by character, as a script without regular expressions has it."""
    out, at = "", 0
    while at < len(text):
        if not _word(text[at]):
            out += text[at]
            at += 1
            continue
        end = at
        while end < len(text) and (_word(text[end]) or _inner_dot(text, at, end)):
            end += 1
        words = _words(text[at:end])
        out += " ".join(words) if words else text[at:end]
        at = end
    return out


def _word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _inner_dot(text: str, start: int, at: int) -> bool:
    following = text[at + 1 : at + 2]
    return (
        text[at] == "." and at > start and text[at - 1] != "." and _word(following or " ") and not following.isdigit()
    )


def _words(run: str) -> list[str]:
    words, word = [], ""
    for at, character in enumerate(run):
        if character in "._":
            words.append(word)
            word = ""
            continue
        if word and _boundary(run[at - 1], character, run[at + 1 : at + 2], run[at + 2 : at + 3]):
            words.append(word)
            word = ""
        word += character
    return [word for word in [*words, word] if word]


def _boundary(before: str, here: str, after: str, then: str) -> bool:
    lower, upper = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if here not in upper:
        return False
    follows = bool(after) and after in lower
    plural = after == "s" and not (then and then in lower)
    return before in lower or (before in upper and follows and not plural) or (before.isdigit() and follows)


@given(st.text("aBs1_. \u00e9A", max_size=40))
def test_split_identifiers_is_what_its_docstring_says(text: str) -> None:
    assert split_identifiers(text) == specified(text)


@given(ANY)
def test_what_is_beyond_ascii_passes_unchanged(text: str) -> None:
    beyond = [character for character in split_identifiers(text) if not character.isascii()]
    assert beyond == [character for character in text if not character.isascii()]


def test_lower_case_table_is_that_of_unicode_13() -> None:
    pairs = [(code, lowercase(chr(code))) for code in range(0x110000)]
    table = "".join(f"{code:x} {ord(lower):x}\n" for code, lower in pairs if chr(code) != lower)
    assert table.count("\n") == 1393
    assert (
        hashlib.sha256(table.encode()).hexdigest() == "d7d40f2105750339c032d61200983ac938da1c64475161e0c0a41e01d96b52a7"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u039f\u0394\u039f\u03a3 \u03a3", "\u03bf\u03b4\u03bf\u03c3 \u03c3"),
        ("\u0130stanbul I", "istanbul i"),
        ("\u2c2f\ua7c0\U00010570", "\u2c2f\ua7c0\U00010570"),
        ("STRASSE \u1e9e", "strasse \u00df"),
        ("\ud800A", "\ud800a"),
    ],
)
def test_lowercase(text: str, expected: str) -> None:
    assert lowercase(text) == expected


@given(ANY)
def test_lowercase_maps_each_code_point_by_itself(text: str) -> None:
    assert lowercase(text) == "".join(map(lowercase, text))
    assert len(lowercase(text)) == len(text)


def test_white_space_is_the_unicode_property() -> None:
    assert len(WHITE_SPACE) == 25
    controls = {"\x1c", "\x1d", "\x1e", "\x1f"}  # white space for Python, not for Unicode
    assert set(WHITE_SPACE) == {chr(code) for code in range(0x110000) if chr(code).isspace()} - controls


@given(st.text(st.sampled_from([*WHITE_SPACE, "a", "\u200b", "\x1c", "\x1f"])) | st.text(" a") | st.text("a \n"))
def test_collapse_whitespace(text: str) -> None:
    collapsed = collapse_whitespace(text)
    spaced = "".join(" " if character in WHITE_SPACE else character for character in text)
    assert collapsed == " ".join(filter(None, spaced.split(" ")))
    assert collapse_whitespace(collapsed) == collapsed
    assert "".join(collapsed.split(" ")) == "".join(character for character in text if character not in WHITE_SPACE)
    assert not set(collapsed) & set(WHITE_SPACE) - {" "}
    assert "  " not in collapsed
