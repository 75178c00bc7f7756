"""Directories as mappings: every file with its bytes, and how to make one by hand."""

from collections.abc import Mapping
from pathlib import Path


def read_tree(root: Path) -> dict[str, bytes]:
    """Every file below the root, by its name there."""
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }


def write_tree(root: Path, files: Mapping[str, bytes | str]) -> None:
    """The files, and the folders above them."""
    for name, data in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())


def modes(root: Path) -> set[tuple[str, int]]:
    """What kind of entries there are, with their modes."""
    return {
        ("folder" if entry.is_dir() else "file", entry.stat().st_mode & 0o7777)
        for entry in (root, *root.rglob("*"))
    }
