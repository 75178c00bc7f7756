"""A PgBouncer in transaction mode in front of the test run's Postgres."""

import contextlib
import io
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import docker
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from tests.support.engine import obtain_image, owner_labels
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.repository import ROOT

IMAGE = "pgbouncer:1.24"

COMMAND = 'echo "$SETTINGS" >/tmp/pgbouncer.ini; exec pgbouncer /tmp/pgbouncer.ini'
RECIPE = ROOT / "deploy/pgbouncer/Dockerfile"


@contextlib.contextmanager
def start_pgbouncer(server: PostgresServer) -> Iterator[str]:
    """Yield host:port of a pooler that serves every database of the server."""
    if not obtain_image(IMAGE):
        _build_image()
    port = free_port()
    # On the machine's own network it reaches every kind of server, and listens on loopback alone.
    with (
        DockerContainer(IMAGE)
        .with_kwargs(labels=owner_labels(), network_mode="host")
        .with_env("SETTINGS", _settings(server, port=port))
        .with_command(["sh", "-c", COMMAND])
        .waiting_for(LogMessageWaitStrategy("process up"))
    ):
        yield f"127.0.0.1:{port}"


def _settings(server: PostgresServer, *, port: int) -> str:
    upstream = urlsplit(server.dsn)
    user, password = unquote(upstream.username or "postgres"), unquote(upstream.password or "")
    target = f"host={upstream.hostname} port={upstream.port or 5432} user={user}"
    return f"""
[databases]
* = {target} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_prepared_statements = 200
max_client_conn = 1000
default_pool_size = 20
"""


def _build_image() -> None:
    with contextlib.closing(docker.from_env()) as client:
        client.images.build(fileobj=io.BytesIO(RECIPE.read_bytes()), tag=IMAGE, rm=True)
