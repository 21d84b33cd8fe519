"""HTML elements out of values: every text that is not `Html` already is escaped here and nowhere else.

Documents and queries are hostile input: markup, quotes, control characters, text that runs right to left.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

_VOID = frozenset({"br", "hr", "input", "link", "meta"})
# What HTML cannot hold, in numbers either, and lone surrogates, which no encoding can.
_UNREPRESENTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
# In JSON these stand in texts only, where an escape means the same character. Line ends between values stay.
_IN_JSON = re.compile("[<>&\u2028\u2029\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | Iterable[Child] | None"
Attribute: TypeAlias = "str | float | bool | None"


def escaped(text: str) -> Html:
    """Text as HTML, for contents and for quoted attributes. What HTML cannot hold becomes U+FFFD."""
    return Html(html.escape(_UNREPRESENTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")), quote=True))


def joined(*children: Child) -> Html:
    """Children one after the other."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str | int):
            parts.append(escaped(str(child)))
        else:
            parts.append(joined(*child))
    return Html("".join(parts))


def el(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element. Attributes: a final `_` is dropped, other `_` become `-`; True: without a value; None, False: none.

    Numbers are written short (`12.5`). Names come from the program, never from data.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{joined(*children)}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    assert _NAME.fullmatch(name), name
    if value is True:
        return f" {name}"
    text = value if isinstance(value, str) else f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"
    return f' {name}="{escaped(text)}"'


def foreign(text: str, **attributes: Attribute) -> Html:
    """Text of a document or a query: its direction is its own and does not leak into what stands around it."""
    return el("bdi", text, dir="auto", **attributes)


def marked(text: str, spans: Iterable[tuple[int, int]]) -> Html:
    """Foreign text with some spans (start, end in characters) marked; those that overlap or lie outside are cut."""
    parts: list[Child] = []
    done = 0
    for start, end in sorted(spans):
        first, last = max(done, start), min(end, len(text))
        if first < last:
            parts += [text[done:first], el("mark", text[first:last])]
            done = last
    return el("bdi", parts, text[done:], dir="auto")


def json_block(value: bytes | str, **attributes: Attribute) -> Html:
    """JSON that a script can read and that no text in it can leave."""
    text = value.decode() if isinstance(value, bytes) else value
    safe = _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return el("script", Html(safe), type="application/json", **attributes)


def table(
    caption: str,
    header: Iterable[Child],
    rows: Iterable[Iterable[Child]],
    *,
    note: str = "",
    texts: Collection[int] = (),
    row_attributes: Iterable[dict[str, Attribute]] | None = None,
    **attributes: Attribute,
) -> Html:
    """A table whose first column names the row, in a box of its own that scrolls. `texts`: columns (from 0) that hold
    text and not figures; their cells have the class `text`.
    """

    def kind(place: int) -> str | None:
        return "text" if place in texts else None

    head = el("tr", *(el("th", name, scope="col", class_=kind(place)) for place, name in enumerate(header)))
    lines = [list(row) for row in rows]
    extras = list(row_attributes) if row_attributes is not None else [{} for _ in lines]
    body = [
        el(
            "tr",
            el("th", line[0], scope="row"),
            *(el("td", cell, class_=kind(place)) for place, cell in enumerate(line[1:], 1)),
            **extra,
        )
        for line, extra in zip(lines, extras, strict=True)
    ]
    shown = el("table", el("caption", caption), el("thead", head), el("tbody", body), **attributes)
    box = el("div", shown, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return joined(box, el("p", note, class_="note") if note else None)
