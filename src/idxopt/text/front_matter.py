"""Front matter: the metadata block that static site generators put before a document's body."""

from __future__ import annotations

from idxopt.text.blocks import Lines, skip_bom

_CLOSING = {"---": ("---", "..."), "+++": ("+++",)}
_MAX_LINES = 1_000


def front_matter_end(text: str) -> int:
    """Where the body begins: behind a byte order mark and front matter.

    Front matter opens with a first line `---` (YAML) or `+++` (TOML) and closes with the next line `---` or `...`, or
    `+++`, within 1,000 lines. The line after the opening one must not be blank, so that a thematic break is none, and
    must look like metadata: a key with `:` (YAML) or `=` (TOML), a comment, a table, or the closing line itself.
    """
    begin = skip_bom(text)
    opening = text[begin : begin + 3]
    if opening not in _CLOSING:
        return begin
    lines = Lines(text, begin, limit=_MAX_LINES)
    if lines[0].rstrip(" \t") != opening or len(lines) < 2 or not _is_metadata(lines[1], opening):
        return begin
    for number in range(1, len(lines)):
        if lines[number].rstrip(" \t") in _CLOSING[opening]:
            return lines.start(number + 1)
    return begin


def _is_metadata(line: str, opening: str) -> bool:
    line = line.strip(" \t")
    if not line:
        return False
    if line.startswith("#") or line in _CLOSING[opening]:
        return True
    if opening == "+++":
        return "=" in line or line.startswith("[")
    key, colon, value = line.partition(":")
    return bool(colon) and (not value or value[0] in " \t") and " " not in key.strip("\"'").strip()
