"""`commonhold dev`: everything on a private Postgres, from an empty folder to a first request.

The services are child processes: the library imports none of them.
"""

import asyncio
import http.client
import importlib.util
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Annotated

import msgspec

from commonhold.cli import local_postgres
from commonhold.cli.children import Child, StopStep, start_child
from commonhold.cli.errors import CommandError, StoppedError
from commonhold.cli.folder_locks import FolderLock
from commonhold.cli.local_folder import LocalFolder, RunningServices
from commonhold.cli.ports import is_port_taken
from commonhold.cli.stop_requests import StopRequests
from commonhold.migrations import migrate
from commonhold.ops.settings import (
    FILE_SUFFIX,
    OWN_PREFIX,
    Address,
    Setting,
    address,
    read_settings,
    schema_name,
)

Say = Callable[[str], None]

_STATE_LISTEN = "COMMONHOLD_STATE_LISTEN"
_STATE_OPS_LISTEN = "COMMONHOLD_STATE_OPS_LISTEN"
# These would point the services at another database, or at tokens that the printed lines lack.
_MADE_HERE = ("NEOSIAN_POSTGRES_DSN", "NEOSIAN_SERVE_TOKEN", "COMMONHOLD_MIGRATE_DSN")
_PASSED_ON = frozenset({"HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ"})
_PASSED_ON_PREFIXES = (OWN_PREFIX, "NEOSIAN_")
_DRAIN_SECONDS = "5"
_STOP_STEPS = (StopStep(signal.SIGTERM, 15.0),)
_READY_SECONDS = 60.0
_EARLIER_RUN_SECONDS = 15.0
_POLL_SECONDS = 0.05
_WATCH_SECONDS = 5.0
_PROBE_SECONDS = 2.0


class DevSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What this command itself needs to know of the services' settings."""

    listen: Annotated[Address, Setting(_STATE_LISTEN, address, "where the wire is served")] = (
        Address("127.0.0.1", 6367)
    )
    ops_listen: Annotated[
        Address, Setting(_STATE_OPS_LISTEN, address, "where health and metrics are served")
    ] = Address("127.0.0.1", 9367)
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "the schema to use")] = (
        "commonhold"
    )


def run_services(folder: LocalFolder, environment: Mapping[str, str], *, say: Say) -> None:
    """Start everything, say how to reach it, and return once asked to stop.

    Raises CommandError, with everything stopped again, when something cannot start or ends
    by itself.
    """
    for name in _MADE_HERE:
        if environment.get(name) or environment.get(name + FILE_SUFFIX):
            say(f"{name} is set and not used here: this command makes its own")
    settings = read_settings(
        DevSettings, {k: v for k, v in environment.items() if not k.startswith(_MADE_HERE)}
    )
    if importlib.util.find_spec("commonhold_state") is None:
        raise CommandError("the state service is not installed: pip install commonhold-state")
    with ExitStack() as running:
        stop = running.enter_context(StopRequests())
        with suppress(StoppedError):
            _start(folder, environment, settings=settings, running=running, stop=stop, say=say)
        say("\nstopping")


def _start(
    folder: LocalFolder,
    environment: Mapping[str, str],
    *,
    settings: DevSettings,
    running: ExitStack,
    stop: StopRequests,
    say: Say,
) -> None:
    folder.make()
    running.enter_context(FolderLock(folder.place))
    _await_ports(folder, settings, stop=stop)
    token = folder.get_or_make_token()
    say("starting Postgres")
    postgres = running.enter_context(
        local_postgres.start(
            folder.postgres,
            log=folder.new_log("postgres"),
            report=say,
            interrupted=lambda: stop.requested,
        )
    )
    asyncio.run(migrate(postgres.dsn, schema=settings.schema, report=say))
    say("starting the state service")
    state = start_child(
        "the state service",
        [sys.executable, "-P", "-m", "commonhold_state"],
        environment=state_environment(environment, folder=folder, dsn=postgres.dsn),
        log=folder.new_log("state"),
        steps=_STOP_STEPS,
    )
    running.callback(_stop_child, state)
    _await_ready(state, settings.ops_listen, stop=stop)
    services = RunningServices(
        pid=os.getpid(),
        url=_url(settings.listen),
        ops_url=_url(settings.ops_listen),
        token_file=str(folder.token_file),
        postgres_dsn=postgres.dsn,
    )
    folder.put_running(services)
    running.callback(folder.forget_running)
    for line in _welcome(services, token=token, folder=folder, state=state):
        say(line)
    _watch([state, postgres.child], stop=stop)


def state_environment(
    environment: Mapping[str, str], *, folder: LocalFolder, dsn: str
) -> dict[str, str]:
    """The whole environment of the state service: what a process needs, our settings, ours."""
    passed = {
        name: value
        for name, value in environment.items()
        if (name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES))
        and name.removesuffix(FILE_SUFFIX) not in _MADE_HERE
    }
    return {
        "COMMONHOLD_DRAIN_SECONDS": _DRAIN_SECONDS,
        **passed,
        "PYTHONUNBUFFERED": "1",
        "NEOSIAN_POSTGRES_DSN": dsn,
        "NEOSIAN_SERVE_TOKEN_FILE": str(folder.token_file),
    }


def _await_ports(folder: LocalFolder, settings: DevSettings, *, stop: StopRequests) -> None:
    """Refuse a start that could not listen; services of a killed run get time to end."""
    patience = _EARLIER_RUN_SECONDS if folder.get_running() is not None else 0.0
    deadline = time.monotonic() + patience
    for name, listen in (
        (_STATE_LISTEN, settings.listen),
        (_STATE_OPS_LISTEN, settings.ops_listen),
    ):
        while _is_taken(listen, name):
            if time.monotonic() >= deadline:
                raise CommandError(
                    f"port {listen.port} on {listen.host} is in use: "
                    f"stop what listens there, or set {name} to another host:port"
                )
            _pause(stop)


def _is_taken(listen: Address, name: str) -> bool:
    try:
        return is_port_taken(listen.host, listen.port)
    except OSError as error:
        raise CommandError(f"{name}: cannot listen on {listen}: {error.strerror}") from error


def _await_ready(child: Child, ops_listen: Address, *, stop: StopRequests) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not _is_ready(ops_listen):
        _refuse_ended(child)
        if time.monotonic() >= deadline:
            raise CommandError(_with_last_lines(f"{child.name} is not ready", child))
        _pause(stop)


def _pause(stop: StopRequests) -> None:
    stop.wait(_POLL_SECONDS)
    if stop.requested:
        raise StoppedError


def _is_ready(ops_listen: Address) -> bool:
    connection = http.client.HTTPConnection(
        reachable_host(ops_listen), ops_listen.port, timeout=_PROBE_SECONDS
    )
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _watch(children: list[Child], *, stop: StopRequests) -> None:
    while not stop.requested:
        for child in children:
            _refuse_ended(child)
        stop.wait(_WATCH_SECONDS)


def _refuse_ended(child: Child) -> None:
    status = child.exit_status
    if status is not None:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        raise CommandError(_with_last_lines(f"{child.name} ended {how}", child))


def _with_last_lines(what: str, child: Child) -> str:
    lines = child.last_lines()
    return "\n".join([f"{what}; the last lines of {child.log}:" if lines else what, *lines])


def _stop_child(child: Child) -> None:
    if child.exit_status is None:
        child.stop()


def reachable_host(listen: Address) -> str:
    """Where a client on this machine finds it."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)  # noqa: S104 - read, not bound


def _url(listen: Address) -> str:
    return f"http://{Address(reachable_host(listen), listen.port)}"


def _welcome(
    services: RunningServices, *, token: str, folder: LocalFolder, state: Child
) -> list[str]:
    document = '"scope":"user:me","path":"notes/first"'
    write = _curl(services, "memory/write", f'{{{document},"content":"Remember the milk."}}')
    read = _curl(services, "memory/read", f"{{{document}}}")
    return [
        "",
        f"Commonhold is up. Ctrl-C stops it; what is stored stays in {folder.place}",
        "",
        f"  URL      {services.url}",
        f"  token    {token}",
        f"           (kept in {folder.token_file})",
        f"  metrics  {services.ops_url}/metrics",
        f"  log      {state.log}",
        "",
        "Store a document and read it back, in another terminal:",
        "",
        write,
        "",
        read,
        "",
        "`make demo` (or `commonhold demo`) goes through the rest.",
    ]


def _curl(services: RunningServices, route: str, body: str) -> str:
    token = f'"Authorization: Bearer $(cat {shlex.quote(services.token_file)})"'
    return f"curl -sS -w '\\n' {services.url}/v1/{route} -H {token} -d {shlex.quote(body)}"
