"""What a study took, and what happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from idxopt.ledger.ledger import Ledger
from idxopt.ledger.pricing import cost
from idxopt.models.ports import Generator
from idxopt.optimizer.record import Cost, Event, ModelCost
from idxopt.optimizer.study.store import StoredEvent, StoredTrial, StudyStore


def cost_of(
    trials: Sequence[StoredTrial], store: StudyStore, ledger: Path, generator: Generator | None, currency: str
) -> Cost:
    """Seconds of scoring, programs scored and found, and money: `generator` is the model that proposed, if any."""
    scored = [one for one in trials if one.status in ("complete", "refused") and (one.against or one.number == 0)]
    price = None if generator is None else generator.price
    models = tuple(
        ModelCost(
            generator.identity.id if generator is not None and generator.identity.key == key else key[:8],
            calls,
            tokens_in,
            tokens_out,
            None if price is None else cost(price, tokens_in, tokens_out),
        )
        for key, calls, tokens_in, tokens_out in store.spoken()
    )
    return Cost(
        seconds=sum(one.seconds for one in trials),
        evaluations=sum(not one.cached for one in scored),
        cache_hits=sum(one.cached for one in scored),
        money=_spent(ledger),
        currency=currency,
        models=models,
    )


def events_of(events: Sequence[StoredEvent]) -> tuple[Event, ...]:
    """With times from the first one."""
    return tuple(Event(one.at - events[0].at, one.kind, one.text) for one in events)


def _spent(ledger: Path) -> float:
    if not ledger.exists():
        return 0.0
    with Ledger.open(ledger, budget=None) as opened:
        return opened.spent().money
