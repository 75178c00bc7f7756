"""The services of a local run: where each listens, what it is given, how it is started.

They are child processes: the library imports none of them.
"""

import http.client
import importlib.util
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec

from commonhold.cli.children import Child, StopStep, start_child
from commonhold.cli.errors import CommandError
from commonhold.cli.local_folder import LocalFolder
from commonhold.ops.settings import (
    FILE_SUFFIX,
    OWN_PREFIX,
    Address,
    Setting,
    address,
    any_text,
    schema_name,
)

DEFAULT_MOUNTS = "scope=user:me,path=user;scope=project:local,path=project"
"""What the gateway shows when the environment says nothing of mounts."""

# These would point the services at another database, or at tokens that the printed lines lack.
MADE_HERE = (
    "NEOSIAN_POSTGRES_DSN",
    "NEOSIAN_SERVE_TOKEN",
    "COMMONHOLD_MIGRATE_DSN",
    "COMMONHOLD_STATE_URL",
)

_STATE_LISTEN = "COMMONHOLD_STATE_LISTEN"
_STATE_OPS_LISTEN = "COMMONHOLD_STATE_OPS_LISTEN"
_GATEWAY_LISTEN = "COMMONHOLD_GATEWAY_LISTEN"
_GATEWAY_OPS_LISTEN = "COMMONHOLD_GATEWAY_OPS_LISTEN"
_MAINTENANCE_OPS_LISTEN = "COMMONHOLD_MAINTENANCE_OPS_LISTEN"
_GARDENS = "COMMONHOLD_GARDENS"
_MOUNTS = "COMMONHOLD_GATEWAY_MOUNTS"
_CLIENTS = "COMMONHOLD_GATEWAY_CLIENTS"
_PASSED_ON = frozenset({"HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ"})
_PASSED_ON_PREFIXES = (OWN_PREFIX, "NEOSIAN_")
_DRAIN_SECONDS = "5"
_STOP_STEPS = (StopStep(signal.SIGTERM, 15.0),)
_PROBE_SECONDS = 2.0


class DevSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a local run itself needs to know of the services' settings."""

    state: Annotated[Address, Setting(_STATE_LISTEN, address, "where the wire is served")] = (
        Address("127.0.0.1", 6367)
    )
    state_ops: Annotated[
        Address, Setting(_STATE_OPS_LISTEN, address, "health and metrics of the state service")
    ] = Address("127.0.0.1", 9367)
    gateway: Annotated[Address, Setting(_GATEWAY_LISTEN, address, "where MCP is served")] = Address(
        "127.0.0.1", 6368
    )
    gateway_ops: Annotated[
        Address, Setting(_GATEWAY_OPS_LISTEN, address, "health and metrics of the gateway")
    ] = Address("127.0.0.1", 9368)
    maintenance_ops: Annotated[
        Address,
        Setting(_MAINTENANCE_OPS_LISTEN, address, "health and metrics of the maintenance worker"),
    ] = Address("127.0.0.1", 9369)
    gardens: Annotated[
        str | None, Setting(_GARDENS, any_text, "TOML file with the gardens and retention")
    ] = None
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "the schema to use")] = (
        "commonhold"
    )


class LocalService(msgspec.Struct, frozen=True, kw_only=True):
    """`key` names its package, its log and its place in messages.

    `listen` is where it serves, with the setting that says so: None when nothing is served.
    """

    key: str
    listen: tuple[str, Address] | None = None
    ops_listen: Address
    ops_listen_setting: str

    @property
    def name(self) -> str:
        return "the gateway" if self.key == "gateway" else f"the {self.key} service"

    @property
    def url(self) -> str:
        if self.listen is None:
            raise ValueError(f"{self.name} serves nothing")
        return _url(self.listen[1])

    @property
    def ops_url(self) -> str:
        return _url(self.ops_listen)

    def addresses(self) -> Iterator[tuple[str, Address]]:
        """Where it listens, each with the setting that says so."""
        if self.listen is not None:
            yield self.listen
        yield self.ops_listen_setting, self.ops_listen


def local_services(settings: DevSettings) -> tuple[LocalService, LocalService, LocalService]:
    """The state service, the gateway and the maintenance worker, in the order of their start."""
    return (
        LocalService(
            key="state",
            listen=(_STATE_LISTEN, settings.state),
            ops_listen=settings.state_ops,
            ops_listen_setting=_STATE_OPS_LISTEN,
        ),
        LocalService(
            key="gateway",
            listen=(_GATEWAY_LISTEN, settings.gateway),
            ops_listen=settings.gateway_ops,
            ops_listen_setting=_GATEWAY_OPS_LISTEN,
        ),
        LocalService(
            key="maintenance",
            ops_listen=settings.maintenance_ops,
            ops_listen_setting=_MAINTENANCE_OPS_LISTEN,
        ),
    )


def require_installed(service: LocalService) -> None:
    if importlib.util.find_spec(_package(service)) is None:
        raise CommandError(f"{service.name} is not installed: pip install commonhold-{service.key}")


def start_service(
    service: LocalService, environment: Mapping[str, str], *, folder: LocalFolder, dsn: str
) -> Child:
    """Start it; whether it is ready is for `is_ready` to say."""
    return start_child(
        service.name,
        [sys.executable, "-P", "-m", _package(service)],
        environment=service_environment(environment, folder=folder, dsn=dsn),
        log=folder.new_log(service.key),
        steps=_STOP_STEPS,
    )


def service_environment(
    environment: Mapping[str, str], *, folder: LocalFolder, dsn: str
) -> dict[str, str]:
    """The whole environment of a service: what a process needs, our settings, ours."""
    passed = {
        name: value
        for name, value in environment.items()
        if (name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES))
        and name.removesuffix(FILE_SUFFIX) not in MADE_HERE
    }
    says_what_is_mounted = any(
        passed.get(name) for name in (_MOUNTS, _MOUNTS + FILE_SUFFIX, _CLIENTS)
    )
    says_what_is_tended = any(passed.get(name) for name in (_GARDENS, _GARDENS + FILE_SUFFIX))
    return {
        "COMMONHOLD_DRAIN_SECONDS": _DRAIN_SECONDS,
        **passed,
        **({} if says_what_is_tended else {_GARDENS: str(folder.gardens_file)}),
        **({} if says_what_is_mounted else {_MOUNTS: DEFAULT_MOUNTS}),
        "PYTHONUNBUFFERED": "1",
        "NEOSIAN_POSTGRES_DSN": dsn,
        "NEOSIAN_SERVE_TOKEN_FILE": str(folder.token_file),
    }


def is_ready(service: LocalService) -> bool:
    connection = http.client.HTTPConnection(
        reachable_host(service.ops_listen), service.ops_listen.port, timeout=_PROBE_SECONDS
    )
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def reachable_host(listen: Address) -> str:
    """Where a client on this machine finds it."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)  # noqa: S104 - read, not bound


def _url(listen: Address) -> str:
    return f"http://{Address(reachable_host(listen), listen.port)}"


def _package(service: LocalService) -> str:
    return f"commonhold_{service.key}"
