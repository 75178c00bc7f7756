"""The settings of the state service (docs/reference/settings.md, section 1)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from commonhold.ops.flags import listen_of, listening_parser, schema_of
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
from commonhold.ops.settings import Address, Setting, address, read_settings


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
    parser = listening_parser(
        "commonhold-state",
        description="The state service: wire 6 over HTTP. Settings come from the environment.",
        listen="COMMONHOLD_STATE_LISTEN",
    )
    flags = parser.parse_args(arguments)
    settings = read_settings(StateSettings, environ)
    return msgspec.structs.replace(
        settings,
        listen=listen_of(flags, settings.listen),
        schema=schema_of(flags, settings.schema),
    )
