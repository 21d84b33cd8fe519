"""Short ways to documents, rows and texts for tests of operators."""

from typing import Any

from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document, Row
from idxopt.operators.tables import EMPTY_TABLES, Tables
from tests.unit.program.programs import program


def document(body: str, title: str = "Title", doc_id: str = "doc", **more: Any) -> Document:
    return Document(doc_id, {"title": title, "text": body, **more})


def rows(step: dict[str, Any], body: str, *, markup: str = "markdown", tables: Tables = EMPTY_TABLES) -> list[Row]:
    """The rows that one step makes of a body."""
    return Interpreter(program([step], markup=markup), "parts", tables).rows(document(body))


def texts(step: dict[str, Any], body: str, *, markup: str = "markdown") -> list[str]:
    """The bodies of the rows that one step makes of a body."""
    return [row.fields["body"] for row in rows(step, body, markup=markup)]


def field(step: dict[str, Any], body: str, *, markup: str = "markdown", tables: Tables = EMPTY_TABLES) -> Any:
    """What one step that makes one row writes: to `into`, or to `body`."""
    (row,) = rows(step, body, markup=markup, tables=tables)
    return row.fields[step.get("into", "body")]
