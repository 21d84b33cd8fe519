"""The space of single changes: every form of the operators that needs no language model, and every edit of what is
searched, weighed and fused. Parameters are drawn from ranges that are sensible on any corpus.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from typing import Any

from idxopt.operators.registry import FORMS
from idxopt.optimizer.edits import EDITS, Edit
from idxopt.program.effects import ROW_FORMS, view_fields
from idxopt.program.schema import Program, View
from idxopt.program.steps import UNITS, Step

Plain = dict[str, Any]
Table = Mapping[str, list[str]]

LEAST_WEIGHT, MOST_WEIGHT = 0.1, 5.0
REGEXES = (r"https?://\S+", r"\[[^\]]{1,40}\]", r"\([^)]{1,80}\)", r"\b\d+\b", r"[^\w\s]", r"(?m)^\s*[-*]\s+")
"""What a random `regex` finds: addresses, brackets, numbers, signs, bullets."""
HEADINGS = ("References", "See also", "External links", "Related topics", "Acknowledgements", "Contents", "Notes")
PHRASES = ("for example", "in this paper", "as well as", "it is", "such as", "see also", "in order to", "note that")
SCHEMES = tuple(name.removeprefix("normalize ") for name in FORMS if name.startswith("normalize "))
ENRICHMENTS = ("prime_terms", "heading_tree", "keywords", "acronyms", "synonyms", "lead", "entities", "neighbours")
SPANS = tuple(name.removeprefix("discard ") for name in FORMS if name.startswith("discard "))
MOVES = ("code_blocks", "promote", "rename", "join")
_ROWS_ONLY = 1 / 3
"""How often new rows take the place of the documents' own leg."""


@dataclass(frozen=True)
class Space:
    """The changes of one program. `rng` draws; `tables`: term tables by scheme, mined from the corpus."""

    program: Program
    rng: random.Random
    tables: Mapping[str, Table] = field(default_factory=dict)

    def draw(self) -> tuple[str, Sequence[Edit]] | None:
        """One change, uniformly over kinds, then over parameters. None where the kind has no place in the program."""
        kind = self.rng.choice(sorted(KINDS))
        plain = KINDS[kind](self)
        return (kind, EDITS.validate_python(plain)) if plain else None

    @cached_property
    def primary(self) -> View:
        return self.program.views[self.program.primary]

    def weight(self) -> float:
        """Log-uniform, two digits."""
        return float(f"{LEAST_WEIGHT * (MOST_WEIGHT / LEAST_WEIGHT) ** self.rng.random():.2g}")

    def whole(self, least: int, most: int) -> int:
        """Log-uniform."""
        drawn: int = min(most, round(least * ((most + 1) / least) ** self.rng.random()))
        return drawn

    def view(self, fitting: Callable[[View], bool] = lambda _: True) -> str | None:
        names = [name for name, view in self.program.views.items() if fitting(view)]
        return self.rng.choice(names) if names else None

    def searched(self, view: View) -> list[str]:
        return list(view.lexical.fields) if view.lexical is not None else []

    def weighable(self, view: View) -> bool:
        """Whether the weight of one field can move a document: alone in its ranking, it never does."""
        summed = self.program.fusion.method == "weighted_sum" and len(self.program.views) > 1
        return len(self.searched(view)) > (0 if summed else 1)

    def fresh(self, stem: str, taken: Sequence[str], joint: str) -> str:
        return next(
            name for number in count(1) if (name := stem if number == 1 else f"{stem}{joint}{number}") not in taken
        )

    def new_field(self, view: View, stem: str) -> str:
        taken = {*self.program.source.fields, *view_fields(self.program, view).names}
        taken |= {name for step in view.steps for name in _names(step)}
        return self.fresh(stem, sorted(taken), "_")

    def target(self, view: View) -> tuple[str, int | None]:
        """A field to work on, and before which step: a source field first of all, one that is searched at the end."""
        choices: list[tuple[str, int | None]] = [(name, 0) for name in self.program.source.fields]
        choices += [(name, None) for name in self.searched(view)]
        return self.rng.choice(choices)

    def step(self, name: str, step: Plain, before: int | None) -> Plain:
        at = {} if before is None else {"before": before}
        return {"edit": "add_step", "view": name, "step": step, **at}


def _names(step: Step) -> list[str]:
    into = getattr(step, "into", None)
    return [into, f"{into}_sections"] if into else []


def _in_place(space: Space, step: Plain) -> list[Plain]:
    name = space.view()
    assert name is not None
    target, before = space.target(space.program.views[name])
    return [space.step(name, {**step, "field": target}, before)]


def _of_source(space: Space, step: Plain) -> list[Plain]:
    name = space.view()
    assert name is not None
    return [space.step(name, {**step, "field": space.rng.choice(list(space.program.source.fields))}, 0)]


def _normalize(space: Space, scheme: str) -> list[Plain]:
    step: Plain = {"op": "normalize", "scheme": scheme}
    if scheme in ("split_identifiers", "abbreviations", "terms", "numbers", "units", "dates"):
        step["keep_original"] = space.rng.random() < 0.5
    if scheme in ("abbreviations", "terms"):
        if not space.tables.get(scheme):
            return []
        step["table"] = space.tables[scheme]
    if scheme == "regex_replace":
        step |= {"pattern": space.rng.choice(REGEXES), "replacement": " "}
    return _in_place(space, step)


def _enrich(space: Space, form: str) -> list[Plain]:
    """The new field is searched; without that the step would say nothing."""
    name = space.view(lambda view: view.lexical is not None)
    if name is None or (form == "synonyms" and not space.tables.get("terms")):
        return []
    view, rng = space.program.views[name], space.rng
    target, before = space.target(view)
    if form in ("prime_terms", "keywords", "neighbours"):
        target, before = rng.choice(list(space.program.source.fields)), 0
    into = space.new_field(view, form)
    parameters: Mapping[str, Callable[[], Plain]] = {
        "prime_terms": lambda: {"top": space.whole(3, 30)},
        "keywords": lambda: {"top": space.whole(3, 50)},
        "heading_tree": lambda: {"depth": rng.choice([2, 3])},
        "entities": lambda: {"top": space.whole(3, 50)},
        "lead": lambda: {"sentences": space.whole(1, 10)} if rng.random() < 0.5 else {"words": space.whole(20, 400)},
        "synonyms": lambda: {"table": space.tables["terms"]},
    }
    made = parameters.get(form, dict)()
    step = {"op": "enrich", "with": form, "field": target, "into": into, **made}
    return [
        space.step(name, step, before),
        {"edit": "search_field", "view": name, "field": into, "weight": space.weight()},
    ]


def _discard(space: Space, what: str) -> list[Plain]:
    rng = space.rng
    if what == "fields":
        name = space.view(lambda view: len(space.searched(view)) > 1)
        if name is None:
            return []
        field_name = rng.choice(space.searched(space.program.views[name]))
        gone = {"op": "discard", "span": {"fields": [field_name]}}
        return [{"edit": "leave_field", "view": name, "field": field_name}, space.step(name, gone, None)]
    spans: Mapping[str, Callable[[], Any]] = {
        "regex": lambda: rng.choice(REGEXES),
        "heading": lambda: rng.sample(HEADINGS, rng.randint(1, 3)),
        "repeated_lines": lambda: {"min_docs": space.whole(3, 50)},
        "navigation": lambda: {"link_density": round(rng.uniform(0.2, 0.8), 2)},
        "references": lambda: True,
        "footers": lambda: True,
        "phrases": lambda: rng.sample(PHRASES, rng.randint(1, 4)),
    }
    place = _of_source if what == "repeated_lines" else _in_place
    return place(space, {"op": "discard", "span": {what: spans[what]()}})


def slice_step(space: Space, unit: str) -> Plain:
    """A slice with parameters of a sensible size: windows of 20 to 400 words, overlaps of 0 to half of them."""
    step: Plain = {"op": "slice", "unit": unit}
    if unit == "headings":
        return step | {"level": space.rng.randint(1, 3), "keep_heading_path": space.rng.random() < 0.5}
    window = space.whole(*{"words": (20, 400), "sentences": (2, 20), "paragraphs": (1, 6)}[unit])
    step |= {"window": window, "overlap": int(window * space.rng.uniform(0, 0.5))}
    if unit == "words" and space.rng.random() < 0.5:
        step["cut"] = "sentences"
    return step


def _rows(space: Space, stem: str, step: Plain) -> list[Plain]:
    """A view of rows beside the documents, or in their place. A path of headings is searched where it is kept."""
    program, rng, primary = space.program, space.rng, space.primary
    searched = space.searched(primary)
    if searched and rng.random() < 0.5:  # on top of what is done to the documents
        target = rng.choice(searched)
        steps = [_dumped(one) for one in primary.steps if one.op != "reweight"]
    else:
        target, steps = rng.choice(list(program.source.fields)), []
    fields = {target: {**_retriever(primary), "weight": 1.0}}
    others = [name for name in program.source.fields if name != target]
    if others and rng.random() < 0.5:
        fields[rng.choice(others)] = {**_retriever(primary), "weight": space.weight()}
    if step.get("keep_heading_path"):
        fields["path"] = {**_retriever(primary), "weight": space.weight()}
    view = {"steps": [*steps, {**step, "field": target}], "lexical": {"fields": fields}, "weight": space.weight()}
    edits: list[Plain] = [{"edit": "add_view", "name": space.fresh(stem, list(program.views), "-"), "view": view}]
    if rng.random() < _ROWS_ONLY:
        edits += [{"edit": "leave_field", "view": program.primary, "field": name} for name in searched]
    return edits


def _slice(space: Space, unit: str) -> list[Plain]:
    return _rows(space, unit, slice_step(space, unit))


def _row_form(space: Space, form: str) -> list[Plain]:
    return _rows(space, form.replace("_", "-"), {"op": "reorganize", "to": form})


def _retriever(view: View) -> Plain:
    """Analyzer, k1 and b as they are: the retriever is frozen."""
    if view.lexical is None:
        return {}
    first = next(iter(view.lexical.fields.values()))
    return {"analyzer": first.analyzer, "k1": first.k1, "b": first.b}


def _dumped(step: Step) -> Plain:
    return step.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _merge_short(space: Space) -> list[Plain]:
    name = space.view(lambda view: any(one.op == "slice" or getattr(one, "to", "") in ROW_FORMS for one in view.steps))
    if name is None:
        return []
    rows = [one for one in space.program.views[name].steps if one.op == "slice" or getattr(one, "to", "") in ROW_FORMS]
    step = {"op": "reorganize", "to": "merge_short", "field": rows[-1].field, "min_size": space.whole(10, 200)}
    return [space.step(name, step, None)]


def _moved(space: Space, form: str) -> list[Plain]:
    """Forms that make a field of another: it is searched, and where the old one is gone, no longer that one."""
    name = space.view(space.weighable if form == "rename" else lambda view: view.lexical is not None)
    if name is None:
        return []
    view, rng = space.program.views[name], space.rng
    into = space.new_field(view, {"code_blocks": "code", "promote": "copy", "rename": "named", "join": "joined"}[form])
    target, before = space.target(view)
    step: Plain = {"op": "reorganize", "to": form, "field": target, "into": into}
    if form == "join":
        names = list(space.program.source.fields)
        if len(names) < 2:
            return []
        step["field"], before = rng.sample(names, rng.randint(2, min(4, len(names)))), 0
    if form == "rename":
        target = rng.choice(space.searched(view))
        step["field"], before = target, None
    found: list[Plain] = [space.step(name, step, before)]
    found.append({"edit": "search_field", "view": name, "field": into, "weight": space.weight()})
    if form == "rename":
        found.append({"edit": "leave_field", "view": name, "field": target})
    return found


def _search_field(space: Space) -> list[Plain]:
    name = space.view()
    assert name is not None
    view = space.program.views[name]
    fields = view_fields(space.program, view)
    free = [one for one in fields.names if one not in {*space.searched(view), *fields.structures}]
    if not free:
        return []
    retriever = _retriever(space.primary)
    chosen = space.rng.choice(free)
    return [{"edit": "search_field", "view": name, "field": chosen, "weight": space.weight(), **retriever}]


def _weigh_field(space: Space) -> list[Plain]:
    name = space.view(space.weighable)
    if name is None:
        return []
    chosen = space.rng.choice(space.searched(space.program.views[name]))
    return [{"edit": "search_field", "view": name, "field": chosen, "weight": space.weight()}]


def _leave_field(space: Space) -> list[Plain]:
    several = len(space.program.views) > 1
    name = space.view(lambda view: len(space.searched(view)) > (0 if several else 1))
    if name is None:
        return []
    chosen = space.rng.choice(space.searched(space.program.views[name]))
    return [{"edit": "leave_field", "view": name, "field": chosen}]


def _reweight(space: Space) -> list[Plain]:
    name = space.view(space.weighable)
    if name is None:
        return []
    chosen = space.rng.choice(space.searched(space.program.views[name]))
    return [space.step(name, {"op": "reweight", "field": chosen, "alpha": space.weight()}, None)]


def _replaced(space: Space) -> list[Plain]:
    """A slice that is there, with other parameters."""
    places = [
        (name, number, step)
        for name, view in space.program.views.items()
        for number, step in enumerate(view.steps)
        if step.op == "slice" and step.unit in UNITS
    ]
    if not places:
        return []
    name, number, step = space.rng.choice(places)
    return [
        {
            "edit": "replace_step",
            "view": name,
            "number": number,
            "step": {**slice_step(space, step.unit), "field": step.field},
        }
    ]


def _remove_step(space: Space) -> list[Plain]:
    name = space.view(lambda view: bool(view.steps))
    if name is None:
        return []
    number = space.rng.randrange(len(space.program.views[name].steps))
    return [{"edit": "remove_step", "view": name, "number": number}]


def _remove_view(space: Space) -> list[Plain]:
    names = [name for name in space.program.views if name != space.program.primary]
    return [{"edit": "remove_view", "view": space.rng.choice(names)}] if names else []


def _weigh_view(space: Space) -> list[Plain]:
    if len(space.program.views) < 2:
        return []
    return [{"edit": "weigh_view", "view": space.view(), "weight": space.weight()}]


def _fusion(space: Space) -> list[Plain]:
    if len(space.program.views) < 2:
        return []
    fusion: Plain = {"window": space.program.fusion.window}
    if space.rng.random() < 0.5:
        fusion |= {"method": "rrf", "k": space.whole(5, 200)}
    else:
        fusion |= {"method": "weighted_sum", "normalize": space.rng.choice(["none", "min_max"])}
    return [{"edit": "set_fusion", "fusion": fusion}]


def _kinds() -> dict[str, Callable[[Space], list[Plain]]]:
    kinds: dict[str, Callable[[Space], list[Plain]]] = {
        "search field": _search_field,
        "weigh field": _weigh_field,
        "leave field": _leave_field,
        "reweight": _reweight,
        "replace slice": _replaced,
        "remove step": _remove_step,
        "remove view": _remove_view,
        "weigh view": _weigh_view,
        "fusion": _fusion,
        "reorganize merge_short": _merge_short,
    }
    kinds |= {f"normalize {scheme}": partial(_normalize, scheme=scheme) for scheme in SCHEMES}
    kinds |= {f"enrich {form}": partial(_enrich, form=form) for form in ENRICHMENTS}
    kinds |= {f"discard {what}": partial(_discard, what=what) for what in SPANS}
    kinds |= {f"slice {unit}": partial(_slice, unit=unit) for unit in UNITS}
    kinds |= {f"reorganize {form}": partial(_row_form, form=form) for form in sorted(ROW_FORMS)}
    kinds |= {f"reorganize {form}": partial(_moved, form=form) for form in MOVES}
    return kinds


KINDS: Mapping[str, Callable[[Space], list[Plain]]] = _kinds()
"""Kinds of change by name: a function to the edits of one, empty where it has no place."""
