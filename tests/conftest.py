"""Fixtures that every kind of test shares: the run's Postgres, and databases on it.

The server is the one in TEST_DATABASE_URL, else one in Docker, else the embedded one.
"""

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from types import FrameType
from typing import Any

import pytest

from tests.support.engine import engine_answers, remove_orphans
from tests.support.pgbouncer import start_pgbouncer
from tests.support.postgres import (
    PostgresServer,
    choose_kind,
    create_template,
    start_postgres,
    temporary_database,
    with_address,
)
from tests.support.shown_commands import blocks_run_by

SERVER_KIND = pytest.StashKey[str]()
SKIPPED = pytest.StashKey[Counter[str]]()

ANSWERED: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
OF_MAKE = ("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")
DESCRIPTIONS = {
    "external": "the server in TEST_DATABASE_URL",
    "docker": "postgres:17 in Docker",
    "embedded": "embedded (no Docker engine with postgres:17 here)",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "docker: needs a Docker engine")
    config.addinivalue_line("markers", "root(why): needs root, who alone does what `why` says")
    forget_make(os.environ)


def forget_make(environment: MutableMapping[str, str]) -> None:
    """Let a `make` that a test runs be the outermost one, though `make test` began this run.

    An inner one names each directory it enters and leaves on standard output, and takes over
    the flags and variables of the outer.
    """
    for name in OF_MAKE:
        environment.pop(name, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skipped = config.stash.setdefault(SKIPPED, Counter())
    needy = [item for item in items if _needs_docker(item)]
    if needy and not engine_answers():
        skipped["a Docker engine"] = len(needy)
        for item in needy:
            item.add_marker(pytest.mark.skip(reason="no Docker engine answers"))
    for item in items if os.geteuid() != 0 else ():
        for marker in item.iter_markers("root"):
            missing = f"root, who alone {marker.args[0]}"
            skipped[missing] += 1
            item.add_marker(pytest.mark.skip(reason=f"not run by {missing}"))
    if any("postgres_server" in _fixtures_of(item) for item in items):
        config.stash[SERVER_KIND] = choose_kind()


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    if SERVER_KIND not in config.stash:
        return []
    return [f"postgres: {DESCRIPTIONS[config.stash[SERVER_KIND]]}"]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash.get(SERVER_KIND, "") == "embedded":
        terminalreporter.write_line("Postgres was the embedded one: Docker was not there to run it")
    for missing, skipped in config.stash.get(SKIPPED, Counter[str]()).items():
        terminalreporter.write_line(f"{skipped} tests were skipped for lack of {missing}")


@pytest.fixture(autouse=True)
def signals_as_from_a_terminal() -> Iterator[None]:
    """What tests and their children do with a signal, however this run was started.

    A shell starts its background jobs with SIGINT and SIGQUIT ignored and nohup ignores
    SIGHUP, and every child would inherit that.
    """
    ignored = [number for number in ANSWERED if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, ANSWERED[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def shown_commands(request: pytest.FixtureRequest) -> Iterator[Callable[[str], list[str]]]:
    """The blocks of a page that are said to be run by this test, which must run all of them."""
    shown = blocks_run_by(request.node.nodeid.partition("[")[0])
    asked: set[str] = set()

    def of(page: str) -> list[str]:
        asked.add(page)
        return shown[page]

    yield of
    assert shown.keys() == asked, "a page names this test for commands that it does not take"


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """The one Postgres of this run."""
    if engine_answers():
        remove_orphans()
    with start_postgres(request.config.stash[SERVER_KIND]) as server:
        yield server


@pytest.fixture(scope="session")
def database_template(postgres_server: PostgresServer) -> Iterator[str]:
    """Name of a migrated database that is copied and never connected to."""
    with create_template(postgres_server) as name:
        yield name


@pytest.fixture
async def database_dsn(
    postgres_server: PostgresServer, database_template: str
) -> AsyncIterator[str]:
    """A fresh database on the newest schema."""
    async with temporary_database(postgres_server, template=database_template) as dsn:
        yield dsn


@pytest.fixture
async def empty_database_dsn(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """A fresh database without any schema of ours."""
    async with temporary_database(postgres_server) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def pgbouncer_address(postgres_server: PostgresServer) -> Iterator[str]:
    """host:port of the one pooler of this run; it serves every database of the server."""
    with start_pgbouncer(postgres_server) as address:
        yield address


@pytest.fixture
def pgbouncer_dsn(database_dsn: str, pgbouncer_address: str) -> str:
    """`database_dsn` through PgBouncer in transaction mode."""
    return with_address(database_dsn, pgbouncer_address)


def _needs_docker(item: pytest.Item) -> bool:
    return (
        "pgbouncer_address" in _fixtures_of(item) or item.get_closest_marker("docker") is not None
    )


def _fixtures_of(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []
