"""The journal of a load."""

import random
from pathlib import Path

import pytest

from idxopt.builds.journal import Journal, LoadedFrom, fingerprint
from idxopt.errors import BuildError
from idxopt.hashing import text_digest

PAIRS = [(f"row-{n}", text_digest(str(n))) for n in range(5_000)]


def write(journal: Journal, pairs: list[tuple[str, str]], *, complete: bool = True) -> None:
    journal.begin(LoadedFrom("i", "u", "s"))
    for row_id, digest in pairs:
        journal.add(row_id, digest)
    journal.finish(complete=complete)


def test_a_journal_tells_every_row_and_a_fingerprint_without_order(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(PAIRS, len(PAIRS))
    with Journal(tmp_path / "a") as journal:
        write(journal, PAIRS)
        assert list(journal.rows()) == PAIRS
        assert journal.fingerprint == fingerprint(shuffled)
        assert journal.digest_of("row-7") == text_digest("7")
        assert journal.digest_of("row") is None
        assert journal.documents == 5_000


@pytest.mark.parametrize(
    "other",
    [
        PAIRS[1:],
        [*PAIRS, PAIRS[0]],
        [*PAIRS[1:], PAIRS[1]],
        [("row-x", PAIRS[0][1]), *PAIRS[1:]],
        [(PAIRS[0][0], PAIRS[1][1]), (PAIRS[1][0], PAIRS[0][1]), *PAIRS[2:]],
    ],
)
def test_any_other_set_has_another_fingerprint(other: list[tuple[str, str]]) -> None:
    assert fingerprint(other) != fingerprint(PAIRS)


def test_beginning_again_forgets(tmp_path: Path) -> None:
    with Journal(tmp_path / "a") as journal:
        write(journal, PAIRS)
        write(journal, PAIRS[:3], complete=False)
        assert journal.about == LoadedFrom("i", "u", "s")
        assert not journal.complete
        assert list(journal.rows()) == PAIRS[:3]
        assert journal.missing(iter(["row-0", "row-9"])) == (2, ["row-1", "row-2"])


def test_a_new_journal_tells_of_no_load(tmp_path: Path) -> None:
    with Journal(tmp_path / "a") as journal:
        assert journal.about is None
        assert not journal.complete
        with pytest.raises(BuildError, match="did not finish"):
            _ = journal.fingerprint


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(BuildError, match="journal cannot be read") as caught:
        Journal(path).__enter__()
    assert caught.value.place == str(path)
