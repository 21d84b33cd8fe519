"""What every form of the six operators is: parameters, input and output, where it can run, what it costs, its version.

`docs/operators.md` shows this table; a test compares the two. A form whose output changes for some input gets the next
`version`: view hashes (contract 4) and cache keys hold it, so that what was made before is never taken for the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from idxopt.program.effects import reads_tables, step_effect
from idxopt.program.steps import Discard, Normalize, Reorganize, Reweight, Slice, Step

Where = Literal["client", "both", "query"]
Cost = Literal["none", "light", "heavy"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of an operator.

    `place`: `both` has an equal ingest pipeline (contract 2), `query` acts when searching. `cost`: `light` passes over
    the text with string functions, `heavy` parses or tokenises it; the step cache pays only behind a heavy step.
    """

    name: str
    place: Where
    cost: Cost
    takes: str
    gives: str
    version: int = 1
    needs_corpus: bool = False
    multiplies_rows: bool = False


def _forms() -> dict[str, Form]:
    return {
        form.name: form for form in (*_slices(), *_normalizes(), *_enriches(), *_reorganizes(), *_discards(), _REWEIGHT)
    }


def _slices() -> tuple[Form, ...]:
    return (
        Form("slice words", "client", "heavy", "text", "rows of at most `window` words", multiplies_rows=True),
        Form("slice sentences", "client", "heavy", "text", "rows of at most `window` sentences", multiplies_rows=True),
        Form(
            "slice paragraphs", "client", "light", "text", "rows of at most `window` paragraphs", multiplies_rows=True
        ),
        Form("slice headings", "client", "heavy", "marked-up text", "a row a section, `path`", multiplies_rows=True),
    )


def _normalizes() -> tuple[Form, ...]:
    return (
        Form("normalize lowercase", "both", "light", "text", "text in lower case"),
        Form("normalize nfkc", "client", "light", "text", "text in NFKC"),
        Form("normalize strip_accents", "client", "light", "text", "text without non-spacing marks"),
        Form("normalize html_strip", "client", "heavy", "HTML", "plain text"),
        Form("normalize markdown_strip", "client", "heavy", "Markdown", "plain text"),
        Form("normalize split_identifiers", "both", "light", "text", "`getUserName` as `get User Name`"),
        Form("normalize numbers", "client", "light", "text", "`1,234.5` as `1234.5`"),
        Form("normalize units", "client", "light", "text", "`5 kilobytes` as `5 kb`"),
        Form("normalize dates", "client", "light", "text", "`3 March 2024` as `2024-03-03`"),
        Form("normalize whitespace", "both", "light", "text", "runs of white space as one space"),
        Form("normalize abbreviations", "client", "light", "text, `table`", "abbreviations written out"),
        Form("normalize terms", "client", "light", "text, `table`", "variants as the preferred term"),
        Form("normalize regex_replace", "client", "light", "text, `pattern`", "matches replaced"),
    )


def _enriches() -> tuple[Form, ...]:
    return (
        Form("enrich prime_terms", "client", "heavy", "marked-up text", "list of terms", needs_corpus=True),
        Form("enrich heading_tree", "client", "heavy", "marked-up text", "text, and sections in `{into}_sections`"),
        Form("enrich keywords", "client", "heavy", "text", "list of words", needs_corpus=True),
        Form("enrich acronyms", "client", "light", "text", "list of `Elastic Block Store (EBS)`"),
        Form("enrich synonyms", "client", "light", "text, `table`", "list of synonyms"),
        Form("enrich lead", "both", "light", "text", "its first sentences or words"),
        Form("enrich entities", "client", "light", "text", "list of capitalised runs"),
        Form("enrich neighbours", "client", "none", "title, document id", "list of titles", needs_corpus=True),
        Form("enrich generated", "client", "heavy", "text, a language model", "text or rows"),
    )


def _reorganizes() -> tuple[Form, ...]:
    return (
        Form(
            "reorganize sections", "client", "heavy", "marked-up text", "a row a section, `path`", multiplies_rows=True
        ),
        Form("reorganize table_rows", "client", "heavy", "marked-up text", "a row a table row", multiplies_rows=True),
        Form("reorganize list_items", "client", "heavy", "marked-up text", "a row a list item", multiplies_rows=True),
        Form("reorganize qa_pairs", "client", "heavy", "marked-up text", "a row a question", multiplies_rows=True),
        Form("reorganize attributes", "client", "heavy", "marked-up text", "a row an attribute", multiplies_rows=True),
        Form("reorganize code_blocks", "client", "heavy", "marked-up text", "text without code; code in `into`"),
        Form("reorganize merge_short", "client", "light", "rows", "fewer rows"),
        Form("reorganize promote", "both", "none", "a field", "a copy of it under `into`"),
        Form("reorganize rename", "both", "none", "a field", "the field under `into`"),
    )


def _discards() -> tuple[Form, ...]:
    return (
        Form("discard regex", "client", "light", "text", "text without the matches"),
        Form("discard heading", "client", "heavy", "marked-up text", "text without the sections of those headings"),
        Form("discard repeated_lines", "client", "light", "text", "text without those lines", needs_corpus=True),
        Form("discard navigation", "client", "heavy", "marked-up text", "text without blocks that are mostly links"),
        Form("discard references", "client", "heavy", "marked-up text", "text without reference sections"),
        Form("discard footers", "client", "heavy", "marked-up text", "text without footer sections"),
        Form("discard phrases", "both", "light", "text", "text without the phrases"),
        Form("discard fields", "both", "none", "rows", "rows without the fields"),
    )


_REWEIGHT = Form("reweight", "query", "none", "a lexical field", "its score times `alpha`")
FORMS: dict[str, Form] = _forms()
"""Every form by name."""


def form(step: Step) -> Form:
    """The form that a step is."""
    return FORMS[form_name(step)]


def form_name(step: Step) -> str:
    """`slice words`, `normalize lowercase`, `enrich lead`... A model's token unit counts as `slice words`."""
    match step:
        case Slice():
            name = f"slice {step.unit}"
            return name if name in FORMS else "slice words"
        case Normalize():
            return f"normalize {step.scheme}"
        case Reorganize():
            return f"reorganize {step.to}"
        case Discard():
            given = next(name for name, value in step.span if value is not None)
            return f"discard {given}"
        case Reweight():
            return "reweight"
        case _:
            name = f"enrich {step.with_}"
            return name if name in FORMS else "enrich generated"


def where(step: Step) -> Where:
    """Where the step can run."""
    return form(step).place


def needs_corpus(step: Step) -> bool:
    """Whether the step reads frozen corpus tables."""
    return reads_tables(step)


def multiplies_rows(step: Step) -> bool:
    """Whether the step may make several rows of one."""
    return step_effect(step).many_rows


def semantics_version(step: Step) -> int:
    """The version of what the step does, for view hashes and cache keys."""
    return form(step).version


def cost(step: Step) -> Cost:
    """How much work the step is."""
    return form(step).cost
