"""The Docker engine of this machine, as the tests use it: whether it answers, what it can run."""

import contextlib
import functools
import gc
import os
import warnings

import docker
from docker.errors import DockerException, ImageNotFound
from testcontainers.core.config import ConnectionMode, testcontainers_config

# Ryuk is a container that needs the engine's socket. The owner label below does its work.
testcontainers_config.ryuk_disabled = True
# Published ports are on loopback, also where the tests themselves run inside a container.
testcontainers_config.connection_mode_override = ConnectionMode.docker_host
testcontainers_config.tc_host_override = "127.0.0.1"
testcontainers_config.sleep_time = 0.1
testcontainers_config.max_tries = 600

OWNER_LABEL = "commonhold.tests.pid"
"""Every container of a test run carries the process id of its pytest."""


@functools.cache
def engine_answers() -> bool:
    """Tell whether a Docker engine can be used from here."""
    with contextlib.suppress(DockerException), contextlib.closing(docker.from_env()) as client:
        return bool(client.ping())
    # A client that could not connect leaves its socket to the collector, which warns of it
    # later, in the middle of some test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    return False


def obtain_image(name: str) -> bool:
    """Tell whether the engine has the image, after trying to pull one that it lacks."""
    with contextlib.closing(docker.from_env()) as client:
        with contextlib.suppress(ImageNotFound):
            client.images.get(name)
            return True
        try:
            client.images.pull(name)
        except DockerException:
            return False
        return True


def remove_orphans() -> None:
    """Remove containers whose test run was killed before it could."""
    with contextlib.closing(docker.from_env()) as client:
        for container in client.containers.list(all=True, filters={"label": OWNER_LABEL}):
            if not _is_running(int(container.labels[OWNER_LABEL])):
                container.remove(force=True, v=True)


def owner_labels() -> dict[str, str]:
    return {OWNER_LABEL: str(os.getpid())}


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
