"""What an apply, a rollback, a destroy did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from idxopt.cli.units import counted

if TYPE_CHECKING:
    from idxopt.deploy.destroy import Destruction
    from idxopt.deploy.options import Applied


def applied_lines(applied: Applied, name: str) -> Iterator[str]:
    """A few lines; the last says what serves now."""
    for view, rows in applied.rows.items():
        yield f"built {view}: {counted(rows, 'row')}"
    made = applied.generated
    if made.texts:
        failed = f", {made.failed} of them without a usable answer (the text stays as it was)" if made.failed else ""
        yield (
            f"generated {counted(made.texts, 'text')}{failed}: {made.tokens_in:,} tokens in, {made.tokens_out:,} out, "
            f"{made.money:,.4g} spent"
        )
    if applied.writes.total:
        yield f"writes of applications: {applied.writes}"
    for metric, value in applied.metrics.items():
        yield f"{metric}: {value:.4f}"
    for index in applied.collected:
        yield f"deleted old index {index}"
    for warning in applied.warnings:
        yield f"! {warning}"
    if not applied.build:
        yield f"{name}: nothing is live yet ({applied.seconds:.1f} s)"
    elif applied.build == applied.previous:
        yield f"{name}: build {applied.build} serves as before ({applied.seconds:.1f} s)"
    else:
        before = f", before it {applied.previous}" if applied.previous else ""
        yield f"{name}: build {applied.build} is live{before} ({applied.seconds:.1f} s)"


def applied_json(applied: Applied, name: str, *, changes: bool) -> dict[str, Any]:
    """The same as one document."""
    return {"name": name, "changes": changes, **asdict(applied)}


def destruction_lines(plan: Destruction) -> Iterator[str]:
    """What destroy removes, and what it leaves alone."""
    yield f"{plan.name}: destroy would remove"
    for alias, index in plan.aliases:
        yield f"  - alias {alias} -> {index}"
    for index, _ in plan.indices:
        yield f"  - index {index}"
    for template in plan.templates:
        yield f"  - template {template}"
    for pipeline in plan.pipelines:
        yield f"  - pipeline {pipeline}"
    for build in plan.builds:
        yield f"  - build {build}"
    for index in plan.foreign:
        yield f"  ! index {index} is not ours and stays"
