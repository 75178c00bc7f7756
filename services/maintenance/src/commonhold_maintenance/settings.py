"""The settings of the maintenance worker (docs/reference/settings.md, section 5)."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.service_settings import (
    ClientToken,
    DrainSeconds,
    LogFormat,
    LogLevel,
    OptionalDsn,
    PoolSize,
    PoolWaitSeconds,
    Revision,
    Schema,
    StatementTimeoutSeconds,
    StateService,
    StateUrl,
    place_of_store,
)
from commonhold.ops.settings import (
    Address,
    Secret,
    Setting,
    address,
    any_text,
    read_settings,
    schema_name,
    seconds,
    whole_number,
)


class MaintenanceSettings(msgspec.Struct, frozen=True, kw_only=True):
    gardens: Annotated[
        str, Setting("COMMONHOLD_GARDENS", any_text, "TOML file with the gardens and retention")
    ]
    dsn: OptionalDsn = None
    state_url: StateUrl = None
    client_token: ClientToken = None
    schema: Schema = "commonhold"
    ops_listen: Annotated[
        Address,
        Setting(
            "COMMONHOLD_MAINTENANCE_OPS_LISTEN", address, "address of /livez, /readyz, /metrics"
        ),
    ] = Address("127.0.0.1", 9369)
    lease_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_MAINTENANCE_LEASE_SECONDS",
            seconds(1, 3600),
            "how long a worker that says nothing keeps its scopes and its job",
        ),
    ] = 60.0
    poll_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_MAINTENANCE_POLL_SECONDS",
            seconds(0.05, 3600),
            "time between two looks at the queue",
        ),
    ] = 5.0
    pass_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_MAINTENANCE_PASS_SECONDS",
            seconds(0.1, 86400),
            "longest pass; what it did until then stays",
        ),
    ] = 3600.0
    circuit_failures: Annotated[
        int,
        Setting(
            "COMMONHOLD_MODEL_CIRCUIT_FAILURES",
            whole_number(1, 1000),
            "calls without an answer in the time below after which the model is left alone",
        ),
    ] = 3
    # So long that as many calls that hang for their whole time fall within it.
    circuit_seconds: Annotated[
        float,
        Setting(
            "COMMONHOLD_MODEL_CIRCUIT_SECONDS",
            seconds(1, 3600),
            "how long it is left alone, and how long such a call counts",
        ),
    ] = 300.0
    calls_per_minute: Annotated[
        int | None,
        Setting(
            "COMMONHOLD_MODEL_CALLS_PER_MINUTE",
            whole_number(1, 100_000),
            "most calls of the model, by all workers on the database; unset is no limit",
        ),
    ] = None
    pool_size: PoolSize = 4
    pool_wait_seconds: PoolWaitSeconds = 2.0
    statement_timeout_seconds: StatementTimeoutSeconds = 30.0
    drain_seconds: DrainSeconds = 20.0
    revision: Revision = "unknown"
    log_level: LogLevel = "info"
    log_format: LogFormat = None

    @property
    def place(self) -> Secret | StateService:
        """The database, or the state service that stands in for it."""
        return place_of_store(
            dsn=self.dsn, state_url=self.state_url, client_token=self.client_token
        )


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says: every pass once instead of by schedule, plans only."""

    once: bool = False
    dry_run: bool = False


def load_settings(
    arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[Options, MaintenanceSettings]:
    """Flags win over the environment. Raises ConfigurationError for anything bad."""
    flags = _parser().parse_args(arguments)
    settings = read_settings(MaintenanceSettings, environ)
    _ = settings.place
    if flags.schema is not None:
        settings = msgspec.structs.replace(settings, schema=_schema_flag(flags.schema))
    return Options(once=flags.mode == "once", dry_run=flags.dry_run), settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="commonhold-maintenance",
        description="The maintenance worker. Settings come from the environment.",
    )
    parser.add_argument(
        "mode", nargs="?", choices=["once"], help="run every pass once, now, and end"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="plan only, whatever the gardens say"
    )
    parser.add_argument("--schema", help="Postgres schema, instead of COMMONHOLD_SCHEMA")
    return parser


def _schema_flag(text: str) -> str:
    try:
        return schema_name(text)
    except ValueError as error:
        raise ConfigurationError(f"--schema {error}") from None
