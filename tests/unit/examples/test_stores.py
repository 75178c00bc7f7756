"""The example stores: the good one passes, the careless one does not, and the page is them."""

import ast
import subprocess
import sys

from examples.sqlite_store import TestConversations, TestDocuments
from tests.support.markdown import REPOSITORY, fences

__all__ = ["TestConversations", "TestDocuments"]

EXAMPLE = REPOSITORY / "examples/sqlite_store.py"
CARELESS = REPOSITORY / "examples/careless_store.py"
PAGE = (REPOSITORY / "docs/howto/write-a-store.md").read_text()
# What an author of a store needs: Python, the kits' runner, and the two facades.
FACADES = {"pytest", "commonhold.conformance", "commonhold.contract"}


def test_the_example_imports_the_standard_library_and_the_facades() -> None:
    imports = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(EXAMPLE.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    others = {name for name in imports if (name or "").split(".")[0] not in sys.stdlib_module_names}
    assert others == FACADES


def test_the_code_of_the_page_is_the_file() -> None:
    *blocks, careless = fences(PAGE, "python")
    rest = EXAMPLE.read_text()
    for block in blocks:
        rest = rest.lstrip("\n")
        assert rest.startswith(block)
        rest = rest.removeprefix(block)
    assert rest == ""
    assert careless == CARELESS.read_text()


def test_the_kit_finds_the_careless_store_and_says_what_the_page_says() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "since", CARELESS],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = "\n".join(line.removeprefix("E").strip() for line in run.stdout.splitlines())
    shown = "\n".join(line.strip() for line in fences(PAGE, "text")[-1].splitlines())
    assert run.returncode == 1
    assert shown in said
