"""The settings of the state service (docs/reference/settings.md, section 1)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.flags import listen_of, listening_parser, schema_of
from commonhold.ops.service_settings import (
    BodyTimeoutSeconds,
    DrainSeconds,
    Grants,
    InFlightBytes,
    InFlightLimit,
    LogFormat,
    LogLevel,
    PoolSize,
    PoolWaitSeconds,
    PreviousTokens,
    Revision,
    Schema,
    StatementTimeoutSeconds,
    Tokens,
)
from commonhold.ops.settings import (
    Address,
    Secret,
    Setting,
    address,
    database,
    existing_folder,
    read_settings,
)

DSN = "NEOSIAN_POSTGRES_DSN"
ROOT = "COMMONHOLD_ROOT"


class StateSettings(msgspec.Struct, frozen=True, kw_only=True):
    tokens: Tokens
    dsn: Annotated[Secret | None, Setting(DSN, database, "the database")] = None
    root: Annotated[
        Path | None,
        Setting(ROOT, existing_folder, "a directory of files in place of the database"),
    ] = None
    previous_tokens: PreviousTokens = ()
    grants: Grants = None
    schema: Schema = "commonhold"
    listen: Annotated[
        Address, Setting("COMMONHOLD_STATE_LISTEN", address, "address of the wire")
    ] = Address("127.0.0.1", 6367)
    ops_listen: Annotated[
        Address,
        Setting("COMMONHOLD_STATE_OPS_LISTEN", address, "address of /livez, /readyz, /metrics"),
    ] = Address("127.0.0.1", 9367)
    pool_size: PoolSize = 24
    pool_wait_seconds: PoolWaitSeconds = 2.0
    statement_timeout_seconds: StatementTimeoutSeconds = 30.0
    in_flight_limit: InFlightLimit = 512
    in_flight_bytes: InFlightBytes = 268435456
    body_timeout_seconds: BodyTimeoutSeconds = 30.0
    drain_seconds: DrainSeconds = 20.0
    revision: Revision = "unknown"
    log_level: LogLevel = "info"
    log_format: LogFormat = None


def load_settings(arguments: Sequence[str], environ: Mapping[str, str]) -> StateSettings:
    """Flags win over the environment. Raises ConfigurationError for anything bad."""
    parser = listening_parser(
        "commonhold-state",
        description="The state service: wire 6 over HTTP. Settings come from the environment.",
        listen="COMMONHOLD_STATE_LISTEN",
    )
    parser.add_argument("--root", help=f"a directory of files to serve, instead of {ROOT}")
    flags = parser.parse_args(arguments)
    settings = read_settings(StateSettings, environ)
    settings = msgspec.structs.replace(
        settings,
        root=_root_of(flags.root, settings.root),
        listen=listen_of(flags, settings.listen),
        schema=schema_of(flags, settings.schema),
    )
    _require_one_store(settings, root="--root" if flags.root else ROOT)
    return settings


def _root_of(flag: str | None, settled: Path | None) -> Path | None:
    if flag is None:
        return settled
    try:
        return existing_folder(flag)
    except ValueError as error:
        raise ConfigurationError(f"--root {error}") from None


def _require_one_store(settings: StateSettings, *, root: str) -> None:
    if settings.dsn is not None and settings.root is not None:
        raise ConfigurationError(f"{DSN} and {root} are mutually exclusive")
    if settings.dsn is None and settings.root is None:
        raise ConfigurationError(f"{DSN} must be set (or {DSN}_FILE), or {ROOT}")
