"""A made-up result, so that tables and pages are tested without any model."""

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.costs import EmbeddingCost
from idxopt.experiments.methods import COLUMNS, METHODS, RAW, STRONG
from idxopt.experiments.results import METRICS, Cell, CollectionResult, Compared, Prediction, Setting, Shape

SETTING = Setting({"encoder": "maker/<model>"}, "embedded 1", "0", 10_000, ("a note & more",))
LEVELS = {
    "raw": (0.4, 0.6, 0.8),
    "structure-chunks": (0.6, 0.8, 0.8),
    "offline": (0.2, 0.4, 0.8),
    "sr-text": (0.4, 0.4, 0.4),
}
"""By method its level in each column; every method not named here has that of raw."""


def values(level: float) -> dict[str, float]:
    """Ten queries around a level."""
    return {f"q{n}": level + 0.01 * (n % 5 - 2) for n in range(10)}


def cell(method: str, number: int) -> Cell:
    own = values(LEVELS.get(method, LEVELS["raw"])[number])
    base = values(LEVELS["raw"][number])
    jitter = {query: value + (0.001 if int(query[1]) % 2 else -0.001) for query, value in own.items()}
    difference = None if method == RAW else mean_interval([jitter[query] - base[query] for query in sorted(base)])
    means = {str(metric): LEVELS.get(method, LEVELS["raw"])[number] for metric in METRICS}
    return Cell(method, COLUMNS[number], means, mean_interval(list(jitter.values())), difference, jitter, differing=10)


def result(name: str = "pages <1>", *, full: bool = True) -> CollectionResult:
    """Structure-chunks win dense only and hybrid, offline loses there, sr-text loses from hybrid on."""
    methods = [method.name for method in METHODS if method.name != STRONG]
    if not full:
        methods = ["raw", "title"]
    cells = tuple(cell(method, number) for method in methods for number in range(3))
    costs = {method: EmbeddingCost(10, 10 if method in ("offline", "title") else 100, 5_000) for method in methods}
    share = {"share": 0.5, "kept": 1, "all": 2}
    fidelity = {
        "paper": {"numbers": 0.91},
        "answered": {"numbers": share},
        "stored": {"numbers": {"share": None, "kept": 0, "all": 0}},
        "sections": {"rewritten": 3},
        "characters": {"original": 10, "restructured": 9},
    }
    return CollectionResult(
        name=name,
        statement="10 of 20 queries",
        digest="abc",
        markup="markdown",
        queries=10,
        cells=cells,
        costs=costs,
        shape=Shape(13.4, 5_000.0, 50.0, 0.9) if full else None,
        prediction=Prediction("saturated", "-", "raw"),
        density=(Compared("stop-word ratio", 0.4, 0.2),) if full else (),
        fidelity=fidelity if full else {},
        evidence=(Compared("nDCG@5", 0.1, 0.2, mean_interval([0.1, 0.1, 0.2])),) if full else (),
        answers={"raw-raw": mean_interval([0.1, 0.2])} if full else {},
        left_out=("Nothing else.",),
    )
