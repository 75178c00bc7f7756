"""The alerts: their tests, their runbooks, and that what they ask for is what the services say."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.support.helm import CHART, FULL, render
from tests.support.markdown import fences, section
from tests.support.promql import faults_of, recorded_in
from tests.support.promtool import promtool
from tests.support.repository import ROOT

FILES = sorted((CHART / "files/rules").glob("*.yml"))
TESTS = sorted((ROOT / "tests/chart/rules").glob("*_test.yml"))
RUNBOOKS = ROOT / "docs/runbooks"


def _load(path: Any) -> Any:
    return yaml.safe_load(path.read_text())


RULES = [rule for file in FILES for group in _load(file)["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
EXPECTATIONS = [
    expectation
    for file in TESTS
    for test in _load(file)["tests"]
    for expectation in test["alert_rule_test"]
]


def test_the_alerts_fire_when_they_should_and_not_otherwise() -> None:
    paths = [str(path.relative_to(ROOT)) for path in TESTS]
    done = _promtool("test", "rules", *paths)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("SUCCESS") == len(TESTS)


def test_the_rules_are_well_formed() -> None:
    paths = [str(path.relative_to(ROOT)) for path in FILES]
    done = _promtool("check", "rules", "--lint=all", "--lint-fatal", *paths)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_of_the_stack_loads_them(tmp_path: Any) -> None:
    config = _load(ROOT / "deploy/prometheus/prometheus.yml")
    assert config["rule_files"] == ["/etc/prometheus/rules/*.yml"]
    compose = _load(ROOT / "docker-compose.yml")["services"]["prometheus"]
    assert "./helm/commonhold/files/rules:/etc/prometheus/rules:ro" in compose["volumes"]
    jobs = {job["job_name"] for job in config["scrape_configs"]}
    assert jobs == {"commonhold-state", "commonhold-gateway", "commonhold-maintenance"}


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    folders = ("helm", "tests/chart")
    return promtool(*arguments, folders={ROOT / folder: folder for folder in folders})


@pytest.mark.parametrize("name", ALERTS)
class TestAlert:
    def test_it_is_tested_firing_and_not_firing(self, name: str) -> None:
        fires = [bool(each["exp_alerts"]) for each in EXPECTATIONS if each["alertname"] == name]
        assert {*fires} == {True, False}

    def test_it_asks_for_what_the_services_say(self, name: str) -> None:
        expression = ALERTS[name]["expr"]
        assert faults_of(expression) == []
        assert recorded_in(expression) <= RECORDED

    def test_it_tells_releases_apart(self, name: str) -> None:
        grouped = re.findall(r"\bby \(([^)]*)\)", ALERTS[name]["expr"])
        summed = re.findall(r"\b(?:sum|max|min)\b", ALERTS[name]["expr"])
        assert len(grouped) == len(summed)
        assert all("namespace" in labels.split(", ") for labels in grouped)

    def test_its_runbook_says_what_to_do(self, name: str) -> None:
        annotations = ALERTS[name]["annotations"]
        assert annotations["runbook"] == f"docs/runbooks/{name}.md"
        # A relative path is no URL, and where the pages are published only the operator knows.
        assert "runbook_url" not in annotations
        page = (RUNBOOKS / f"{name}.md").read_text()
        assert page.startswith(f"# {name}\n")
        assert section(page, "Meaning").strip()
        (commands,) = fences(section(page, "First three commands"), "sh")
        assert len(commands.splitlines()) == 3
        assert section(page, "Remedy").count("\n- ") >= 2
        assert annotations["summary"]

    def test_it_says_how_urgent_it_is(self, name: str) -> None:
        assert ALERTS[name]["labels"]["severity"] in {"page", "ticket"}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_what_is_recorded_is_made_of_what_the_services_say_and_is_used(name: str) -> None:
    (rule,) = [rule for rule in RULES if rule.get("record") == name]
    assert faults_of(rule["expr"]) == []
    assert rule["expr"].count("sum") == rule["expr"].count("sum by (namespace, ")
    alerts = set().union(*(recorded_in(alert["expr"]) for alert in ALERTS.values()))
    dashboards = "".join(path.read_text() for path in CHART.glob("files/dashboards/*.json"))
    assert name in alerts or name in dashboards


def test_no_runbook_is_left_of_an_alert_that_is_gone() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == ALERTS.keys()
    listed = re.findall(
        r"^\| \[(\w+)\]\(\1\.md\)", (RUNBOOKS / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(listed) == sorted(pages)


def test_metrics_in_runbooks_are_those_of_the_services() -> None:
    for page in RUNBOOKS.glob("*.md"):
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        named = re.findall(r"`(commonhold_[a-z_]+)`", prose)
        assert [fault for name in named for fault in faults_of(name)] == [], page.name


class TestSpelling:
    """What holds the other tests: a renamed metric or label is seen."""

    @pytest.mark.parametrize(
        ("expression", "fault"),
        [
            ("rate(commonhold_http_request_total[5m])", "no metric commonhold_http_request_total"),
            ("commonhold_pool_wait_seconds", "no metric commonhold_pool_wait_seconds"),
            ("commonhold_pool_waiting_bucket", "no metric commonhold_pool_waiting_bucket"),
            (
                'commonhold_rejected_total{cause="x"}',
                "commonhold_rejected_total has no label cause",
            ),
            ("sum by (servce) (commonhold_in_flight)", "no label servce"),
        ],
    )
    def test_a_name_that_no_service_has_is_found(self, expression: str, fault: str) -> None:
        assert faults_of(expression) == [fault]

    def test_names_that_services_have_are_none(self) -> None:
        assert faults_of('commonhold_pool_wait_seconds_bucket{le="0.5", job="x"}') == []
        assert faults_of("sum by (service) (commonhold_in_flight)") == []


class TestInTheChart:
    def test_the_rules_are_the_files(self) -> None:
        (rule,) = render(FULL).kind("PrometheusRule").values()
        groups = [group for file in FILES for group in _load(file)["groups"]]
        for group in groups:
            for each in group["rules"]:
                if "annotations" in each:
                    url = f"https://runbooks.example.org/{each['alert']}.md"
                    each["annotations"]["runbook_url"] = url
        assert rule["spec"]["groups"] == groups
        (unlinked,) = render(FULL, "metrics.runbookBaseUrl=").kind("PrometheusRule").values()
        assert unlinked["spec"]["groups"] == [
            group for file in FILES for group in _load(file)["groups"]
        ]
        assert rule["metadata"]["labels"]["release"] == "prometheus"

    @pytest.mark.parametrize(
        ("wanted", "exists", "made"),
        [
            ("true", False, True),
            ("auto", False, False),
            ("auto", True, True),
            ("false", True, False),
        ],
    )
    @pytest.mark.parametrize("kind", ["serviceMonitor", "podMonitor", "prometheusRule"])
    def test_monitors_are_made_as_asked(
        self, kind: str, wanted: str, *, exists: bool, made: bool
    ) -> None:
        title = kind[0].upper() + kind[1:]
        arguments = ("--api-versions", f"monitoring.coreos.com/v1/{title}") if exists else ()
        others = {"serviceMonitor", "podMonitor", "prometheusRule"} - {kind}
        overrides = [f"metrics.{other}=false" for other in sorted(others)]
        chart = render(FULL, *overrides, f"metrics.{kind}={wanted}", arguments=arguments)
        assert bool(chart.kind(title)) is made

    @pytest.mark.parametrize(
        ("kind", "endpoints"),
        [("ServiceMonitor", "endpoints"), ("PodMonitor", "podMetricsEndpoints")],
    )
    def test_a_monitor_finds_its_service_and_names_its_job(self, kind: str, endpoints: str) -> None:
        service = f"metrics.serviceMonitor={str(kind == 'ServiceMonitor').lower()}"
        pod = f"metrics.podMonitor={str(kind == 'PodMonitor').lower()}"
        chart = render(FULL, service, pod)
        monitors = chart.kind(kind)
        assert monitors.keys() == {"memory-state", "memory-gateway", "memory-maintenance"}
        for component in ("state", "gateway", "maintenance"):
            spec = monitors[f"memory-{component}"]["spec"]
            (endpoint,) = spec[endpoints]
            assert endpoint["port"] == "ops"
            relabeling = {"targetLabel": "job", "replacement": f"commonhold-{component}"}
            assert endpoint["relabelings"] == [relabeling]
            # Else the label `service` of our metrics gives way to the name of the Service.
            assert endpoint["honorLabels"] is True
            labels = chart.one("Service", f"memory-{component}")["metadata"]["labels"]
            assert spec["selector"]["matchLabels"].items() <= labels.items()
