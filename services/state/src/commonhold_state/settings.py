"""The settings of the state service (docs/reference/settings.md, section 1)."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.service_settings import (
    BodyTimeoutSeconds,
    DrainSeconds,
    Dsn,
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
from commonhold.ops.settings import Address, Setting, address, port, read_settings, schema_name


class StateSettings(msgspec.Struct, frozen=True, kw_only=True):
    dsn: Dsn
    tokens: Tokens
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
    flags = _parser().parse_args(arguments)
    settings = read_settings(StateSettings, environ)
    listen = Address(
        settings.listen.host if flags.host is None else flags.host,
        settings.listen.port if flags.port is None else _flag("--port", flags.port),
    )
    schema = settings.schema if flags.schema is None else _schema_flag(flags.schema)
    return msgspec.structs.replace(settings, listen=listen, schema=schema)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="commonhold-state",
        description="The state service: wire 6 over HTTP. Settings come from the environment.",
    )
    parser.add_argument("--host", help="address to listen on, instead of COMMONHOLD_STATE_LISTEN")
    parser.add_argument("--port", help="port to listen on, instead of COMMONHOLD_STATE_LISTEN")
    parser.add_argument("--schema", help="Postgres schema, instead of COMMONHOLD_SCHEMA")
    return parser


def _flag(name: str, text: str) -> int:
    try:
        return port(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}") from None


def _schema_flag(text: str) -> str:
    try:
        return schema_name(text)
    except ValueError as error:
        raise ConfigurationError(f"--schema {error}") from None
