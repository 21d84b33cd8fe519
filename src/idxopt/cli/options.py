"""Options and arguments that several commands share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from idxopt.errors import UsageError

GATE = "Quality gate"
WRITES = "Writes of applications"
APPROVAL = "Approval"

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def one_name(value: str) -> str:
    """A public name as it is. Raises UsageError for a pattern, a list, or an index of ours."""
    if _NAME.fullmatch(value) is None:
        if (held := _name_in(value)) is not None:
            raise UsageError(f"{value!r} is a file, no name", place="NAME", remedy=f"give the name in it: {held}")
        raise UsageError(
            f"{value!r} is no name of a program",
            place="NAME",
            remedy="give one name exactly; patterns are not accepted",
        )
    return value


def _name_in(value: str) -> str | None:
    """The name in a program.json."""
    try:
        name = json.loads(Path(value).read_bytes())["name"]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def one_query(value: str) -> str:
    """A query with something in it. Raises UsageError."""
    if not value.strip():
        raise UsageError("the query is empty", place="QUERY", remedy='give words in quotes, as in "rotate api keys"')
    return value


def one_arm(value: str | None) -> Literal["incumbent", "candidate"] | None:
    """`--arm`. Raises UsageError."""
    match value:
        case None | "incumbent" | "candidate":
            return value
    raise UsageError(f"{value!r} is no arm of a canary", place="--arm", remedy="write incumbent or candidate")


Query: TypeAlias = Annotated[
    str, typer.Argument(metavar="QUERY", callback=one_query, help="What a user would type, in quotes.")
]
Name: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", callback=one_name, help="Public name: the `name` of the program.")
]
Program: TypeAlias = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program.json.")]
Source: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="PLACE",
        help="Documents: a file (JSON Lines, JSON, CSV, TSV, Parquet), a folder, a BEIR folder, or index:NAME. "
        "Default: `source` of the cluster profile.",
    ),
]
View: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--view", metavar="NAME", help="Build this view only (repeatable); aliases still move together."),
]
Rebuild: TypeAlias = Annotated[
    bool, typer.Option("--rebuild", help="New indices from the data as it is now, even where the program is unchanged.")
]
TakeOver: TypeAlias = Annotated[
    str | None,
    typer.Option("--take-over", metavar="INDEX", help="Take the alias of the public name over from this index."),
]
Full: TypeAlias = Annotated[bool, typer.Option("--full", help="Do not shorten long values.")]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", rich_help_panel=APPROVAL, help="Do not ask for the word yes.")
]
AutoApprove: TypeAlias = Annotated[bool, typer.Option("--auto-approve", hidden=True)]
Confirm: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--confirm", metavar="NAME", rich_help_panel=APPROVAL, help="The name that would be asked for (for scripts)."
    ),
]
CarryWrites: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--carry-writes",
        rich_help_panel=WRITES,
        help="Bring along what applications wrote through the alias since the last switch.",
    ),
]
DiscardWrites: TypeAlias = Annotated[
    bool, typer.Option("--discard-writes", rich_help_panel=WRITES, help="Leave those writes behind.")
]
LockTimeout: TypeAlias = Annotated[
    str,
    typer.Option("--lock-timeout", metavar="TIME", help="How long to wait for the lock of another run: 30, 30s, 3m."),
]
Budget: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="MONEY",
        min=0.0,
        max=1_000_000.0,
        help="Most to spend on generated texts, over all runs of this program on these documents, in the currency of "
        "the model's prices. Default: no limit.",
    ),
]
Keep: TypeAlias = Annotated[
    int | None, typer.Option("--keep", min=0, max=100, help="Old builds to keep; default: the profile's (1).")
]
AllowRejected: TypeAlias = Annotated[
    int, typer.Option("--allow-rejected", min=0, metavar="N", help="Go on without at most N bad documents.")
]
Message: TypeAlias = Annotated[str, typer.Option("-m", "--message", metavar="TEXT", help="Why, for the history.")]
NoRerank: TypeAlias = Annotated[
    bool, typer.Option("--no-rerank", help="Leave out the program's reranking: the order is that of the fusion.")
]
ArmChoice: TypeAlias = Annotated[
    str | None,
    typer.Option("--arm", metavar="ARM", help="While a canary runs: ask the incumbent or the candidate, no other."),
]
DocumentId: TypeAlias = Annotated[str, typer.Option("--id", metavar="PATH", help="Path of the document id.")]
Markup: TypeAlias = Annotated[str, typer.Option("--markup", help="markdown, html, rest, asciidoc or text.")]
Queries: TypeAlias = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Queries: BEIR, TREC or a table.")
]
Qrels: TypeAlias = Annotated[
    Path | None, typer.Option("--qrels", metavar="FILE", help="Judgments: BEIR, TREC or a table.")
]
Dataset: TypeAlias = Annotated[
    Path | None,
    typer.Option("--dataset", metavar="FOLDER", help="A BEIR folder instead of --queries and --qrels."),
]
Split: TypeAlias = Annotated[
    str | None,
    typer.Option("--split", metavar="NAME", help="Split of the folder's judgments. Default: test, or the only one."),
]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="Such as nDCG@10 or Recall@100 (repeatable). Default: five of them."),
]
Depth: TypeAlias = Annotated[int, typer.Option("--depth", min=1, max=10_000, help="Documents of a ranking.")]
