"""The index template of a view: keeps other people's templates out of our indices.

The engine takes the one matching template of highest priority and ignores all others, so ours only has to win; the
request that creates an index still carries everything itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.compiler.fields import OWN

DEFAULT_PRIORITY = 500


def index_template(
    name: str, view_name: str, mark: Mapping[str, Any], settings: Mapping[str, Any], mappings: Mapping[str, Any]
) -> dict[str, Any]:
    """The template body. It holds no `_meta` of an index (that is each index's own) and no refresh interval."""
    index = {key: value for key, value in settings.items() if key != "refresh_interval"}
    return {
        "index_patterns": [f"{name}--{view_name}--*"],
        "priority": DEFAULT_PRIORITY,
        "_meta": {OWN: dict(mark)},
        "template": {
            "settings": {"index": index},
            "mappings": {key: value for key, value in mappings.items() if key != "_meta"},
        },
    }


def with_priority(template: Mapping[str, Any], priority: int) -> dict[str, Any]:
    """The same template at another priority (deploy raises it above any foreign one that matches)."""
    return {**template, "priority": priority}
