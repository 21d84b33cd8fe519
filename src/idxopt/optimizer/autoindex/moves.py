"""The heuristic's moves: for each aspect of a program the changes worth trying, and how much the evidence speaks for
them. Pure functions of the program's shape, the facts of the corpus and the failures of its queries.

An aspect is one thing to decide (how much a title weighs, how documents are cut into rows); its options are tried in
order, and the gain of one says what to expect of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from idxopt.optimizer.autoindex.shape import Plain, Shape
from idxopt.optimizer.diagnosis.findings import CorpusFacts, Diagnosis, FailureKind
from idxopt.program.steps import Discard, Reorganize, Slice, Step

ROWS, TITLES = "rows", "titles"
WINDOWS = (100, 50, 200)
"""Words of a row: about a paragraph, then half and twice of it."""
ROWS_WEIGHT = 0.5
"""What new rows count beside whole documents. At half the weight of equal ranks no document of the first list falls
out of the first hundred, so that rows can only add to recall.
"""
LONG_WORDS = 150
"""Documents with more words (the 90th percentile) can be cut into rows."""
_TITLE_WEIGHTS = (0.5, 0.25, 1.0, 2.0)
_TITLES_WEIGHT = 0.25
_FIELD_WEIGHTS = (0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to change one aspect. `edits` are read by `optimizer.edits`. `another_form` of the one behind it, as
    likely as that.
    """

    label: str
    edits: tuple[Plain, ...]
    another_form: bool = False


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing to decide. `prior` from 0 to 1: how much speaks for trying it; `why`: what does, in words."""

    name: str
    prior: float
    why: str
    options: tuple[Option, ...]


Tables = Mapping[str, Mapping[str, list[str]]]


def aspects(shape: Shape, diagnosis: Diagnosis, tables: Tables) -> list[Aspect]:
    """Every aspect that has options in this program."""
    facts = diagnosis.facts
    share = _shares(diagnosis)
    found = [
        _title(shape, facts, share),
        _rows(shape, facts, share),
        _rows_weight(shape),
        _fusion(shape),
        _rows_fields(shape),
        _whole_documents(shape),
        *_added_fields(shape, facts, share),
        *_rewritten(shape, facts, share, tables),
        *_without_noise(shape, facts, share),
    ]
    return [aspect for aspect in found if aspect.options and aspect.prior > 0]


def _shares(diagnosis: Diagnosis) -> Callable[[FailureKind], float]:
    failing = max(1, diagnosis.classified or len(diagnosis.failing))
    return lambda kind: min(1.0, diagnosis.kinds.get(kind, 0) / failing)


Share = Callable[[FailureKind], float]


def _title(shape: Shape, facts: CorpusFacts, share: Share) -> Aspect:
    """The title beside the text that holds it, in two forms that are tried in one round: the first one kept stays."""
    name = shape.title
    if name is None or shape.text is None or facts.fields[name].distinct < 0.2:
        return Aspect("title", 0, "", ())
    prior = 0.65 + 0.35 * share("wrong_field_wins")
    options = (*_title_lists(shape, name), *_title_weights(shape, name))
    return Aspect("title", prior, f"{facts.fields[name].distinct:.0%} of the titles are distinct", options)


def _title_weights(shape: Shape, title: str) -> list[Option]:
    """The title as a field of its own: matches in it count more."""
    view = shape.program.primary
    now = shape.weight(view, title)
    if now is None and TITLES in shape.program.views:
        return []
    weights = _TITLE_WEIGHTS if now is None else _around(now)
    return [Option(f"weight {weight:g}", (_search(shape, view, title, weight),)) for weight in weights]


def _title_lists(shape: Shape, title: str) -> list[Option]:
    """Titles as a list of their own, added to the scores of the documents: it moves what is found and loses nothing."""
    if TITLES in shape.program.views:
        return _other_weights(shape, TITLES)
    if shape.weight(shape.program.primary, title) is not None or not shape.free_view(TITLES):
        return []
    fields = {title: shape.retriever()}
    add = {"edit": "add_view", "name": TITLES, "view": {"lexical": {"fields": fields}, "weight": _TITLES_WEIGHT}}
    fused = () if len(shape.program.views) > 1 else (_fused(shape, "weighted_sum"),)
    return [Option("a list of its own", (add, *fused), another_form=True)]


def _other_weights(shape: Shape, view: str) -> list[Option]:
    now = shape.program.views[view].weight
    return [Option(f"{weight:g}", ({"edit": "weigh_view", "view": view, "weight": weight},)) for weight in _around(now)]


def _rows(shape: Shape, facts: CorpusFacts, share: Share) -> Aspect:
    """Documents cut into rows, searched beside the whole ones: a passage that answers is not diluted by the rest."""
    long = facts.fields[shape.body].p90_words
    if long < LONG_WORDS:
        return Aspect("rows", 0, "", ())
    evidence = max(share("diluted_by_length"), share("split_answer"), min(1.0, long / 2_000))
    why = f"a tenth of the documents has more than {long:.0f} words"
    cut = shape.cut()
    if shape.rows is not None:
        return Aspect("rows", 0.5, why, tuple(_other_cuts(shape, cut[0])) if cut else ())
    return Aspect("rows", 0.5 + 0.5 * evidence, why, tuple(_new_rows(shape, facts)))


def _new_rows(shape: Shape, facts: CorpusFacts) -> Iterator[Option]:
    name = shape.new_view(ROWS)
    kinds: list[tuple[str, Plain]] = [(f"{window} words", _window(shape.body, window)) for window in WINDOWS]
    if facts.headings > 0.5:
        kinds.insert(1, ("sections", {"op": "reorganize", "to": "sections", "field": shape.body}))
    for label, step in kinds:
        view = _row_view(shape, step)
        yield Option(label, ({"edit": "add_view", "name": name, "view": view}, _fused(shape, "weighted_sum")))
    view = _row_view(shape, _window(shape.body, WINDOWS[0]))
    yield Option("100 words, fused by rank", ({"edit": "add_view", "name": name, "view": view}, _fused(shape, "rrf")))


def _row_view(shape: Shape, step: Plain) -> Plain:
    fields: Plain = {shape.body: shape.retriever()}
    if shape.title is not None:
        fields[shape.title] = {**shape.retriever(), "weight": 0.5}
    if step["op"] == "reorganize":
        fields["path"] = shape.retriever()
    return {"steps": [step], "lexical": {"fields": fields}, "weight": ROWS_WEIGHT}


def _other_cuts(shape: Shape, number: int) -> Iterator[Option]:
    """The window halved, doubled; sections where there are headings."""
    assert shape.rows is not None
    step = shape.program.views[shape.rows].steps[number]
    window = step.window if isinstance(step, Slice) and step.unit == "words" and step.window else WINDOWS[0]
    sizes = [window // 2, window * 2] if isinstance(step, Slice) else list(WINDOWS)
    for size in (size for size in sizes if 20 <= size <= 800):
        new = _window(str(step.field), size)
        yield Option(f"{size} words", ({"edit": "replace_step", "view": shape.rows, "number": number, "step": new},))


def _rows_weight(shape: Shape) -> Aspect:
    """How much rows count beside whole documents."""
    if shape.rows is None or shape.text is None:
        return Aspect("weight of rows", 0, "", ())
    return Aspect("weight of rows", 0.4, "rows and documents are fused", tuple(_other_weights(shape, shape.rows)))


def _fusion(shape: Shape) -> Aspect:
    if len(shape.program.views) < 2 or shape.rows is None or shape.text is None:
        return Aspect("fusion", 0, "", ())
    other = "rrf" if shape.program.fusion.method == "weighted_sum" else "weighted_sum"
    return Aspect("fusion", 0.3, "two views are fused", (Option(other, (_fused(shape, other),)),))


def _rows_fields(shape: Shape) -> Aspect:
    """The title beside each row, more, less or not at all."""
    if shape.rows is None or shape.title is None:
        return Aspect("title of rows", 0, "", ())
    now = shape.weight(shape.rows, shape.title)
    weights = _TITLE_WEIGHTS if now is None else _around(now)
    options = [Option(f"weight {weight:g}", (_search(shape, shape.rows, shape.title, weight),)) for weight in weights]
    if now is not None and shape.weight(shape.rows, shape.body) is not None:
        options.append(Option("left out", ({"edit": "leave_field", "view": shape.rows, "field": shape.title},)))
    return Aspect("title of rows", 0.3, "rows carry the title of their document", tuple(options))


def _whole_documents(shape: Shape) -> Aspect:
    """Rows alone: a document counts by its best row."""
    lexical = shape.primary.lexical
    if shape.rows is None or lexical is None:
        return Aspect("rows alone", 0, "", ())
    edits = tuple({"edit": "leave_field", "view": shape.program.primary, "field": name} for name in lexical.fields)
    return Aspect("rows alone", 0.25, "rows are searched beside documents", (Option("rows alone", edits),))


def _added_fields(shape: Shape, facts: CorpusFacts, share: Share) -> Iterator[Aspect]:
    """What a document is about, as a field of its own beside the text."""
    if shape.text is None:
        return
    long = min(1.0, facts.fields[shape.body].mean_words / 500)
    dilution = share("diluted_by_length")
    made: list[tuple[str, Plain, float, str]] = [
        ("terms", {"with": "prime_terms", "top": 10}, 0.2 + 0.3 * long + 0.2 * dilution, "its most telling terms"),
        ("keywords", {"with": "keywords", "top": 10}, 0.15 + 0.3 * long + 0.2 * dilution, "its rarest frequent words"),
        ("lead", {"with": "lead", "sentences": 3}, 0.1 + 0.15 * long, "how it begins"),
        ("headings", {"with": "heading_tree", "depth": 3}, 0.4 * facts.headings, "its headings"),
        ("acronyms", {"with": "acronyms"}, 0.3 * facts.acronyms, "acronyms with what they stand for"),
        ("entities", {"with": "entities", "top": 20}, 0.05, "names in it"),
    ]
    if shape.title is not None:
        made.append(
            ("neighbours", {"with": "neighbours", "field": shape.title}, 0.15, "the titles of the documents beside it")
        )
    for name, step, prior, why in made:
        yield _added_field(shape, name, step, prior, why)


def _added_field(shape: Shape, name: str, step: Plain, prior: float, why: str) -> Aspect:
    view = shape.program.primary
    now = shape.weight(view, name)
    if now is not None:
        options = [Option(f"weight {weight:g}", (_search(shape, view, name, weight),)) for weight in _around(now)]
        return Aspect(f"field {name}", 0.2, why, tuple(options))
    if not shape.free_field(view, name):
        return Aspect(f"field {name}", 0, "", ())
    full = {"op": "enrich", "field": shape.body, "into": name, **step}
    add = {"edit": "add_step", "view": view, "step": full, "before": 0}
    options = [Option(f"weight {weight:g}", (add, _search(shape, view, name, weight))) for weight in _FIELD_WEIGHTS]
    return Aspect(f"field {name}", prior, why, tuple(options))


def _rewritten(shape: Shape, facts: CorpusFacts, share: Share, tables: Tables) -> Iterator[Aspect]:
    """Other forms of words, added after the words as they are."""
    gap = share("vocabulary_gap")
    identifiers = max(0.5 * facts.identifiers, share("missing_identifier_form"))
    keep = {"keep_original": True}
    yield _in_place(shape, "identifiers", {"scheme": "split_identifiers", **keep}, identifiers, "identifiers in texts")
    for name, scheme in (("acronyms written out", "abbreviations"), ("spellings", "terms")):
        table = tables.get(scheme)
        if table:
            step = {"scheme": scheme, "table": dict(table), **keep}
            yield _in_place(shape, name, step, 0.35 + 0.3 * gap, f"{len(table)} pairs in the corpus")
    yield _in_place(shape, "numbers", {"scheme": "numbers", **keep}, 0.03, "numbers are written in two ways")
    yield _in_place(shape, "units", {"scheme": "units", **keep}, 0.05, "units are written in two ways")
    yield _in_place(shape, "html", {"scheme": "html_strip"}, 0.3 * (facts.html > 0.2), "HTML in texts")


def _in_place(shape: Shape, name: str, step: Plain, prior: float, why: str) -> Aspect:
    """A rewriting in every view, before rows are cut and fields are joined."""
    fields = [field for field in (shape.title, shape.body) if field is not None]
    full = {"op": "normalize", "field": fields if len(fields) > 1 else fields[0], **step}
    views = [name for name, view in shape.program.views.items() if view.lexical is not None]
    edits = tuple({"edit": "add_step", "view": view, "step": full, "before": 0} for view in views)
    done = any(
        getattr(one, "scheme", None) == step["scheme"] for view in shape.program.views.values() for one in view.steps
    )
    return Aspect(name, 0 if done else prior, why, (Option("added", edits),) if edits else ())


def _without_noise(shape: Shape, facts: CorpusFacts, share: Share) -> Iterator[Aspect]:
    boilerplate = max(share("boilerplate_match"), 5 * facts.repeated_characters)
    least = max(20, facts.documents // 100)
    spans: list[tuple[str, Plain, float, str]] = [
        ("repeated lines", {"repeated_lines": {"min_docs": least}}, 0.5 * min(1.0, boilerplate), "lines are repeated"),
        ("references", {"references": True}, 0.05 + 0.1 * facts.headings, "reference lists match anything"),
        ("navigation", {"navigation": {}}, 0.1 * max(facts.lists, facts.html), "lists of links"),
    ]
    for name, span, prior, why in spans:
        yield _cleaned(shape, name, {"op": "discard", "field": shape.body, "span": span}, prior, why)
    if shape.free_field(shape.program.primary, "code"):
        step = {"op": "reorganize", "to": "code_blocks", "field": shape.body, "into": "code"}
        yield _cleaned(shape, "code blocks", step, 0.1 * facts.code_blocks, "code among prose")


def _cleaned(shape: Shape, name: str, step: Plain, prior: float, why: str) -> Aspect:
    view = shape.program.primary
    done = any(_same(one, step) for one in shape.primary.steps)
    edits = ({"edit": "add_step", "view": view, "step": step, "before": 0},)
    return Aspect(f"without {name}", 0 if done or shape.text is None else prior, why, (Option("left out", edits),))


def _same(step: Step, plain: Plain) -> bool:
    """Whether the step is of the form that `plain` is, with whatever parameters."""
    if isinstance(step, Discard):
        return plain["op"] == "discard" and all(getattr(step.span, key) is not None for key in plain["span"])
    return isinstance(step, Reorganize) and plain["op"] == "reorganize" and step.to == plain["to"]


def _window(field: str, words: int) -> Plain:
    return {"op": "slice", "unit": "words", "field": field, "window": words, "overlap": words // 2}


def _search(shape: Shape, view: str, field: str, weight: float) -> Plain:
    """A field that is searched already keeps its retriever, whatever others have."""
    retriever = shape.retriever() if shape.weight(view, field) is None else {}
    return {"edit": "search_field", "view": view, "field": field, "weight": weight, **retriever}


def _fused(shape: Shape, method: str) -> Plain:
    """Another method; how many documents a leg returns, and what legs weigh, stays."""
    now = shape.program.fusion
    kept = now.model_dump(mode="json", exclude_defaults=True, include={"window", "weights"})
    return {"edit": "set_fusion", "fusion": {"method": method, **kept}}


def _around(weight: float) -> Sequence[float]:
    return [other for other in (weight * 2, weight / 2) if 0.1 <= other <= 8]
