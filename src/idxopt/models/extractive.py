"""The generator `extractive`: no weights, no network, the same answer every time, and no word that the text has not.

- summary: up to three sentences by centrality (how frequent their words are in the text) and position, in text order.
- keywords: the most frequent content words; words of headings count twice; ties by first place.
- questions: from headings, and from sentences that define something (`X is a ...`).
- mindmap: the heading tree with the words that each section has most of.
- restructure: compression by sentence scoring. A sentence stays when it has a number, an acronym not seen before, words
  of a conclusion or of a rule, or one of the best scores; first sentences are favoured. Nothing is explicated.
- paraphrase: refused, it cannot be had by choosing sentences.

Answers have the form that prompts ask of language models (`models.prompts`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from idxopt.errors import ModelError
from idxopt.models.ports import Generation, ModelIdentity, Prompt
from idxopt.program.model_checks import EXTRACTIVE
from idxopt.text.analysis import standard_tokens
from idxopt.text.identifiers import lowercase
from idxopt.text.sentences import paragraph_spans, sentence_spans
from idxopt.text.stop_words import STOP_WORDS
from idxopt.text.structure import Markup, parse, structure

VERSION = 1
"""Raised when an answer changes; so must be the `version` of the forms of `enrich` that take a generator."""

TASKS = ("summary", "keywords", "questions", "mindmap", "restructure")
KEPT_SHARE = 0.45
"""Of the sentences of a section without numbers, acronyms and conclusions, how many stay (the best scored)."""

_SUMMARY_SENTENCES = 3
_TOPIC_WORDS = 5
_EARLY_BONUS = 0.3
_HEADING_FACTOR = 2
_NUMBER = re.compile(r"\d")
_ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]+s?\b")
_CONCLUSION = re.compile(
    r"\b(therefore|thus|hence|consequently|conclu\w+|as a result|results? (?:show|in|are|is)|show(?:s|ed|n)? that|"
    r"we (?:find|found|show|propose|present|recommend)|in summary|overall|because|must|required?|requires|never|"
    r"always|only if|unless|cannot|not supported|default|deprecated|important|warning|means that|is defined as|"
    r"improv\w+|outperform\w*|increas\w+|decreas\w+|reduc\w+)\b",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022>|]|\d{1,3}[.)])[ \t]")
_DEFINITION = re.compile(
    r"^(?P<article>(?:An?|The)\s+)?(?P<what>[^\W\d_][\w .'()/-]{1,60}?)\s+(?P<verb>is|are|means|refers to|denotes)\s+"
    r"(?:an?|the|any|one|a\s+set|used|defined)\b"
)
_POINTING = frozenset(
    "this that these those it they he she we you there here which what who each every all any some no one if when "
    "while for in on at by with as".split()
)
_ASKING = re.compile(r"(?:how|why|what|when|where|who|which|can|does|is|are)\b", re.IGNORECASE)


class Extractive:
    """Implements `Generator`."""

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("generator", EXTRACTIVE, details={"version": VERSION})

    @property
    def price(self) -> tuple[float, float]:
        return 0.0, 0.0

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(standard_tokens(text))

    def generate(self, prompt: Prompt) -> Generation:
        """Raises ModelError for a task that cannot be done by choosing sentences."""
        make = _MAKERS.get(prompt.task)
        if make is None:
            raise ModelError(
                f"{prompt.task} cannot be done by choosing sentences",
                place=EXTRACTIVE,
                remedy=f"name a language model; {EXTRACTIVE} does {', '.join(TASKS)}",
            )
        text = json.dumps(make(prompt.text, prompt.options), ensure_ascii=False)
        return Generation(text, self.count_tokens(prompt.text), self.count_tokens(text))


def _markup(options: Mapping[str, Any]) -> Markup:
    markup: Markup = options.get("markup", "text")
    return markup


def _summary(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    sentences = list(_prose(text, _markup(options)))
    wanted = min(_SUMMARY_SENTENCES, max(1, math.ceil(len(sentences) / 5)))
    scores = _scores(sentences)
    best = sorted(range(len(sentences)), key=lambda place: (-scores[place], place))[:wanted]
    chosen = " ".join(sentences[place] for place in sorted(best))
    return {"summary": chosen or " ".join(text.split())[:500]}


def _keywords(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    parsed = parse(text, _markup(options))
    counts = Counter(_words(parsed.plain))
    for heading in parsed.headings:
        counts.update(word for word in _words(heading.text) for _ in range(_HEADING_FACTOR - 1))
    first = {word: place for place, word in reversed(list(enumerate(_words(parsed.plain))))}
    ranked = sorted(counts, key=lambda word: (-counts[word], first.get(word, len(first))))
    return {"keywords": ranked[: options.get("count", 10)]}


def _questions(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    markup = _markup(options)
    found = [_question_of(heading.text) for heading in parse(text, markup).headings]
    for sentence in _prose(text, markup):
        match = _DEFINITION.match(sentence)
        if match is not None and match["what"].split()[0].lower() not in _POINTING:
            verb = "are" if match["verb"] == "are" else "is"
            article = " ".join((match["article"] or "").lower().split())
            found.append(" ".join(f"What {verb} {article} {match['what']}".split()) + "?")
    unique = {question.lower(): question for question in reversed(found) if question}
    ordered = [question for question in dict.fromkeys(found) if unique.get(question.lower()) == question]
    return {"questions": ordered[: options.get("count", 5)]}


def _question_of(heading: str) -> str:
    heading = " ".join(heading.split()).rstrip(".:")
    if not heading or heading.endswith(("?", "\uff1f")):
        return heading
    first = heading.split()[0]
    if _ASKING.match(heading):
        return f"{heading}?"
    if first.lower().endswith("ing"):
        return f"How does {first.lower()}{heading[len(first) :]} work?"
    return f"What is said about {heading}?"


def _mindmap(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    markup = _markup(options)
    topics = []
    for section in structure(text, markup).sections:
        plain = parse(text[section.body_start : section.end], markup).plain
        points = [word for word, _ in Counter(_words(plain)).most_common(_TOPIC_WORDS)]
        topic = " > ".join(section.path) or (points.pop(0) if points else "")
        if topic:
            topics.append({"topic": topic, "points": points})
    return {"topics": topics}


def _restructure(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    parts: Sequence[str] = options.get("parts", [text])
    counts = Counter(word for part in parts for word in _words(part))
    seen: set[str] = set()
    return {"parts": [_compressed(part, counts, seen) for part in parts]}


def _compressed(part: str, counts: Counter[str], seen: set[str]) -> str:
    """The part without its weakest sentences; `seen` collects acronyms over the parts of a section."""
    paragraphs = [_sentences(part[start:end]) for start, end in paragraph_spans(part)]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    scores = _scores(sentences, counts)
    open_places = []
    kept: set[int] = set()
    for place, sentence in enumerate(sentences):
        acronyms = set(_ACRONYM.findall(sentence))
        if _NUMBER.search(sentence) or acronyms - seen or _CONCLUSION.search(sentence):
            kept.add(place)
            seen |= acronyms
        else:
            open_places.append(place)
    ranked = sorted(open_places, key=lambda place: (-scores[place], place))
    kept |= set(ranked[: math.ceil(len(open_places) * KEPT_SHARE)])
    return "\n\n".join(_joined(chosen) for chosen in _chosen(paragraphs, kept) if chosen)


def _chosen(paragraphs: Sequence[Sequence[str]], kept: set[int]) -> Iterator[list[str]]:
    place = 0
    for paragraph in paragraphs:
        yield [sentence for number, sentence in enumerate(paragraph, place) if number in kept]
        place += len(paragraph)


def _joined(sentences: Sequence[str]) -> str:
    text = ""
    for sentence in sentences:
        text += (("\n" if _LIST_ITEM.match(sentence) else " ") if text else "") + sentence
    return text


def _sentences(text: str) -> list[str]:
    found = (text[start:end].rstrip() for start, end in sentence_spans(text))
    return [sentence for sentence in found if sentence.strip()]


def _prose(text: str, markup: Markup) -> Iterator[str]:
    """The sentences of paragraphs and list items."""
    for block in parse(text, markup).blocks:
        if block.kind in ("paragraph", "list_item"):
            for start, end in sentence_spans(block.text):
                sentence = " ".join(block.text[start:end].split())
                if sentence:
                    yield sentence


def _scores(sentences: Sequence[str], counts: Counter[str] | None = None) -> list[float]:
    """Mean frequency of a sentence's words in the text, long sentences slightly favoured, early ones more."""
    words = [_words(sentence) for sentence in sentences]
    counts = Counter(word for found in words for word in found) if counts is None else counts
    scores = []
    for place, found in enumerate(words):
        central = sum(counts[word] for word in set(found)) / math.sqrt(len(found) + 3)
        scores.append(round(central * (1 + _EARLY_BONUS / (1 + place)), 9))
    return scores


def _words(text: str) -> list[str]:
    words = standard_tokens(lowercase(text))
    return [word for word in words if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()]


_MAKERS: Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "summary": _summary,
    "keywords": _keywords,
    "questions": _questions,
    "mindmap": _mindmap,
    "restructure": _restructure,
}
