"""What a study says at its end beside figures: how to put the winner live, and what weakens the figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from idxopt.optimizer.record import Note
from idxopt.optimizer.study.folder import StudyFolder
from idxopt.optimizer.study.inputs import StudyInputs
from idxopt.optimizer.study.recording import Finished
from idxopt.optimizer.study.store import StoredEvent


def plan_command(place: StudyFolder, inputs: StudyInputs) -> str:
    """`idxopt plan PROGRAM ...`, to be copied."""
    return " ".join(part for part in ("idxopt plan", shlex.quote(str(place.program)), inputs.plan_options) if part)


def synthetic_of(inputs: StudyInputs) -> str | None:
    """The sentence that must stand wherever figures over judgments that nobody gave are shown."""
    marked = [f"{each.name}: {each.judged.synthetic_note}" for each in inputs.sets if each.judged.synthetic_note]
    return "; ".join(marked) or None


def endings(finished: Finished, events: Sequence[StoredEvent], unheard: int) -> tuple[Note, ...]:
    """Warnings of accepted changes, the cut, a search that went on after its held-out queries were read, and requests
    to a language model that stayed without an answer (`unheard`).
    """
    found = finished.found
    notes = [
        Note("judged", f"step {number} ({step.proposal.kind}): {warning}")
        for number, step in enumerate(found.path, 1)
        for warning in step.warnings
    ]
    if found.cut.kept < found.cut.of:
        notes.append(Note("cut", found.cut.sentence))
    stops = [event for event in events[:-1] if event.kind == "stopped"]
    if stops:
        notes.append(
            Note(
                "held-out",
                f"the search went on after it had been stopped {len(stops)} times, each time with a look at the"
                " held-out queries: their figures are a little too good",
            )
        )
    if unheard:
        notes.append(
            Note(
                "model",
                f"{unheard} requests to the language model failed, and the search went on without them;"
                " --retry-failed-answers sends them again",
            )
        )
    return tuple(notes)
