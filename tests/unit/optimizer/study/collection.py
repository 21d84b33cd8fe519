"""A small collection on which a search finds something: what a page is about stands in its title, and other pages speak
of it in passing.
"""

import json
import random
from pathlib import Path

TOPICS = (
    "rotation", "shard", "alias", "replica", "snapshot", "mapping", "cluster", "tokenizer", "pipeline", "template",
    "refresh", "merge", "segment", "routing", "scroll", "bulk", "percolator", "watcher", "rollover", "throttle",
)  # fmt: skip
KINDS = ("limits", "errors", "defaults", "costs")
FILLER = "the system reads every entry and writes it again when a node asks for more work during the night".split()
PAGES = len(TOPICS) * len(KINDS)


def documents(seed: int = 7) -> list[dict[str, str]]:
    """80 pages, one for each topic and kind; every third title leaves the kind to the first sentence."""
    chance = random.Random(seed)
    found = []
    for number in range(PAGES):
        topic, kind = TOPICS[number // len(KINDS)], KINDS[number % len(KINDS)]
        passing = [chance.choice(TOPICS) for _ in range(14)] + [chance.choice(KINDS) for _ in range(8)]
        words = passing + [chance.choice(FILLER) for _ in range(40 + 30 * (number % 3))]
        chance.shuffle(words)
        title = f"{topic} {kind}" if number % 3 else topic
        found.append({"_id": f"p{number:02}", "title": title, "text": f"{kind}. {' '.join(words)}"})
    return found


def queries() -> tuple[list[dict[str, str]], list[tuple[str, str, int]]]:
    """A query for each page, and its judgments."""
    asked, judged = [], []
    for number in range(PAGES):
        topic, kind = TOPICS[number // len(KINDS)], KINDS[number % len(KINDS)]
        asked.append({"_id": f"q{number:02}", "text": f"{kind} of the {topic} number {number}"})
        judged.append((f"q{number:02}", f"p{number:02}", 1))
    return asked, judged


def write_collection(folder: Path, seed: int = 7) -> Path:
    """As a BEIR folder."""
    (folder / "qrels").mkdir(parents=True)
    asked, judged = queries()
    for name, values in (("corpus", documents(seed)), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore\n", *(f"{query}\t{page}\t{grade}\n" for query, page, grade in judged)]
    (folder / "qrels" / "test.tsv").write_text("".join(lines), encoding="utf-8")
    return folder
