"""Reading the running Python's standard library as documentation: source text only, nothing is imported.

A module becomes a `ModuleDoc`: its docstring, and its public classes, methods and functions with signature and
docstring, in the order of the source.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from idxopt.errors import SourceError

_SKIPPED_FOLDERS = frozenset({"test", "tests", "idle_test", "site-packages", "dist-packages", "lib-dynload"})
"""Tests and what is installed beside the library; names with a leading underscore are skipped too."""
_SKIPPED_MODULES = frozenset(
    {"antigravity", "this", "encodings", "pydoc_data"}
    | {"distutils", "ensurepip", "idlelib", "lib2to3", "msilib", "tkinter", "turtle", "turtledemo", "venv"}
)
"""Jokes, tables, and packages that newer versions or many distributions leave out."""


@dataclass(frozen=True)
class Definition:
    """A public class, function or method; `docstring` is cleaned as `inspect.getdoc` does."""

    kind: Literal["class", "function", "method"]
    name: str
    qualified_name: str
    signature: str
    docstring: str


@dataclass(frozen=True)
class ModuleDoc:
    """One module of the library, such as `json.decoder`."""

    name: str
    docstring: str
    definitions: tuple[Definition, ...]


def read_modules(folder: Path | None = None) -> Iterator[ModuleDoc]:
    """Yield the public modules that have any docstring, sorted by name.

    `folder` is the library to read, by default that of the running Python. Files that this Python cannot parse are
    skipped. Raises SourceError where there is no source to read.
    """
    library = folder if folder is not None else Path(sysconfig.get_path("stdlib"))
    found = False
    for name, path in sorted(_public_files(library)):
        module = _parse(name, path)
        if module is not None:
            found = True
            yield module
    if not found:
        raise SourceError(
            "holds no Python source with docstrings (embedded Pythons keep the library in a zip file)",
            remedy="run the demo with a Python from python.org, a Linux distribution, pyenv, conda or uv",
            place=str(library),
        )


def _public_files(library: Path) -> Iterator[tuple[str, Path]]:
    for folder, subfolders, files in os.walk(library):
        subfolders[:] = [name for name in subfolders if _public(name) and name not in _SKIPPED_FOLDERS]
        packages = Path(folder).relative_to(library).parts
        for file in files:
            module, dot, suffix = file.rpartition(".")
            names = packages if module == "__init__" else (*packages, module)
            if dot and suffix == "py" and names and all(map(_public, names)) and _wanted(names[0]):
                yield ".".join(names), Path(folder, file)


def _wanted(package: str) -> bool:
    return package in sys.stdlib_module_names and package not in _SKIPPED_MODULES


def _parse(name: str, path: Path) -> ModuleDoc | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in the library's own strings
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return None
    module = ModuleDoc(name, ast.get_docstring(tree) or "", tuple(_definitions(tree)))
    return module if module.docstring or any(item.docstring for item in module.definitions) else None


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _public(node.name):
            yield _function("function", node, "")
        elif isinstance(node, ast.ClassDef) and _public(node.name):
            yield Definition("class", node.name, node.name, _class_signature(node), ast.get_docstring(node) or "")
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and _public(member.name):
                    yield _function("method", member, f"{node.name}.")


def _function(
    kind: Literal["function", "method"], node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str
) -> Definition:
    docstring = ast.get_docstring(node) or ""
    return Definition(kind, node.name, owner + node.name, _function_signature(node), docstring)


def _public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _function_signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returns}"


def _class_signature(node: ast.ClassDef) -> str:
    bases = ", ".join(ast.unparse(base) for base in (*node.bases, *node.keywords))
    return f"class {node.name}({bases})" if bases else f"class {node.name}"
