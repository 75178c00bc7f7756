"""The settings of the MCP gateway (docs/reference/settings.md, section 3)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from commonhold.contract.errors import CommonholdError
from commonhold.ops.flags import listen_of, listening_parser, schema_of
from commonhold.ops.service_settings import (
    BodyTimeoutSeconds,
    ClientToken,
    DrainSeconds,
    Grants,
    InFlightBytes,
    InFlightLimit,
    LogFormat,
    LogLevel,
    OptionalDsn,
    PoolSize,
    PoolWaitSeconds,
    PreviousTokens,
    Revision,
    Schema,
    StatementTimeoutSeconds,
    StateService,
    StateUrl,
    Tokens,
    place_of_store,
)
from commonhold.ops.settings import (
    Address,
    Secret,
    Setting,
    address,
    any_text,
    one_of,
    read_settings,
    seconds,
    whole_number,
)
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.mounts import MountTable
from commonhold_gateway.hosts import LOOPBACK_HOSTS, LOOPBACK_ORIGINS, host_list, origin_list
from commonhold_gateway.oauth.addresses import resource_url

STATELESS = "stateless"
STATEFUL = "stateful"
BODY_LIMIT_BYTES = 67108864


def default_mounts(text: str) -> MountTable:
    """Mount tokens joined by `;`; raises ValueError."""
    try:
        return parse_mounts(text.split(";"))
    except CommonholdError as error:
        raise ValueError(error.message) from None


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    tokens: Tokens
    dsn: OptionalDsn = None
    state_url: StateUrl = None
    client_token: ClientToken = None
    previous_tokens: PreviousTokens = ()
    grants: Grants = None
    schema: Schema = "commonhold"
    listen: Annotated[Address, Setting("COMMONHOLD_GATEWAY_LISTEN", address, "address of /mcp")] = (
        Address("127.0.0.1", 6368)
    )
    ops_listen: Annotated[
        Address,
        Setting("COMMONHOLD_GATEWAY_OPS_LISTEN", address, "address of /livez, /readyz, /metrics"),
    ] = Address("127.0.0.1", 9368)
    clients: Annotated[
        str | None,
        Setting("COMMONHOLD_GATEWAY_CLIENTS", any_text, "TOML file with the mounts of each client"),
    ] = None
    public_url: Annotated[
        str | None,
        Setting(
            "COMMONHOLD_GATEWAY_PUBLIC_URL",
            resource_url,
            "address of /mcp as clients know it; issuers of the file need it",
        ),
    ] = None
    mounts: Annotated[
        MountTable | None,
        Setting(
            "COMMONHOLD_GATEWAY_MOUNTS",
            default_mounts,
            "mounts of clients that the file does not name, joined by `;`",
        ),
    ] = None
    sessions: Annotated[
        str,
        Setting(
            "COMMONHOLD_GATEWAY_SESSIONS",
            one_of(STATELESS, STATEFUL),
            "stateful issues session ids, for one replica or routing by them",
        ),
    ] = STATELESS
    allowed_hosts: Annotated[
        tuple[str, ...],
        Setting("COMMONHOLD_GATEWAY_ALLOWED_HOSTS", host_list, "values of Host, by comma, or `*`"),
    ] = LOOPBACK_HOSTS
    allowed_origins: Annotated[
        tuple[str, ...],
        Setting(
            "COMMONHOLD_GATEWAY_ALLOWED_ORIGINS", origin_list, "values of Origin, by comma, or `*`"
        ),
    ] = LOOPBACK_ORIGINS
    call_seconds: Annotated[
        float,
        Setting("COMMONHOLD_GATEWAY_CALL_SECONDS", seconds(0.01, 3600), "longest tool call"),
    ] = 30.0
    calls_per_client: Annotated[
        int,
        Setting(
            "COMMONHOLD_GATEWAY_CALLS_PER_CLIENT",
            whole_number(1, 100_000),
            "tool calls of one client at a time",
        ),
    ] = 32
    body_limit_bytes: Annotated[
        int,
        Setting(
            "COMMONHOLD_GATEWAY_BODY_LIMIT_BYTES",
            whole_number(1024, BODY_LIMIT_BYTES),
            "largest body, else 413",
        ),
    ] = BODY_LIMIT_BYTES
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

    @property
    def place(self) -> Secret | StateService:
        """The database, or the state service that stands in for it."""
        return place_of_store(
            dsn=self.dsn, state_url=self.state_url, client_token=self.client_token
        )


def load_settings(arguments: Sequence[str], environ: Mapping[str, str]) -> GatewaySettings:
    """Flags win over the environment. Raises ConfigurationError for anything bad."""
    parser = listening_parser(
        "commonhold-gateway",
        description="The MCP gateway. Settings come from the environment.",
        listen="COMMONHOLD_GATEWAY_LISTEN",
    )
    flags = parser.parse_args(arguments)
    settings = read_settings(GatewaySettings, environ)
    _ = settings.place
    return msgspec.structs.replace(
        settings,
        listen=listen_of(flags, settings.listen),
        schema=schema_of(flags, settings.schema),
    )
