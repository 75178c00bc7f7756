"""The composition root of verbs that work on a store: the one place that opens it."""

import importlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

import msgspec

from commonhold.adapters.postgres import Pool, PostgresStore
from commonhold.cli.client_settings import check_url, read_client_token
from commonhold.cli.errors import CommandError, UsageError
from commonhold.contract.errors import ConfigurationError
from commonhold.contract.ids import check_schema_name
from commonhold.contract.stores import ConversationStore, MemoryStore
from commonhold.migrations import explain, is_compatible
from commonhold.ops.settings import (
    Secret,
    Setting,
    database,
    existing_folder,
    read_settings,
    read_text,
    refuse_unknown,
    schema_name,
)

_CONNECTIONS = 4
_DSN = "NEOSIAN_POSTGRES_DSN"
_REMOTE_PACKAGES = frozenset({"aiohttp", "yarl"})
_FILE_PACKAGES = frozenset({"yaml"})


class DatabaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    dsn: Annotated[Secret, Setting(_DSN, database, "the database")]
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "Postgres schema")] = (
        "commonhold"
    )


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    token: Secret


class RootSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A directory, which a store of files makes when it writes to one that is not there."""

    root: Path


StoreSettings: TypeAlias = DatabaseSettings | ServiceSettings | RootSettings


class OperatedStore(MemoryStore, ConversationStore, Protocol):
    """Both seams; what a verb needs beside them it asks for by name."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A store, and whom its service takes the caller for; nobody without one."""

    store: OperatedStore
    client: str | None = None


def read_store_settings(
    environment: Mapping[str, str], *, url: str | None, root: Path | None, schema: str | None
) -> StoreSettings:
    """The one store that flags and environment name (docs/reference/cli.md, section 11).

    `schema` wins over the environment. Raises UsageError for none, for two and for a wrong
    one, or ConfigurationError; opens nothing.
    """
    has_dsn = bool(read_text(environment, _DSN))
    named = {_DSN: has_dsn, "--root": root is not None, "--url": url is not None}
    places = [name for name, is_named in named.items() if is_named]
    if not places:
        raise UsageError(f"name a store: set {_DSN} (or {_DSN}_FILE), --url or --root")
    if len(places) > 1:
        raise UsageError(f"{places[0]} and {places[1]} are mutually exclusive")
    if _DSN in places:
        return read_database_settings(environment, schema=schema)
    if schema is not None:
        raise UsageError("--schema applies only to Postgres (unset --root/--url)")
    refuse_unknown(environment)
    if root is not None:
        return _root_settings(root)
    return _service_settings(environment, url or "")


def read_database_settings(
    environment: Mapping[str, str], *, schema: str | None = None
) -> DatabaseSettings:
    """The database alone; `schema` wins over the environment. Raises ConfigurationError."""
    settings = read_settings(DatabaseSettings, environment)
    if schema is None:
        return settings
    return msgspec.structs.replace(settings, schema=check_schema_name(schema))


@asynccontextmanager
async def open_store(settings: StoreSettings) -> AsyncIterator[Opened]:
    """The store, closed at the end; CommandError when it cannot be worked with."""
    try:
        async with _opening(settings) as opened:
            yield opened
    except ConfigurationError as error:
        # The invocation was right: what it names is of another release, wire or capability.
        raise CommandError(f"[{error.code}] {error}") from error


def _opening(settings: StoreSettings) -> AbstractAsyncContextManager[Opened]:
    match settings:
        case ServiceSettings():
            return _open_service(settings)
        case RootSettings():
            return _open_root(settings)
        case DatabaseSettings():
            return _open_database(settings)


def _service_settings(environment: Mapping[str, str], url: str) -> ServiceSettings:
    checked = check_url(url)
    return ServiceSettings(url=checked, token=Secret(read_client_token(environment)))


def _root_settings(root: Path) -> RootSettings:
    try:
        return RootSettings(root=existing_folder(str(root)))
    except ValueError as error:
        raise UsageError(f"--root {error}") from None


@asynccontextmanager
async def _open_database(settings: DatabaseSettings) -> AsyncIterator[Opened]:
    pool = await Pool.open(settings.dsn.reveal(), size=_CONNECTIONS)
    try:
        store = PostgresStore(pool, schema=settings.schema)
        state = await store.schema_state()
        if not is_compatible(state):
            raise CommandError(explain(state, schema=settings.schema))
        yield Opened(store=store)
    finally:
        await pool.close()


@asynccontextmanager
async def _open_root(settings: RootSettings) -> AsyncIterator[Opened]:
    try:
        files = importlib.import_module("commonhold.adapters.file")
    except ModuleNotFoundError as error:
        if error.name not in _FILE_PACKAGES:
            raise
        raise UsageError("--root needs: pip install 'commonhold[files]'") from None
    async with files.FileStore(settings.root) as store:
        yield Opened(store=store)


@asynccontextmanager
async def _open_service(settings: ServiceSettings) -> AsyncIterator[Opened]:
    try:
        remote = importlib.import_module("commonhold.adapters.remote")
    except ModuleNotFoundError as error:
        if error.name not in _REMOTE_PACKAGES:
            raise
        raise UsageError("--url needs: pip install 'commonhold[remote]'") from None
    async with remote.remote_store(settings.url, settings.token) as store:
        yield Opened(store=store, client=store.client)
