"""Which store a verb works on: a database, a service by its URL, or a directory.

docs/reference/cli.md, section 9. Everything is checked before anything is opened.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from commonhold.adapters.file import FileStore
from commonhold.adapters.postgres import PostgresStore
from commonhold.adapters.remote import RemoteStore, remote_store
from commonhold.cli.client_settings import check_url, read_client_token
from commonhold.cli.errors import CommandError, UsageError
from commonhold.cli.stores import StoreSettings, open_store, read_store_settings
from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import Secret, read_text

AnyStore: TypeAlias = PostgresStore | RemoteStore | FileStore

_DSN = "NEOSIAN_POSTGRES_DSN"


class StoreChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one of `database`, `url` with its `token`, and `root`."""

    database: StoreSettings | None = None
    url: str = ""
    token: Secret | None = None
    root: Path | None = None


def choose_store(
    environment: Mapping[str, str],
    *,
    url: str | None,
    root: Path | None,
    schema: str | None,
) -> StoreChoice:
    """The one store that flags and environment name; UsageError for none and for two."""
    has_dsn = bool(read_text(environment, _DSN))
    named = [
        name for name, is_named in (("--root", root), ("--url", url), (_DSN, has_dsn)) if is_named
    ]
    if len(named) > 1:
        raise UsageError(f"{named[0]} and {named[1]} are mutually exclusive")
    if schema is not None and not has_dsn:
        raise UsageError("--schema applies only to Postgres (unset --root/--url)")
    if url is not None:
        return StoreChoice(url=check_url(url), token=Secret(read_client_token(environment)))
    if root is not None:
        if not root.is_dir():
            raise UsageError(f"--root: {root} is not a directory")
        return StoreChoice(root=root)
    if not has_dsn:
        raise UsageError(f"name a store: set {_DSN} (or {_DSN}_FILE), --url or --root")
    return StoreChoice(database=read_store_settings(environment, schema=schema))


@asynccontextmanager
async def open_choice(choice: StoreChoice) -> AsyncIterator[AnyStore]:
    """The store, closed with the block; CommandError when it cannot be worked with."""
    try:
        if choice.database is not None:
            async with open_store(choice.database) as store:
                yield store
        elif choice.token is not None:
            async with remote_store(choice.url, choice.token) as remote:
                yield remote
        elif choice.root is not None:
            async with FileStore(choice.root) as files:
                yield files
    except ConfigurationError as error:
        # The invocation was right: what it names lacks something, or refuses the token.
        raise CommandError(f"[{error.code}] {error}") from error


def client_of(store: AnyStore) -> str | None:
    """Who a service takes the caller for; None without one."""
    return store.client if isinstance(store, RemoteStore) else None


def files_at(folder: Path) -> FileStore:
    """The archive in a folder, which need not exist yet."""
    return FileStore(folder)
