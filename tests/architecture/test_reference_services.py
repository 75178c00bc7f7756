"""The reference repeats facts of the services; each is compared with its source."""

import re
from datetime import UTC, datetime

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from commonhold.adapters.openai import ModelSettings
from commonhold.cli.migrate import MigrateSettings
from commonhold.contract.gardens import Backlog
from commonhold.ops.metrics import OUTCOMES, Metrics, PoolGauges
from commonhold.ops.settings import KNOWN_NAMES, settings_of
from commonhold_gateway.app import TOOL_LABELS
from commonhold_gateway.calls import OUTCOMES as TOOL_OUTCOMES
from commonhold_gateway.oauth.refusals import OUTCOMES as TOKEN_OUTCOMES
from commonhold_gateway.settings import GatewaySettings
from commonhold_maintenance.app import SKIPS
from commonhold_maintenance.settings import MaintenanceSettings
from commonhold_maintenance.tasks import ACTIONS
from commonhold_state.gates import REJECTIONS
from commonhold_state.routes import LABELS, ROUTES
from commonhold_state.settings import StateSettings
from tests.support.goldens.bodies import PARAMETERS
from tests.support.markdown import REPOSITORY, literals, reference, section, tables
from tests.support.oauth_doors import Door, entry

STATE_README = REPOSITORY / "services/state/README.md"
MAINTENANCE_README = REPOSITORY / "services/maintenance/README.md"
GATEWAY_README = REPOSITORY / "services/gateway/README.md"
PARAMETER = re.compile(r"(\w+)(?: (?:str|int|list of \w+))?([!?])")
OWN_SETTING = re.compile(r"COMMONHOLD_\w+")
OWN_METRIC = re.compile(r"commonhold_\w+")


class TestSettings:
    @pytest.mark.parametrize(
        ("page", "record"),
        [
            (section(reference("settings.md"), "1. State service"), StateSettings),
            (section(STATE_README.read_text(), "Settings"), StateSettings),
            (section(reference("settings.md"), "3. MCP gateway"), GatewaySettings),
            (section(GATEWAY_README.read_text(), "Settings"), GatewaySettings),
            (section(reference("settings.md"), "4. Model"), ModelSettings),
            (section(reference("settings.md"), "5. Maintenance worker"), MaintenanceSettings),
            (section(MAINTENANCE_README.read_text(), "Settings"), MaintenanceSettings),
        ],
        ids=[
            "settings.md, 1",
            "state/README.md",
            "settings.md, 3",
            "gateway/README.md",
            "settings.md, 4",
            "settings.md, 5",
            "maintenance/README.md",
        ],
    )
    def test_a_table_says_what_the_record_says(
        self, page: str, record: type[msgspec.Struct]
    ) -> None:
        assert next(iter(tables(page))) == _settings_table(record)

    def test_the_table_of_the_migration_says_what_its_record_says(self) -> None:
        page = section(reference("settings.md"), "2. `commonhold migrate`")
        assert next(iter(tables(page))) == _settings_table(MigrateSettings)

    def test_every_known_name_is_described(self) -> None:
        page = reference("settings.md")
        described = {name for name in literals(page) if OWN_SETTING.fullmatch(name)}
        assert described == KNOWN_NAMES


def _settings_table(record: type[msgspec.Struct]) -> list[list[str]]:
    settings = settings_of(record)
    return [
        [f"`{settings[field.name].name}`", _default(field), settings[field.name].meaning]
        for field in msgspec.structs.fields(record)
    ]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default in ((), None):
        return "unset"
    value = field.default
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


class _Pool:
    in_use = idle = waiting = 0
    is_up = True


class TestMetrics:
    def test_the_table_has_every_metric_of_the_service_with_its_type_and_labels(self) -> None:
        described = {
            literals(row[0])[0]: (row[1], tuple(filter(None, row[2].split(", "))))
            for row in next(iter(tables(reference("metrics.md"))))
        }
        assert described == _registered()

    @pytest.mark.parametrize(
        ("label", "values"),
        [
            ("reason of `commonhold_rejected_total`", REJECTIONS),
            ("outcome", OUTCOMES),
            ("tool", TOOL_LABELS),
            ("outcome of `commonhold_tool_calls_total`", TOOL_OUTCOMES),
            ("kind", ACTIONS),
            ("reason of `commonhold_upkeep_skips_total`", SKIPS),
            ("outcome of `commonhold_oauth_tokens_total`", TOKEN_OUTCOMES),
        ],
    )
    def test_the_values_of_a_label_are_listed(self, label: str, values: tuple[str, ...]) -> None:
        _metrics, labels = tables(reference("metrics.md"))
        listed = {row[0]: literals(row[1]) for row in labels}
        assert listed[label] == list(values)


def _registered() -> dict[str, tuple[str, tuple[str, ...]]]:
    metrics = Metrics(version="0", revision="0")
    pool: PoolGauges = _Pool()
    metrics.watch_pool(pool)
    metrics.watch_readiness(lambda: True)
    metrics.watch_replays(lambda: 0)
    metrics.count_conflict("version_mismatch")
    http = metrics.http(service="state", routes=LABELS, reasons=REJECTIONS)
    http.answered("/health", 200, started=0.0)
    metrics.operations(["read"])
    metrics.tools(TOOL_LABELS, outcomes=TOOL_OUTCOMES)
    upkeep = metrics.upkeep(gardens=["home"], actions=ACTIONS, skips=SKIPS)
    upkeep.seen({"home": datetime(2026, 1, 1, tzinfo=UTC)}, Backlog())
    Door(entry("https://id.example.org")).door.report_to(metrics)
    over_a_service = Metrics(version="0", revision="0")
    over_a_service.watch_service(lambda: True)
    return {**dict(_families(metrics.registry)), **dict(_families(over_a_service.registry))}


def _families(registry: CollectorRegistry) -> list[tuple[str, tuple[str, tuple[str, ...]]]]:
    found = []
    for family in registry.collect():
        if OWN_METRIC.fullmatch(family.name):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            found.append((name, (family.type, tuple(_in_order(labels)))))
    return found


def _in_order(labels: set[str]) -> list[str]:
    order = [
        "service",
        "garden",
        "kind",
        "issuer",
        "tool",
        "operation",
        "route",
        "status",
        "reason",
        "outcome",
        "state",
    ]
    return sorted(labels, key=[*order, "version", "revision"].index)


class TestRoutes:
    def test_the_tables_have_every_route_and_no_other(self) -> None:
        described = [row[0] for row in _route_rows()]
        assert described == [route.path.removeprefix("/v1/") for route in ROUTES]

    @pytest.mark.parametrize("route", PARAMETERS)
    def test_the_parameters_of_a_route_are_those_that_are_typed(self, route: str) -> None:
        listed = PARAMETER.findall(_row_of(route)[1])
        expected = [(name, "!" if required else "?") for name, _, required in PARAMETERS[route]]
        assert listed == expected

    def test_the_mutating_routes_are_those_that_take_a_key(self) -> None:
        page = section(reference("wire.md"), "14. Idempotency keys")
        listed = re.search(r"on any mutating route \(([^)]*)\)", page)
        assert listed is not None
        mutating = [route.path.rpartition("/")[2] for route in ROUTES if route.mutates]
        assert re.split(r", ", listed[1]) == mutating


def _route_rows() -> list[list[str]]:
    titles = ("6. Memory routes", "7. Conversation routes", "8. Store routes")
    return [
        row for title in titles for row in next(iter(tables(section(reference("wire.md"), title))))
    ]


def _row_of(route: str) -> list[str]:
    return next(row for row in _route_rows() if row[0] == route)
