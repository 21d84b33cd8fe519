"""What every form of the six operators is: parameters, input and output, where it can run, what it costs, its version.

`docs/operators.md` shows this table; a test compares the two. A form whose output changes for some input gets the next
`version`: view hashes (contract 4) and cache keys hold it, so that what was made before is never taken for the same.
A form that takes a generator gets the next one also when its prompt (`models.prompts.VERSIONS`), the generator
`extractive` or the fidelity gate changes.
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
    `parameters` are the fields of the step's model that have a meaning for this form, without those that name it.
    """

    name: str
    place: Where
    cost: Cost
    takes: str
    gives: str
    parameters: tuple[str, ...] = ()
    version: int = 1
    needs_corpus: bool = False
    multiplies_rows: bool = False


def _forms() -> dict[str, Form]:
    forms = (*_slices(), *_normalizes(), *_enriches(), *_reorganizes(), *_discards(), _REWEIGHT)
    return {form.name: form for form in forms}


def _slices() -> tuple[Form, ...]:
    window = ("field", "window", "overlap", "min_size")
    headings = ("field", "level", "keep_heading_path", "min_size")
    words = (*window, "cut")
    return (
        Form(
            "slice words",
            "client",
            "heavy",
            "text",
            "rows of at most `window` words",
            words,
            version=2,
            multiplies_rows=True,
        ),
        Form(
            "slice sentences", "client", "heavy", "text", "rows of sentences", window, version=2, multiplies_rows=True
        ),
        Form(
            "slice paragraphs", "client", "light", "text", "rows of paragraphs", window, version=2, multiplies_rows=True
        ),
        Form("slice headings", "client", "heavy", "marked-up text", "a row a section", headings, multiplies_rows=True),
    )


def _normalizes() -> tuple[Form, ...]:
    field, keep = ("field",), ("field", "keep_original")
    table, pattern = ("field", "table", "keep_original"), ("field", "pattern", "replacement")
    return (
        Form("normalize lowercase", "both", "light", "text", "text in lower case", field),
        Form("normalize nfkc", "client", "light", "text", "text in NFKC", field),
        Form("normalize strip_accents", "client", "light", "text", "text without non-spacing marks", field),
        Form("normalize html_strip", "client", "heavy", "HTML", "plain text", field),
        Form("normalize markdown_strip", "client", "heavy", "Markdown", "plain text", field),
        Form("normalize split_identifiers", "both", "light", "text", "`getUserName` as `get User Name`", keep),
        Form("normalize numbers", "client", "light", "text", "`1,234.5` as `1234.5`", keep),
        Form("normalize units", "client", "light", "text", "`5 kilobytes` as `5 kb`", keep),
        Form("normalize dates", "client", "light", "text", "`3 March 2024` as `2024-03-03`", keep),
        Form("normalize whitespace", "both", "light", "text", "runs of white space as one space", field),
        Form("normalize abbreviations", "client", "light", "text", "abbreviations written out", table),
        Form("normalize terms", "client", "light", "text", "variants as the preferred term", table),
        Form("normalize regex_replace", "client", "light", "text", "matches replaced", pattern),
    )


def _enriches() -> tuple[Form, ...]:
    into = ("field", "into")
    prime = (*into, "top", "alpha", "beta", "stopwords", "max_idf_terms")
    tree, top, lead, generated = (
        (*into, "depth"),
        (*into, "top"),
        (*into, "sentences", "words"),
        (*into, "generator"),
    )
    model = "text, a generator"
    return (
        Form("enrich prime_terms", "both", "heavy", "marked-up text", "list of terms", prime, 2, needs_corpus=True),
        Form("enrich heading_tree", "both", "heavy", "marked-up text", "text; sections in `{into}_sections`", tree, 2),
        Form(
            "enrich keywords",
            "client",
            "heavy",
            "marked-up text",
            "list of words",
            (*top, "generator"),
            2,
            needs_corpus=True,
        ),
        Form("enrich acronyms", "client", "light", "text", "list of `Elastic Block Store (EBS)`", into),
        Form("enrich synonyms", "client", "light", "text", "list of synonyms", (*into, "table")),
        Form("enrich lead", "both", "light", "text", "its first sentences or words", lead),
        Form("enrich entities", "client", "light", "text", "list of capitalised runs", top),
        Form("enrich neighbours", "client", "none", "title, id", "list of two titles", into, needs_corpus=True),
        Form("enrich summary", "client", "heavy", model, "a few sentences", generated),
        Form("enrich questions", "client", "heavy", model, "list of questions, or a row each", (*generated, "rows")),
        Form("enrich paraphrase", "client", "heavy", model, "the same in other words", generated),
        Form("enrich mindmap", "client", "heavy", model, "topics with their points", generated),
        Form("enrich restructure", "client", "heavy", model, "denser text, same headings", generated),
    )


def _reorganizes() -> tuple[Form, ...]:
    field, into, text = ("field",), ("field", "into"), "marked-up text"
    return (
        Form(
            "reorganize sections", "client", "heavy", text, "a row a section", ("field", "level"), multiplies_rows=True
        ),
        Form("reorganize table_rows", "client", "heavy", text, "a row a table row", field, multiplies_rows=True),
        Form("reorganize list_items", "client", "heavy", text, "a row a list item", field, multiplies_rows=True),
        Form("reorganize qa_pairs", "client", "heavy", text, "a row a question", field, multiplies_rows=True),
        Form("reorganize attributes", "client", "heavy", text, "a row an attribute", field, multiplies_rows=True),
        Form("reorganize code_blocks", "client", "heavy", text, "text without code; code in `into`", into),
        Form("reorganize merge_short", "client", "light", "rows", "fewer rows", ("field", "min_size")),
        Form("reorganize promote", "both", "none", "a field", "a copy of it in `into`", into),
        Form("reorganize rename", "both", "none", "a field", "the field as `into`", into),
        Form(
            "reorganize join", "both", "light", "a list of fields", "their texts in `into`, a line feed between", into
        ),
    )


def _discards() -> tuple[Form, ...]:
    field, text = ("field",), "marked-up text"
    return (
        Form("discard regex", "client", "light", "text", "text without the matches", field),
        Form("discard heading", "client", "heavy", text, "text without the sections of those headings", field),
        Form("discard repeated_lines", "client", "light", "text", "text without them", field, needs_corpus=True),
        Form("discard navigation", "client", "heavy", text, "text without blocks that are mostly links", field),
        Form("discard references", "client", "heavy", text, "text without reference sections", field),
        Form("discard footers", "client", "heavy", text, "text without footer sections", field),
        Form("discard phrases", "both", "light", "text", "text without the phrases", field),
        Form("discard fields", "both", "none", "rows", "rows without the fields"),
    )


_REWEIGHT = Form("reweight", "query", "none", "a lexical field", "its score times `alpha`", ("field", "alpha"))
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
            return f"enrich {step.with_}"


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
