"""The repository as the architecture tests read it: its root, its files, its imports."""

import ast
import functools
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MEMBERS = sorted(path.parent for path in ROOT.glob("services/*/pyproject.toml"))


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that is committed or about to be, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (Path(name) for name in listing.split("\0") if name)
    return tuple(path for path in paths if (ROOT / path).is_file())


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def imports_by_module() -> dict[str, frozenset[str]]:
    """Top-level names that each module of the members imports, by the module's dotted name."""
    return {
        name: frozenset(_imported_names(ast.parse(path.read_text())))
        for name, path in _modules().items()
    }


def _modules() -> dict[str, Path]:
    sources = [(member / "src", path) for member in MEMBERS for path in member.glob("src/**/*.py")]
    return {_dotted_name(path.relative_to(source)): path for source, path in sources}


def _dotted_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]
