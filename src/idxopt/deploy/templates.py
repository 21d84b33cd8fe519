"""Index templates of a program's views: the priority that wins, and whether the stored one is still ours. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idxopt.builds.effective import flat_mapping, flat_settings
from idxopt.compiler.lowered import CompiledView
from idxopt.compiler.templates import DEFAULT_PRIORITY, with_priority
from idxopt.deploy.observed import Observed
from idxopt.engines.port import Template


@dataclass(frozen=True, slots=True)
class WantedTemplate:
    """The template as it must be stored."""

    body: Mapping[str, Any]

    def matches(self, found: Template | None) -> bool:
        """True when the engine has exactly this template (as it writes settings: flat names, text values)."""
        return found is not None and comparable_template(found.body) == comparable_template(self.body)

    def why(self, found: Template | None) -> str:
        """What differs, for people."""
        if found is None:
            return "it was deleted"
        now, then = comparable_template(found.body), comparable_template(self.body)
        keys = [key for key in sorted(now.keys() | then.keys()) if now.get(key) != then.get(key)]
        if keys == ["priority"]:
            return "another template would win now"
        return f"{', '.join(keys)} changed"


def template_priority(observed: Observed, view: CompiledView) -> int:
    """One above the highest template of somebody else that matches our names (highest priority wins outright)."""
    others = [t.priority for t in observed.matching_templates(view.index) if t.name != view.template_name]
    return max([DEFAULT_PRIORITY, *(priority + 1 for priority in others)])


def wanted_template(observed: Observed, view: CompiledView) -> WantedTemplate:
    """The compiled template with its winning priority."""
    return WantedTemplate(with_priority(view.template, template_priority(observed, view)))


def comparable_template(body: Mapping[str, Any]) -> dict[str, Any]:
    """A template in one shape, however settings are nested and whatever empty parts an engine adds."""
    template = dict(body.get("template") or {})
    return {
        "index_patterns": sorted(body.get("index_patterns", [])),
        "priority": int(body.get("priority", 0)),
        "composed_of": list(body.get("composed_of") or []),
        "_meta": body.get("_meta") or {},
        "settings": flat_settings(template.get("settings") or {}),
        "mappings": flat_mapping(template.get("mappings") or {}),
        "aliases": template.get("aliases") or {},
    }
