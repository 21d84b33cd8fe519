"""Reading a library as documentation: what is taken, what is left, and that nothing is run."""

import pytest

from idxopt.demo.stdlib import read_modules
from idxopt.errors import SourceError

SOURCE = '''"""Encode and decode."""
raise SystemExit("a module that is imported would end the tests")

def dump(obj, *, indent: int = 2) -> str:
    """Write it.

    More:
        kept as it is
    """

async def fetch(url): "Get it."

def _private(): "Hidden."

class Decoder(Base, metaclass=Meta):
    """Reads."""

    def decode(self, text):
        """Decode one."""

    def _scan(self): "Hidden."
'''


@pytest.fixture
def library(tmp_path):
    for name, text in {
        "json/__init__.py": SOURCE,
        "json/tool.py": '"""A tool."""',
        "json/_private.py": '"""Hidden."""',
        "json/tests/sample.py": '"""A test."""',
        "csv.py": "x = 1",
        "ast.py": "def broken(:",
        "site-packages/re.py": '"""Installed."""',
        "sitecustomize.py": '"""Not of the library."""',
        "tkinter/__init__.py": '"""Often left out."""',
        "README.txt": "no module",
        "abc.py": '"""With a null."""\x00',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_public_modules_with_docstrings_by_name(library):
    assert [module.name for module in read_modules(library)] == ["json", "json.tool"]


def test_definitions_in_the_order_of_the_source(library):
    module = next(read_modules(library))
    assert module.docstring == "Encode and decode."
    assert [(item.kind, item.qualified_name, item.signature, item.docstring) for item in module.definitions] == [
        ("function", "dump", "def dump(obj, *, indent: int=2) -> str", "Write it.\n\nMore:\n    kept as it is"),
        ("function", "fetch", "async def fetch(url)", "Get it."),
        ("class", "Decoder", "class Decoder(Base, metaclass=Meta)", "Reads."),
        ("method", "Decoder.decode", "def decode(self, text)", "Decode one."),
    ]


def test_a_library_without_source_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="no Python source") as caught:
        list(read_modules(tmp_path))
    assert caught.value.remedy


def test_the_running_python_has_modules_enough():
    names = [module.name for module in read_modules()]
    assert 200 <= len(names) <= 500
    assert {"json", "json.decoder", "argparse", "heapq", "email.message"} <= set(names)
    assert names == sorted(set(names))
    assert not any("test" in name.split(".") or "._" in name for name in names)
