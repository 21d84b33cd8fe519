"""Records of studies that never ran: empty, with one trial, with many; their texts are hostile."""

import numpy as np

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.optimizer.ports import Size
from idxopt.optimizer.record import (
    BASELINE,
    WINNER,
    Attribution,
    Column,
    Control,
    Cost,
    Coverage,
    Event,
    FailureCount,
    ModelCost,
    Note,
    Objective,
    PathStep,
    QuerySet,
    QueryValues,
    Rankings,
    Role,
    Sampled,
    SampleRow,
    Shown,
    Stage,
    StudyRecord,
    Trial,
    TrialStatus,
)

HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</script><script>document.title='owned'</script>",
    "<!-- --><style>*{display:none}</style>",
    "שלום \u202eabc\u202c עולם",
    "a\x00b\x1bc\ufffe",
    "'; alert(1); //",
    "&lt;b&gt; &amp; \u2028 ]]>",
    "javascript:alert(1)",
    "=HYPERLINK(1)",
)
URL_ID = "https://example.org/a?b=<c>&d='e'\"f\"#q=%2F"
KINDS = ("short", "long", "question", "identifier")
RESAMPLES = 200


def interval(values) -> Interval:
    return mean_interval(list(values), resamples=RESAMPLES)


def empty() -> StudyRecord:
    return StudyRecord(
        study="nothing",
        created="2026-01-01T00:00:00Z",
        engine="embedded",
        objective=Objective("nDCG@10", "Recall@100 of the baseline is above .95"),
        sets=(),
        baseline={"views": {"content": {}}},
        winner={"views": {"content": {}}},
        finished=False,
    )


def filled(trials: int, queries: int = 60, steps: int = 3) -> StudyRecord:
    """A study of `trials` trials (the first ones kept, at most `steps`) over `queries` queries in three roles."""
    rng = np.random.default_rng(trials + queries)
    steps = min(steps, trials)
    base = rng.choice([0.0, 0.2, 0.39, 0.63, 1.0], size=queries)
    columns = [base]
    for _ in range(steps):
        columns.append(np.clip(columns[-1] + rng.normal(0.03, 0.15, queries) * (rng.random(queries) < 0.5), 0, 1))
    columns.append(columns[-1])
    recall = [np.clip(values * 0.5 + 0.45, 0, 1) for values in columns]
    judged = [np.clip(np.full(queries, 0.9) - 0.03 * place, 0, 1) for place in range(len(columns))]
    sizes = [Size(1000 * (1 + place), 900_000 + 400_000 * place, 1 + place) for place in range(len(columns))]
    labels = [BASELINE, *(f"step {place}" for place in range(1, steps + 1)), WINNER]
    roles: tuple[Role, ...] = ("dev", "dev", "dev", "held_out", "test")
    asked = tuple(
        QueryValues(
            id=URL_ID if place == 0 else f"q{place}",
            text=HOSTILE[place % len(HOSTILE)] if place % 3 == 0 else f"how does part {place} turn",
            set="cranfield",
            role=roles[place % 5],
            kind=KINDS[place % 4],
            values={
                "nDCG@10": tuple(float(column[place]) for column in columns),
                "Recall@100": tuple(float(column[place]) for column in recall),
                "Judged@10": tuple(float(column[place]) for column in judged),
            },
            slices=("1-3 words",) if place % 2 else ("4+ words",),
        )
        for place in range(queries)
    )
    dev = [place for place, query in enumerate(asked) if query.role == "dev"]
    made = tuple(_trial(number, steps, columns, dev, sizes, rng) for number in range(1, trials + 1))
    return StudyRecord(
        study=f"cranfield {HOSTILE[0]}",
        created="2026-01-01T00:00:00Z",
        engine="embedded 0.1",
        documents=1400,
        objective=Objective("nDCG@10", "Recall@100 of the baseline is above .95, so it is blind.", "Recall@100"),
        sets=tuple(
            QuerySet("cranfield", role, sum(one.role == role for one in asked), synthetic=role == "dev")
            for role in ("dev", "held_out", "test")
        ),
        baseline={"views": {"content": {"search": {"text": 1}}}, "title": HOSTILE[1]},
        winner={"views": {"content": {"search": {"text": 1, "title": 0.5}}, "rows": {"steps": [{"op": "slice"}]}}},
        settings={"rounds": 20, "rule": "guarded"},
        seeds={"splits": 0},
        versions={"idxopt": "0.1.0"},
        digests={"corpus": "ab" * 32},
        trials=made,
        path=tuple(
            PathStep(
                trial=number,
                kind=made[number - 1].kind,
                why=HOSTILE[number % len(HOSTILE)],
                gain=interval(columns[number][dev] - columns[number - 1][dev]),
                confidence=0.93,
                hash="cd" * 32,
                held_out=None if number > 1 else interval(rng.normal(0.02, 0.1, 20)),
                cut=number == 3,
            )
            for number in range(1, steps + 1)
        ),
        columns=tuple(Column(label, "ef" * 32, size) for label, size in zip(labels, sizes, strict=True)),
        queries=asked,
        rankings=tuple(_rankings(asked[place], place) for place in range(min(queries, 12))),
        coverage=(
            Coverage(
                BASELINE, "cranfield (dev)", interval(judged[0][dev]), interval(base[dev]), interval(base[dev] + 0.1)
            ),
            Coverage(WINNER, "cranfield (dev)", interval(judged[-1][dev]), interval(columns[-1][dev])),
        ),
        attribution=tuple(
            Attribution(f"{number} field title", interval(rng.normal(0.03, 0.1, 40)), 1000, 40_000, 0.4)
            for number in range(1, steps + 1)
        ),
        staged=tuple(
            Stage(name, "nDCG@10", interval(base), interval(columns[-1]), interval(columns[-1] - base), "all queries")
            for name in ("BM25", "dense", "reranked")
        ),
        failures=(FailureCount("vocabulary_gap", 12, 9), FailureCount("diluted_by_length", 4, 1)),
        controls=(Control("random, best of 20", interval(base[dev] + 0.01), Size(3000, 2_000_000, 2), 20),),
        sampled=Sampled(1000, 1400, (SampleRow("nDCG@10", interval(base), interval(columns[-1])),)),
        cost=Cost(184.2, 61, 14, 0.0123, "USD", (ModelCost("a-model", 12, 34_000, 900, 0.0123, "2026-01-01"),)),
        events=(Event(0.0, "start", "study started"), Event(12.5, "resume", HOSTILE[0])),
        notes=(Note("near_duplicates", "3 documents are nearly equal.", (HOSTILE[1], URL_ID)),),
        synthetic="The judgments of cranfield were made by idxopt queries make.",
        plan="idxopt plan --program winner.json docs.jsonl",
    )


def _trial(number, steps, columns, dev, sizes, rng) -> Trial:
    statuses: tuple[TrialStatus, ...] = ("refused", "refused", "invalid", "refused", "failed")
    status: TrialStatus = statuses[number % 5]
    if number <= steps:
        status = "cut" if number == 3 else "kept"
    if status in ("invalid", "failed"):
        return Trial(number, number // 4, "regex", HOSTILE[0], "random", status, "00" * 32, reason=HOSTILE[2])
    values = columns[number] if number <= steps else np.clip(columns[0] + rng.normal(0.01, 0.05, len(columns[0])), 0, 1)
    kept = status == "kept"
    return Trial(
        number=number,
        round=number // 4,
        kind=("field title", "slice words", "normalize")[number % 3],
        why=f"{number} queries fail because the title is not searched",
        proposer="random" if number % 7 == 0 else "heuristic",
        status=status,
        hash="ef" * 32,
        reason=None if kept else "confidence .71 is below .90",
        values={"nDCG@10": interval(values[dev]), "Judged@10": interval(np.full(len(dev), 0.8))},
        gain=interval(values[dev] - columns[max(0, min(number, steps) - 1)][dev]),
        difference=interval(values[dev] - columns[0][dev]),
        confidence=0.71,
        held_out=interval(values[:12]) if number <= steps else None,
        size=sizes[number] if number <= steps else Size(int(rng.integers(900, 9000)), int(rng.integers(8e5, 9e6)), 2),
        p95_ms=4.2,
        seconds=float(rng.random() * 3),
        money=0.001 * (number % 3),
        cached=number % 6 == 0,
        plan=f"idxopt plan --program trial-{number}.json" if kept else "",
    )


def _rankings(query: QueryValues, place: int) -> Rankings:
    before = [_shown(place, rank) for rank in range(10)]
    after = [before[(rank * 3) % 10] if rank % 4 else _shown(place, rank + 20) for rank in range(10)]
    return Rankings(query.id, {BASELINE: tuple(before), WINNER: tuple(after)})


def _shown(place: int, rank: int) -> Shown:
    text = f"{HOSTILE[(place + rank) % len(HOSTILE)]} and the wing of an aeroplane turns in the stream " * 3
    return Shown(
        doc_id=URL_ID if rank == 1 else f"d{rank}",
        grade=(None, 0, 1, 2)[(place + rank) % 4],
        title=HOSTILE[(place * 3 + rank) % len(HOSTILE)],
        excerpt=text[:240],
        matches=((3, 9), (5, 12), (40, 44), (900, 905)),
        legs={"content": rank + 1, "rows": rank + 3},
    )
