"""docker-compose.yml and what it mounts: each container held to the same rules, and no secret."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import yaml

from commonhold_gateway.settings import GatewaySettings
from commonhold_maintenance.settings import MaintenanceSettings
from commonhold_state.settings import StateSettings
from tests.support.markdown import section, tables
from tests.support.repository import ROOT

STACK = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = STACK["services"]
DEPLOY = ROOT / "deploy"
# It ends by itself, and what waits for it sees how.
ONCE = {"migrate"}
# Their image says when they are healthy.
OWN = re.compile(r"commonhold-(state|gateway|maintenance):local")
NAMED_ALERT = re.compile(r'alertname=~?"(.+)"')
POOLS: dict[str, type[msgspec.Struct]] = {
    "state": StateSettings,
    "gateway": GatewaySettings,
    "maintenance": MaintenanceSettings,
}


@pytest.mark.parametrize("name", SERVICES)
class TestContainer:
    def test_it_is_held_to_what_it_needs(self, name: str) -> None:
        service = SERVICES[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["mem_limit"]
        assert service["cpus"]
        assert service["pids_limit"]
        # The engine's default keeps every line for ever.
        assert service["logging"] == {"driver": "local"}
        assert "privileged" not in service

    def test_it_comes_back_and_says_whether_it_is_well(self, name: str) -> None:
        service = SERVICES[name]
        assert service["restart"] == ("no" if name in ONCE else "unless-stopped")
        own = OWN.fullmatch(service["image"]) is not None and name not in ONCE
        assert ("healthcheck" in service) is not own

    def test_its_image_is_pinned(self, name: str) -> None:
        assert re.search(r":(?!latest$)[\w.-]*\d[\w.-]*$|^commonhold-\w+:local$", _image(name))

    def test_its_environment_holds_no_secret(self, name: str) -> None:
        for key, value in SERVICES[name].get("environment", {}).items():
            if re.search(r"TOKEN|PASSWORD|DSN|KEY", key):
                assert key.endswith("_FILE")
                assert value.startswith("/run/secrets/")

    def test_what_it_mounts_is_there(self, name: str) -> None:
        for volume in SERVICES[name].get("volumes", ()):
            source, *_rest = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", volume).split(":")
            if source.startswith("./"):
                assert (ROOT / source).exists()
                assert volume.endswith(":ro") or "serving-role" in volume
            else:
                assert source in STACK["volumes"]


def test_pools_stay_within_what_postgres_accepts() -> None:
    """Each has a connection more for its probe; a migration takes two, a dump one."""
    needed = 3 + sum(
        _default_pool(POOLS[found[1]]) + 1
        for name in SERVICES
        if (found := OWN.fullmatch(_image(name))) and name not in ONCE
    )
    accepted = re.search(r"max_connections=(\d+)", str(SERVICES["postgres"]["command"]))
    assert accepted is not None
    assert needed < int(accepted[1])


def test_the_page_on_tuning_adds_up_the_pools() -> None:
    rows = dict(_sums_of_connections())
    one = [_default_pool(POOLS[name]) + 1 for name in ("state", "gateway", "maintenance")]
    two = [one[0] * 2, one[1] * 2, one[2]]
    for sums in (one, two):
        assert f"{' + '.join(map(str, sums))} = {sum(sums)}" in rows.values()
    (accepted,) = re.findall(r"max_connections=(\d+)", str(SERVICES["postgres"]["command"]))
    (stack,) = [what for what in rows if "`replicas`" in what]
    assert f"accepts {accepted}" in stack


def _sums_of_connections() -> list[list[str]]:
    page = (ROOT / "docs/howto/tune.md").read_text()
    (rows,) = tables(section(page, "Memory and connections"))
    return rows


def test_the_edge_says_nothing_of_the_other_ports_of_its_name() -> None:
    edge = (DEPLOY / "haproxy/tls.cfg").read_text()
    headers = re.findall(r"^ *http-(?:request|response) set-header (\S+)", edge, re.MULTILINE)
    assert headers == ["X-Forwarded-Proto"]


def test_every_secret_is_made_by_a_script_of_the_repository() -> None:
    scripts = (DEPLOY / "make-secrets.sh").read_text() + (
        DEPLOY / "make-certificates.sh"
    ).read_text()
    for secret in STACK["secrets"].values():
        assert re.search(rf"\b{re.escape(Path(secret['file']).name)}\b", scripts)


def test_every_profile_is_listed_where_profiles_are_chosen() -> None:
    profiles = {profile for service in SERVICES.values() for profile in service.get("profiles", ())}
    listed = re.search(r'PROFILES="([^"]+)"', (ROOT / "Makefile").read_text())
    assert listed is not None
    assert set(listed[1].split()) == profiles


def test_the_images_of_the_offline_kit_and_of_ci_are_those_of_the_stack() -> None:
    # Grafana is in no package repository.
    wanted = {_image(name) for name in SERVICES if not OWN.fullmatch(_image(name))}
    wanted -= {_image("grafana")}
    kit = (DEPLOY / "offline/offline-images.sh").read_text()
    assert [image for image in wanted if image not in kit] == []
    # PgBouncer's is built, not pulled.
    pulled = wanted - {_image("pgbouncer")}
    assert [image for image in pulled if image not in (ROOT / ".ci/run").read_text()] == []


def test_prometheus_scrapes_every_replica_of_the_profiles() -> None:
    for folder, replicas in (("one", 1), ("two", 2)):
        for service in ("state", "gateway"):
            (group,) = _load(f"prometheus/targets/{folder}/{service}.yml")
            names = [target.partition(":")[0] for target in group["targets"]]
            assert names == [service, f"{service}-b"][:replicas]
            assert set(names) <= SERVICES.keys()


def test_alerts_find_their_manager_and_every_route_a_receiver() -> None:
    (group,) = _load("prometheus/prometheus.yml")["alerting"]["alertmanagers"]
    assert _addresses(group) == ["alertmanager:9093"]
    config = _load("alertmanager/alertmanager.yml")
    receivers = {receiver["name"] for receiver in config["receivers"]}
    routes = [config["route"], *config["route"]["routes"]]
    assert {route["receiver"] for route in routes} <= receivers


def test_what_is_inhibited_are_alerts_that_exist() -> None:
    rules = yaml.safe_load((ROOT / "helm/commonhold/files/rules/commonhold.yml").read_text())
    alerts = {
        rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule
    }
    for rule in _load("alertmanager/alertmanager.yml")["inhibit_rules"]:
        # Of each release apart: tests/e2e/test_stack_alerts.py sees it happen.
        assert "namespace" in rule["equal"]
        for side in ("source_matchers", "target_matchers"):
            (pattern,) = filter(None, (NAMED_ALERT.fullmatch(each) for each in rule[side]))
            for alternative in re.split(r"\|(?![^(]*\))", pattern[1]):
                assert [alert for alert in alerts if re.fullmatch(alternative, alert)]


def test_grafana_is_given_the_dashboards_of_the_chart_and_a_source_for_them() -> None:
    (source,) = _load("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    address = urlsplit(source["url"])
    assert address.hostname in SERVICES
    assert str(SERVICES[address.hostname]["ports"]).count(f":{address.port}'") == 1
    (provider,) = _load("grafana/provisioning/dashboards/commonhold.yml")["providers"]
    mounts = dict(volume.split(":")[:2] for volume in SERVICES["grafana"]["volumes"])
    folder = {target: place for place, target in mounts.items()}[provider["options"]["path"]]
    boards = [json.loads(path.read_text()) for path in (ROOT / folder).glob("*.json")]
    assert len(boards) == 3
    for board in boards:
        # A dashboard that names no source asks the first of this type.
        (variable,) = [v for v in board["templating"]["list"] if v["type"] == "datasource"]
        assert variable["query"] == source["type"]


@cache
def _load(place: str) -> Any:
    return yaml.safe_load((DEPLOY / place).read_text())


def _image(name: str) -> str:
    return str(SERVICES[name]["image"])


def _addresses(group: dict[str, Any]) -> list[str]:
    return [target for config in group["static_configs"] for target in config["targets"]]


def _default_pool(record: type[msgspec.Struct]) -> int:
    (field,) = [field for field in msgspec.structs.fields(record) if field.name == "pool_size"]
    return int(field.default)
