"""The settings that several services have, each stated once (docs/reference/settings.md)."""

from typing import Annotated, TypeAlias

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.logging import LEVELS
from commonhold.ops.settings import (
    FILE_SUFFIX,
    Secret,
    Setting,
    database,
    one_of,
    schema_name,
    seconds,
    service_url,
    source_revision,
    whole_number,
)
from commonhold.ops.tokens import TokenEntry, parse_token_table


def _no_grants(_text: str) -> None:
    raise ValueError(
        "must be unset: this release serves no grants, and ignoring them would serve too much"
    )


Dsn: TypeAlias = Annotated[Secret, Setting("NEOSIAN_POSTGRES_DSN", database, "the database")]
OptionalDsn: TypeAlias = Annotated[
    Secret | None, Setting("NEOSIAN_POSTGRES_DSN", database, "the database")
]
StateUrl: TypeAlias = Annotated[
    str | None,
    Setting("COMMONHOLD_STATE_URL", service_url, "a state service, in place of the database"),
]
ClientToken: TypeAlias = Annotated[
    Secret | None, Setting("NEOSIAN_CLIENT_TOKEN", Secret, "token for that state service")
]
Tokens: TypeAlias = Annotated[
    tuple[TokenEntry, ...],
    Setting("NEOSIAN_SERVE_TOKEN", parse_token_table, "token or token table"),
]
PreviousTokens: TypeAlias = Annotated[
    tuple[TokenEntry, ...],
    Setting(
        "COMMONHOLD_SERVE_TOKEN_PREVIOUS",
        parse_token_table,
        "a second token table that is accepted too, for rotation",
    ),
]
Grants: TypeAlias = Annotated[
    None, Setting("NEOSIAN_SERVE_GRANTS", _no_grants, "reserved: must be unset or empty")
]
Schema: TypeAlias = Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "Postgres schema")]
PoolSize: TypeAlias = Annotated[
    int, Setting("COMMONHOLD_POOL_SIZE", whole_number(1, 1000), "connections to the database")
]
PoolWaitSeconds: TypeAlias = Annotated[
    float,
    Setting(
        "COMMONHOLD_POOL_WAIT_SECONDS", seconds(0.01, 60), "longest wait for a connection, then 503"
    ),
]
StatementTimeoutSeconds: TypeAlias = Annotated[
    float,
    Setting(
        "COMMONHOLD_STATEMENT_TIMEOUT_SECONDS",
        seconds(0.1, 3600),
        "longest statement, then 503; not for erasures, restores and large appends",
    ),
]
InFlightLimit: TypeAlias = Annotated[
    int,
    Setting("COMMONHOLD_IN_FLIGHT_LIMIT", whole_number(1, 100_000), "requests at a time, then 503"),
]
InFlightBytes: TypeAlias = Annotated[
    int,
    Setting(
        "COMMONHOLD_IN_FLIGHT_BYTES",
        whole_number(1),
        "bytes of bodies over 64 KiB held at a time, then 503",
    ),
]
BodyTimeoutSeconds: TypeAlias = Annotated[
    float,
    Setting(
        "COMMONHOLD_BODY_TIMEOUT_SECONDS",
        seconds(0.01, 3600),
        "longest time for a body to arrive, then 408",
    ),
]
DrainSeconds: TypeAlias = Annotated[
    float,
    Setting(
        "COMMONHOLD_DRAIN_SECONDS",
        seconds(0, 3600),
        "time for running requests to finish after SIGTERM",
    ),
]
Revision: TypeAlias = Annotated[
    str,
    Setting(
        "COMMONHOLD_REVISION",
        source_revision,
        "what was built, as commonhold_build_info shows it",
    ),
]
LogLevel: TypeAlias = Annotated[
    str, Setting("COMMONHOLD_LOG_LEVEL", one_of(*LEVELS), "least severe event to log")
]
LogFormat: TypeAlias = Annotated[
    str | None,
    Setting(
        "COMMONHOLD_LOG_FORMAT",
        one_of("json", "console"),
        "form of the log; by default console on a terminal, else json",
    ),
]


class StateService(msgspec.Struct, frozen=True):
    """Where a state service is, and the token for it."""

    url: str
    token: Secret


def place_of_store(
    *, dsn: Secret | None, state_url: str | None, client_token: Secret | None
) -> Secret | StateService:
    """The one place where the store is; ConfigurationError for none, and for both."""
    if dsn is not None and state_url is not None:
        raise ConfigurationError(
            "NEOSIAN_POSTGRES_DSN and COMMONHOLD_STATE_URL are both set: name one place"
        )
    if dsn is not None:
        return dsn
    if state_url is None:
        raise ConfigurationError(
            f"NEOSIAN_POSTGRES_DSN must be set (or NEOSIAN_POSTGRES_DSN{FILE_SUFFIX}),"
            " or COMMONHOLD_STATE_URL"
        )
    if client_token is None:
        raise ConfigurationError(
            "COMMONHOLD_STATE_URL needs NEOSIAN_CLIENT_TOKEN"
            f" (or NEOSIAN_CLIENT_TOKEN{FILE_SUFFIX})"
        )
    return StateService(state_url, client_token)
