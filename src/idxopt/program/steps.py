"""The steps of a view: one model a form of the six operators (AutoIndex, spec of operators).

A step is data: nothing in it can execute, read a file or reach a network. Every step names the fields it reads and
writes by the program's own field names (`source.fields`, or the output of an earlier step). Parameters that are left
out take the defaults written here; a changed default is a new schema version (contract 1).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

FieldName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Phrase = Annotated[str, Field(min_length=1, max_length=200)]
TermTable = Annotated[dict[Phrase, str | list[str]], Field(min_length=1, max_length=5_000)]
UNITS = ("words", "sentences", "paragraphs", "headings")
"""Units of `slice`; any other one is a key of `models`."""
GENERATED = ("summary", "questions", "paraphrase", "mindmap", "restructure")


class Model(BaseModel):
    """Base of everything in a program: unknown fields are errors, values never change, `"5"` is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)


class Slice(Model):
    """Splits each row into several along one field.

    `window`, `overlap` and `min_size` count units (words for `headings`, which takes no window: one row a section;
    slice again to bound its size). `level` and `keep_heading_path` belong to `headings`; the path is kept in the field
    `path`. `cut` belongs to words and the tokens of a model: with `sentences` a row ends where a sentence does, and
    only a sentence longer than a window is cut inside.
    """

    op: Literal["slice"]
    unit: str = Field(description="words | sentences | paragraphs | headings, or a key of `models`")
    field: FieldName = "body"
    window: Annotated[int, Field(ge=1, le=100_000)] | None = None
    overlap: Annotated[int, Field(ge=0, le=100_000)] = 0
    min_size: Annotated[int, Field(ge=0, le=100_000)] = 0
    level: Annotated[int, Field(ge=1, le=6)] = 2
    keep_heading_path: bool = False
    cut: Literal["anywhere", "sentences"] = "anywhere"


class Normalize(Model):
    """Rewrites the text of one or more fields in place.

    `keep_original` (split_identifiers, abbreviations, terms, numbers, units, dates): what is found stays and the
    rewritten form is added after it. `pattern`/`replacement` belong to `regex_replace` (RE2 syntax), `table` to
    `abbreviations` and `terms`.
    """

    op: Literal["normalize"]
    field: FieldName | Annotated[list[FieldName], Field(min_length=1)] = "body"
    scheme: Literal[
        "lowercase",
        "nfkc",
        "strip_accents",
        "html_strip",
        "markdown_strip",
        "split_identifiers",
        "numbers",
        "units",
        "dates",
        "whitespace",
        "abbreviations",
        "terms",
        "regex_replace",
    ]
    keep_original: bool = False
    pattern: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    replacement: Annotated[str, Field(max_length=1_000)] = ""
    table: TermTable | None = None


class _Enrich(Model):
    op: Literal["enrich"]
    field: FieldName = "body"
    into: FieldName


class PrimeTerms(_Enrich):
    """PRIME discriminative terms of `field` (spec: metadata synthesis)."""

    with_: Literal["prime_terms"] = Field(alias="with")
    top: Annotated[int, Field(ge=1, le=100)] = 5
    alpha: Annotated[float, Field(ge=0, lt=1)] = 0.3
    beta: Annotated[float, Field(ge=0, le=100)] = 2.0
    stopwords: Literal["english", "none"] = "english"
    max_idf_terms: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class HeadingTree(_Enrich):
    """The heading tree as text, and as structure beside it (`{into}_sections`: id, path, start, end)."""

    with_: Literal["heading_tree"] = Field(alias="with")
    depth: Literal[2, 3] = 2


class Keywords(_Enrich):
    """Most frequent content words by TF-IDF over the corpus, or from a language model when `generator` is given."""

    with_: Literal["keywords"] = Field(alias="with")
    top: Annotated[int, Field(ge=1, le=100)] = 10
    generator: str | None = None


class Acronyms(_Enrich):
    """Acronyms with their expansions as found in the text: `Elastic Block Store (EBS)`."""

    with_: Literal["acronyms"] = Field(alias="with")


class Synonyms(_Enrich):
    """Synonyms of the terms found in `field`, from `table`."""

    with_: Literal["synonyms"] = Field(alias="with")
    table: TermTable


class Lead(_Enrich):
    """The first sentences (or words) of `field`."""

    with_: Literal["lead"] = Field(alias="with")
    sentences: Annotated[int, Field(ge=1, le=100)] | None = None
    words: Annotated[int, Field(ge=1, le=10_000)] | None = None

    @model_validator(mode="after")
    def _one_measure(self) -> Lead:
        if (self.sentences is None) == (self.words is None):
            raise ValueError("give either sentences or words")
        return self


class Entities(_Enrich):
    """Runs of capitalised words, most frequent first."""

    with_: Literal["entities"] = Field(alias="with")
    top: Annotated[int, Field(ge=1, le=100)] = 10


class Neighbours(_Enrich):
    """Titles of the previous and the next document of the same folder (ids split at the last `/`), in id order."""

    with_: Literal["neighbours"] = Field(alias="with")
    field: FieldName = "title"


class Generated(_Enrich):
    """Text from a language model."""

    with_: Literal["summary", "questions", "paraphrase", "mindmap", "restructure"] = Field(alias="with")
    generator: str
    rows: bool = False


def _enrich_kind(value: Any) -> str:
    kind = value.get("with", value.get("with_")) if isinstance(value, dict) else getattr(value, "with_", None)
    return "generated" if kind in GENERATED else str(kind)


Enrich = Annotated[
    Annotated[PrimeTerms, Tag("prime_terms")]
    | Annotated[HeadingTree, Tag("heading_tree")]
    | Annotated[Keywords, Tag("keywords")]
    | Annotated[Acronyms, Tag("acronyms")]
    | Annotated[Synonyms, Tag("synonyms")]
    | Annotated[Lead, Tag("lead")]
    | Annotated[Entities, Tag("entities")]
    | Annotated[Neighbours, Tag("neighbours")]
    | Annotated[Generated, Tag("generated")],
    Discriminator(_enrich_kind),
]


class Reweight(Model):
    """Weights a field at query time: its score is multiplied by `alpha`. Needs no rebuild."""

    op: Literal["reweight"]
    field: FieldName
    alpha: Annotated[float, Field(ge=0, le=1_000)]


class Reorganize(Model):
    """Changes the structure. Which parameters belong to which form is written in `operators` docs.

    `sections`: headings to rows. `table_rows`, `list_items`, `qa_pairs`, `attributes`: to rows. `code_blocks`: moved to
    the field `into`. `merge_short`: neighbouring rows below `min_size` words are joined. `promote`/`rename`: `field` to
    `into` (promote keeps the original). `join`: the texts of a list of fields, in its order, to `into`.
    """

    op: Literal["reorganize"]
    to: Literal[
        "sections",
        "table_rows",
        "list_items",
        "qa_pairs",
        "code_blocks",
        "attributes",
        "merge_short",
        "promote",
        "rename",
        "join",
    ]
    field: FieldName | list[FieldName] = "body"
    into: FieldName | None = None
    level: Annotated[int, Field(ge=1, le=6)] = 2
    min_size: Annotated[int, Field(ge=1, le=100_000)] | None = None


class RepeatedLines(Model):
    """Lines that stand in at least `min_docs` documents."""

    min_docs: Annotated[int, Field(ge=2)] = 20


class Navigation(Model):
    """Blocks whose share of link text is above `link_density`."""

    link_density: Annotated[float, Field(gt=0, lt=1)] = 0.5


class Span(Model):
    """What is discarded: exactly one of these."""

    regex: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    heading: Annotated[list[Phrase], Field(min_length=1, max_length=100)] | None = None
    repeated_lines: RepeatedLines | None = None
    navigation: Navigation | None = None
    references: Literal[True] | None = None
    footers: Literal[True] | None = None
    phrases: Annotated[list[Phrase], Field(min_length=1, max_length=1_000)] | None = None
    fields: Annotated[list[FieldName], Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Span:
        if sum(value is not None for _, value in self) != 1:
            names = ", ".join(type(self).model_fields)
            raise ValueError(f"give exactly one of {names}")
        return self


class Discard(Model):
    """Removes noise from `field` (spans) or whole fields (`span.fields`)."""

    op: Literal["discard"]
    field: FieldName = "body"
    span: Span


def _operator(value: Any) -> str:
    return str(value.get("op") if isinstance(value, dict) else getattr(value, "op", None))


Step = Annotated[
    Annotated[Slice, Tag("slice")]
    | Annotated[Normalize, Tag("normalize")]
    | Annotated[Enrich, Tag("enrich")]
    | Annotated[Reweight, Tag("reweight")]
    | Annotated[Reorganize, Tag("reorganize")]
    | Annotated[Discard, Tag("discard")],
    Discriminator(_operator),
]
