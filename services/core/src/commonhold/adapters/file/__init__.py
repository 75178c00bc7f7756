"""The ports over a directory of markdown and JSON lines (docs/reference/filestore.md)."""

from commonhold.adapters.file.store import FileStore

__all__ = ["FileStore"]
