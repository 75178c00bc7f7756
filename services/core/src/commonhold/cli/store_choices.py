"""Which store a transfer works on: a database, a service by its URL, or a directory.

docs/reference/cli.md, section 9. Everything is checked before anything is opened.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from commonhold.adapters.file import FileStore
from commonhold.cli.errors import CommandError, UsageError
from commonhold.cli.stores import Opened, StoreSettings, open_store, read_store_settings
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import read_text

StoreChoice: TypeAlias = StoreSettings | Path

_DSN = "NEOSIAN_POSTGRES_DSN"


def choose_store(
    environment: Mapping[str, str],
    *,
    url: str | None,
    root: Path | None,
    schema: str | None,
) -> StoreChoice:
    """The one store that flags and environment name; UsageError for none and for two."""
    has_dsn = bool(read_text(environment, _DSN))
    if root is None:
        if url is None and not has_dsn:
            raise UsageError(f"name a store: set {_DSN} (or {_DSN}_FILE), --url or --root")
        return read_store_settings(environment, url=url, schema=schema)
    for name, is_named in (("--url", url is not None), (_DSN, has_dsn)):
        if is_named:
            raise UsageError(f"--root and {name} are mutually exclusive")
    if schema is not None:
        raise UsageError("--schema applies only to Postgres (unset --root)")
    if not root.is_dir():
        raise UsageError(f"--root: {root} is not a directory")
    return root


@asynccontextmanager
async def open_choice(choice: StoreChoice) -> AsyncIterator[Opened]:
    """The store, closed with the block; CommandError when it cannot be worked with."""
    try:
        if isinstance(choice, Path):
            async with files_at(choice) as files:
                yield Opened(store=files)
        else:
            async with open_store(choice) as opened:
                yield opened
    except ConfigurationError as error:
        # The invocation was right: what it names lacks something.
        raise CommandError(f"[{error.code}] {error}") from error


def files_at(folder: Path) -> FileStore:
    """The archive in a folder, which need not exist yet."""
    return FileStore(folder)
