"""The Job that migrates, the containers that wait for it, and how a DSN gets into a pod."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg.connect_utils
import pytest

from commonhold.cli import migrate
from tests.support.helm import (
    CHART,
    CI_VALUES,
    DEFAULT,
    EXAMPLE_VALUES,
    FULL,
    OVER_STATE,
    containers_of,
    environment_of,
    render,
)

VALUES = [*CI_VALUES, *EXAMPLE_VALUES]
MIGRATING = [values for values in VALUES if values != OVER_STATE]
CNPG = CHART / "examples/cloudnative-pg-values.yaml"


class TestJob:
    def test_it_is_an_object_like_any_other(self) -> None:
        job = render().job()
        assert "annotations" not in job["metadata"]
        assert "ttlSecondsAfterFinished" not in job["spec"]

    def test_a_changed_spec_gets_another_name(self) -> None:
        names = {
            render(DEFAULT, *change).job()["metadata"]["name"]
            for change in (
                (),
                ("image.tag=next",),
                ("migration.grantTo=r",),
                ("postgres.schema=s",),
            )
        }
        assert len(names) == 4

    def test_what_is_none_of_its_business_leaves_its_name(self) -> None:
        one = render().job()["metadata"]["name"]
        other = render(DEFAULT, "state.replicas=1", "logLevel=debug").job()["metadata"]["name"]
        assert one == other

    def test_the_name_says_the_revision(self) -> None:
        assert render().job()["metadata"]["name"].startswith("here-commonhold-migrate-1-")

    def test_a_failed_attempt_keeps_its_log(self) -> None:
        assert render().job()["spec"]["template"]["spec"]["restartPolicy"] == "Never"

    def test_it_connects_as_the_owner_and_grants_to_the_serving_role(self) -> None:
        pod = render(FULL).job()["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["command"] == [
            *("commonhold", "migrate", "--wait", "60"),
            *("--grant-to", "memory_serve"),
        ]
        assert pod["volumes"][1]["secret"]["secretName"] == "memory-owner"
        assert pod["volumes"][1]["secret"]["items"] == [{"key": "uri", "path": "dsn"}]
        assert environment_of(container) == {
            "COMMONHOLD_MIGRATE_DSN_FILE": "/run/commonhold/postgres/dsn",
            "COMMONHOLD_SCHEMA": "agents",
        }

    def test_without_a_secret_of_its_own_it_uses_that_of_the_services(self) -> None:
        pod = render().job()["spec"]["template"]["spec"]
        assert pod["volumes"][1]["secret"]["secretName"] == "commonhold-postgres"


class TestWaiting:
    @pytest.mark.parametrize("values", MIGRATING, ids=lambda path: path.stem)
    def test_every_service_waits_for_the_schema_as_the_role_that_serves(self, values: Path) -> None:
        for deployment in render(values).kind("Deployment").values():
            pod = deployment["spec"]["template"]["spec"]
            waiting = pod["initContainers"][-1]
            (service,) = pod["containers"]
            assert waiting["image"] == service["image"]
            assert waiting["command"] == ["commonhold", "migrate", "--check", "--wait", "300"]
            dsn = environment_of(waiting)["NEOSIAN_POSTGRES_DSN_FILE"]
            assert dsn == environment_of(service)["NEOSIAN_POSTGRES_DSN_FILE"]

    def test_the_verb_takes_these_arguments(self, capfd: pytest.CaptureFixture[str]) -> None:
        arguments = render().pod_spec("state")["initContainers"][-1]["command"][2:]
        assert migrate.main(arguments, {}) == 2
        assert "set COMMONHOLD_MIGRATE_DSN or NEOSIAN_POSTGRES_DSN" in capfd.readouterr().err


class TestParts:
    """A DSN from the parts of a Secret, made by the script in the chart."""

    def _compose(self, folder: Path, parameters: str, **parts: str) -> str:
        for name, text in parts.items():
            (folder / name).write_text(text)
        script = (CHART / "files/dsn.py").read_text()
        target = folder / "out"
        subprocess.run([sys.executable, "-c", script, folder, target, parameters], check=True)
        return target.read_text()

    @pytest.mark.parametrize("password", ["plain", "p@ss:w/rd?#[]%20 +&=", "пароль\n"])
    def test_whatever_the_password_holds_the_driver_reads_it_back(
        self, tmp_path: Path, password: str
    ) -> None:
        dsn = self._compose(
            tmp_path,
            "sslmode=disable",
            host="db.example.org",
            port="6432\n",
            username="ana@corp",
            password=password,
            database="a/b",
        )
        addresses, parameters = _parse(dsn)
        assert addresses == [("db.example.org", 6432)]
        assert (parameters.user, parameters.database) == ("ana@corp", "a/b")
        assert parameters.password == password.removesuffix("\n")
        assert parameters.ssl is False

    def test_an_address_of_the_sixth_kind_is_bracketed(self, tmp_path: Path) -> None:
        dsn = self._compose(
            tmp_path, "", host="fd00::5", port="5432", username="u", password="p", database="d"
        )
        assert dsn == "postgresql://u:p@[fd00::5]:5432/d"

    def test_the_parts_are_seen_by_the_composing_container_alone(self) -> None:
        pod = render(FULL).pod_spec("state")
        seeing = [
            container["name"]
            for container in containers_of(pod)
            if "postgres" in {mount["name"] for mount in container["volumeMounts"]}
        ]
        assert seeing == ["dsn"]
        (memory,) = [volume for volume in pod["volumes"] if volume["name"] == "dsn"]
        assert memory["emptyDir"]["medium"] == "Memory"

    def test_the_keys_of_the_secret_become_the_names_of_the_parts(self) -> None:
        chart = render(FULL, "postgres.partKeys.database=name")
        (secret,) = [v for v in chart.pod_spec("state")["volumes"] if v["name"] == "postgres"]
        items = {item["path"]: item["key"] for item in secret["secret"]["items"]}
        assert items == {
            "host": "host",
            "port": "port",
            "username": "username",
            "password": "password",
            "database": "name",
        }


def _parse(dsn: str) -> tuple[list[tuple[str, int]], Any]:
    driver: Any = asyncpg.connect_utils
    addresses, parameters = driver._parse_connect_dsn_and_args(
        dsn=dsn,
        host=None,
        port=None,
        user=None,
        password=None,
        passfile=None,
        database=None,
        ssl=None,
        direct_tls=None,
        server_settings=None,
        target_session_attrs=None,
        krbsrvname=None,
        gsslib=None,
        service=None,
        servicefile=None,
    )
    return list(addresses), parameters
