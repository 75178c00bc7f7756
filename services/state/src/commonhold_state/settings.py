"""The settings of the state service (docs/reference/settings.md, section 1)."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.logging import LEVELS
from commonhold.ops.settings import (
    Address,
    Secret,
    Setting,
    address,
    database,
    one_of,
    port,
    read_settings,
    schema_name,
    seconds,
    source_revision,
    whole_number,
)
from commonhold_state.tokens import TokenEntry, parse_token_table


def _no_grants(_text: str) -> None:
    raise ValueError(
        "must be unset: this release serves no grants, and ignoring them would serve too much"
    )


class StateSettings(msgspec.Struct, frozen=True, kw_only=True):
    dsn: Annotated[Secret, Setting("NEOSIAN_POSTGRES_DSN", database, "the database")]
    tokens: Annotated[
        tuple[TokenEntry, ...],
        Setting("NEOSIAN_SERVE_TOKEN", parse_token_table, "token or token table"),
    ]
    previous_tokens: Annotated[
        tuple[TokenEntry, ...],
        Setting(
            "COMMONHOLD_SERVE_TOKEN_PREVIOUS",
            parse_token_table,
            "a second token table that is accepted too, for rotation",
        ),
    ] = ()
    grants: Annotated[
        None, Setting("NEOSIAN_SERVE_GRANTS", _no_grants, "reserved: must be unset or empty")
    ] = None
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "Postgres schema")] = (
        "commonhold"
    )
    listen: Annotated[
        Address, Setting("COMMONHOLD_STATE_LISTEN", address, "address of the wire")
    ] = Address("127.0.0.1", 6367)
    ops_listen: Annotated[
        Address,
        Setting("COMMONHOLD_STATE_OPS_LISTEN", address, "address of /livez, /readyz, /metrics"),
    ] = Address("127.0.0.1", 9367)
    pool_size: Annotated[
        int,
        Setting("COMMONHOLD_POOL_SIZE", whole_number(1, 1000), "connections to the database"),
    ] = 24
    pool_wait_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_POOL_WAIT_SECONDS",
            seconds(0.01, 60),
            "longest wait for a connection, then 503",
        ),
    ] = 2.0
    statement_timeout_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_STATEMENT_TIMEOUT_SECONDS",
            seconds(0.1, 3600),
            "longest statement, then 503; not for erasures and restores",
        ),
    ] = 30.0
    in_flight_limit: Annotated[
        int,
        Setting(
            "COMMONHOLD_IN_FLIGHT_LIMIT", whole_number(1, 100_000), "requests at a time, then 503"
        ),
    ] = 512
    in_flight_bytes: Annotated[
        int,
        Setting(
            "COMMONHOLD_IN_FLIGHT_BYTES",
            whole_number(1),
            "bytes of bodies over 64 KiB held at a time, then 503",
        ),
    ] = 268435456
    body_timeout_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_BODY_TIMEOUT_SECONDS",
            seconds(0.01, 3600),
            "longest time for a body to arrive, then 408",
        ),
    ] = 30.0
    drain_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_DRAIN_SECONDS",
            seconds(0, 3600),
            "time for running requests to finish after SIGTERM",
        ),
    ] = 20.0
    revision: Annotated[
        str,
        Setting(
            "COMMONHOLD_REVISION",
            source_revision,
            "what was built, as commonhold_build_info shows it",
        ),
    ] = "unknown"
    log_level: Annotated[
        str, Setting("COMMONHOLD_LOG_LEVEL", one_of(*LEVELS), "least severe event to log")
    ] = "info"
    log_format: Annotated[
        str | None,
        Setting(
            "COMMONHOLD_LOG_FORMAT",
            one_of("json", "console"),
            "form of the log; by default console on a terminal, else json",
        ),
    ] = None


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
