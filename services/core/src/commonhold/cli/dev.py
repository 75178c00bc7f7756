"""`commonhold dev`: everything on a private Postgres, from an empty folder to a first request."""

import asyncio
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

from commonhold.cli import local_postgres
from commonhold.cli.children import Child
from commonhold.cli.client_snippets import command_lines, export_token, mcp_servers
from commonhold.cli.errors import CommandError, StoppedError
from commonhold.cli.folder_locks import FolderLock
from commonhold.cli.local_folder import LocalFolder, RunningServices
from commonhold.cli.local_services import (
    MADE_HERE,
    DevSettings,
    LocalService,
    is_ready,
    local_services,
    require_installed,
    start_service,
)
from commonhold.cli.ports import is_port_taken
from commonhold.cli.stop_requests import StopRequests
from commonhold.migrations import migrate
from commonhold.ops.settings import FILE_SUFFIX, Address, read_settings

Say = Callable[[str], None]

_READY_SECONDS = 60.0
_EARLIER_RUN_SECONDS = 15.0
_POLL_SECONDS = 0.05
_WATCH_SECONDS = 5.0
_PLANS_ONLY = "           (without a model, and a dry run: it plans and deletes nothing)"


def run_services(folder: LocalFolder, environment: Mapping[str, str], *, say: Say) -> None:
    """Start everything, say how to reach it, and return once asked to stop.

    Raises CommandError, with everything stopped again, when something cannot start or ends
    by itself.
    """
    for name in MADE_HERE:
        if environment.get(name) or environment.get(name + FILE_SUFFIX):
            say(f"{name} is set and not used here: this command makes its own")
    settings = read_settings(
        DevSettings, {k: v for k, v in environment.items() if not k.startswith(MADE_HERE)}
    )
    for service in local_services(settings):
        require_installed(service)
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
    services = local_services(settings)
    folder.make()
    running.enter_context(FolderLock(folder.place))
    _await_ports(folder, services, stop=stop)
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
    children = []
    for service in services:
        say(f"starting {service.name}")
        child = start_service(service, environment, folder=folder, dsn=postgres.dsn)
        running.callback(_stop_child, child)
        children.append(child)
    _await_ready(dict(zip(services, children, strict=True)), stop=stop)
    described = _describe(services, folder=folder, dsn=postgres.dsn)
    folder.put_running(described)
    running.callback(folder.forget_running)
    welcome = _welcome(described, services, token=token, folder=folder, gardens=settings.gardens)
    for line in welcome:
        say(line)
    _watch([*children, postgres.child], stop=stop)


def _describe(
    services: Sequence[LocalService], *, folder: LocalFolder, dsn: str
) -> RunningServices:
    state, gateway, _maintenance = services
    return RunningServices(
        pid=os.getpid(),
        url=state.url,
        ops_url=state.ops_url,
        mcp_url=f"{gateway.url}/mcp",
        token_file=str(folder.token_file),
        postgres_dsn=dsn,
    )


def _await_ports(
    folder: LocalFolder, services: Sequence[LocalService], *, stop: StopRequests
) -> None:
    """Refuse a start that could not listen; services of a killed run get time to end."""
    patience = _EARLIER_RUN_SECONDS if folder.get_running() is not None else 0.0
    deadline = time.monotonic() + patience
    for name, listen in (place for service in services for place in service.addresses()):
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


def _await_ready(started: Mapping[LocalService, Child], *, stop: StopRequests) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    for service, child in started.items():
        while not is_ready(service):
            for other in started.values():
                _refuse_ended(other)
            if time.monotonic() >= deadline:
                raise CommandError(_with_last_lines(f"{child.name} is not ready", child))
            _pause(stop)


def _pause(stop: StopRequests) -> None:
    stop.wait(_POLL_SECONDS)
    if stop.requested:
        raise StoppedError


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


def _welcome(
    running: RunningServices,
    services: Sequence[LocalService],
    *,
    token: str,
    folder: LocalFolder,
    gardens: str | None,
) -> list[str]:
    document = '"scope":"user:me","path":"notes/first"'
    return [
        "",
        f"Commonhold is up. Ctrl-C stops it; what is stored stays in {folder.place}",
        "",
        f"  URL      {running.url}",
        f"  MCP      {running.mcp_url}",
        f"  token    {token}",
        f"           (kept in {running.token_file})",
        *(f"  metrics  {service.ops_url}/metrics" for service in services),
        f"  logs     {folder.logs}",
        f"  gardens  {gardens or folder.gardens_file}",
        *(() if gardens else (_PLANS_ONLY,)),
        "",
        "Store a document and read it back, in another terminal:",
        "",
        _curl(running, "memory/write", f'{{{document},"content":"Remember the milk."}}'),
        "",
        _curl(running, "memory/read", f"{{{document}}}"),
        "",
        *_connect(running),
        "",
        "`make demo` (or `commonhold demo`) goes through the rest.",
    ]


def _connect(running: RunningServices) -> list[str]:
    url = str(running.mcp_url)
    return [
        "Connect an agent: give the client's environment the token, then name the server,",
        "in the client's `mcpServers` or by its own command:",
        "",
        export_token(running.token_file),
        "",
        mcp_servers(url),
        "",
        *command_lines(url),
    ]


def _curl(running: RunningServices, route: str, body: str) -> str:
    token = f'"Authorization: Bearer $(cat {shlex.quote(running.token_file)})"'
    return f"curl -sS -w '\\n' {running.url}/v1/{route} -H {token} -d {shlex.quote(body)}"
