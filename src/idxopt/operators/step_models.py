"""What steps know of the models that they name: no step ever calls one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from idxopt.models.identity import identity_of
from idxopt.program.model_checks import EXTRACTIVE
from idxopt.program.schema import ModelSpec


@dataclass(frozen=True, slots=True)
class StepModels:
    """Where steps find what models made. It pickles: worker processes get a copy.

    `tokenizers`: path of the tokenizer.json, by the program's name of the model (`slice` by a model's tokens).
    `identities`: `ModelIdentity.key`, by the program's name; a model that is not here has the key of its spec alone.
    `texts`: path of the store of generated texts; without one every text of a language model is missing. `judged`: a
    restructured section without a verdict of the entailment model is missing too. The generator `extractive` needs none
    of these.
    """

    tokenizers: Mapping[str, str] = field(default_factory=dict)
    identities: Mapping[str, str] = field(default_factory=dict)
    texts: str | None = None
    judged: bool = False

    def identity(self, name: str, specs: Mapping[str, ModelSpec]) -> str:
        """The key of a model, for keys of caches and stored texts."""
        return self.identities.get(name) or identity_of(name, specs, {}).key


NO_MODELS = StepModels()
"""For programs whose steps name no model but `extractive`."""


def is_extractive(name: str, specs: Mapping[str, ModelSpec]) -> bool:
    """Whether the program's generator of this name runs within the interpreter."""
    return name in specs and specs[name].id == EXTRACTIVE
