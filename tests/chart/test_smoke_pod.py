"""The pod of `helm test`: it exists for the test alone, and is told where to go."""

import ast

import pytest

from tests.support.helm import CHART, CI_VALUES, DEFAULT, FULL, STATE_ONLY, Chart, render

SECRETS = {"DSN", "PASSWORD"}


def _environment(chart: Chart) -> dict[str, str]:
    (pod,) = chart.kind("Pod").values()
    (container,) = pod["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}


def test_it_is_a_hook_of_the_test_and_stays_for_its_log_to_be_read() -> None:
    (pod,) = render().kind("Pod").values()
    assert pod["metadata"]["annotations"] == {
        "helm.sh/hook": "test",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    }
    assert pod["spec"]["restartPolicy"] == "Never"


def test_nothing_else_is_a_hook() -> None:
    for values in CI_VALUES:
        hooks = [
            manifest["kind"]
            for manifest in render(values).objects
            if "helm.sh/hook" in manifest["metadata"].get("annotations", {})
        ]
        assert set(hooks) <= {"Pod"}


def test_it_goes_to_both_services_and_to_the_first_mount_that_may_be_written() -> None:
    assert _environment(render(FULL)) == {
        "TOKEN_FILE": "/run/commonhold/tokens/current",
        "SCOPE": "test:helm",
        "STATE": "memory-state:6367",
        "GATEWAY": "memory-gateway:6368",
        "MOUNT": "notes kb:notes",
    }


@pytest.mark.parametrize(
    ("off", "left"), [("state.enabled=false", "GATEWAY"), ("gateway.enabled=false", "STATE")]
)
def test_a_service_that_is_off_is_not_asked(off: str, left: str) -> None:
    assert _environment(render(DEFAULT, off)).keys() & {"STATE", "GATEWAY"} == {left}


def test_a_gateway_that_nobody_may_write_through_is_given_no_mount() -> None:
    environment = _environment(render(DEFAULT, "gateway.mounts[0].readOnly=true"))
    assert "MOUNT" not in environment


def test_it_runs_the_program_of_the_chart() -> None:
    (pod,) = render().kind("Pod").values()
    python, flag, program = pod["spec"]["containers"][0]["command"]
    assert (python, flag) == ("python", "-c")
    assert program == (CHART / "files/smoke.py").read_text()
    ast.parse(program)


def test_it_holds_the_tokens_and_nothing_of_the_database() -> None:
    (pod,) = render(FULL).kind("Pod").values()
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["tokens"]


def test_it_can_be_left_out() -> None:
    assert render(STATE_ONLY).kind("Pod") == {}
