"""The dashboards: every query names what the services say, and Prometheus can parse it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.test_rules import RECORDED
from tests.support.helm import CHART, FULL, render
from tests.support.promql import described_metrics, faults_of, metrics_of, recorded_in
from tests.support.promtool import check_expressions

FILES = sorted((CHART / "files/dashboards").glob("*.json"))
BOARDS = {path.stem: json.loads(path.read_text()) for path in FILES}
PANELS = [
    pytest.param(panel, id=f"{name}: {panel['title']} ({panel['id']})")
    for name, board in BOARDS.items()
    for panel in board["panels"]
    if panel["type"] != "row"
]
_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")


def _expressions(board: Any) -> list[str]:
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_there_is_one_for_the_services_the_store_and_the_worker() -> None:
    assert BOARDS.keys() == {"service", "store", "maintenance"}
    assert len({board["uid"] for board in BOARDS.values()}) == 3


@pytest.mark.parametrize("panel", PANELS)
class TestPanel:
    def test_it_asks_for_what_the_services_say(self, panel: Any) -> None:
        for target in panel["targets"]:
            assert faults_of(target["expr"]) == []
            assert recorded_in(target["expr"]) <= RECORDED
            own = [*metrics_of(target["expr"]), *recorded_in(target["expr"])]
            assert own or re.search(r"\b(?:up|process_\w+)\b", target["expr"])

    def test_its_legend_names_labels_that_are_left(self, panel: Any) -> None:
        for target in panel["targets"]:
            named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            kept = re.search(r"\bby \(([^)]*)\)", target["expr"])
            if kept is not None and not recorded_in(target["expr"]):
                assert named <= {name.strip() for name in kept[1].split(",")}

    def test_it_says_what_it_shows_and_asks_the_source_that_was_chosen(self, panel: Any) -> None:
        assert panel["description"].endswith(".")
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert all(source["uid"] == "${datasource}" for source in sources)


@pytest.mark.parametrize("name", BOARDS)
def test_panels_do_not_overlap_and_have_ids_of_their_own(name: str) -> None:
    panels = BOARDS[name]["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _y in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("name", BOARDS)
def test_every_variable_that_is_used_is_declared_and_the_reverse(name: str) -> None:
    board = BOARDS[name]
    declared = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(board)))
    assert used == declared
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            assert _LABEL_VALUES.fullmatch(variable["query"]["query"])


def test_every_metric_of_the_services_is_on_a_dashboard() -> None:
    rules = yaml.safe_load((CHART / "files/rules/commonhold.yml").read_text())["groups"]
    recorded = {r["record"]: r["expr"] for group in rules for r in group["rules"] if "record" in r}
    shown = [text for board in BOARDS.values() for text in _expressions(board)]
    shown += [recorded[name] for text in shown for name in recorded_in(text)]
    names = {name for text in shown for name, _labels in metrics_of(text)}
    bases = {re.sub("_(bucket|count|sum)$", "", name) for name in names}
    assert described_metrics().keys() - (names | bases) == set()


def test_every_query_can_be_parsed(tmp_path: Path) -> None:
    check_expressions([text for board in BOARDS.values() for text in _expressions(board)], tmp_path)


def test_a_query_that_cannot_be_parsed_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="parse error"):
        check_expressions(["sum by (service (commonhold_in_flight)"], tmp_path)


def test_the_chart_ships_the_files_with_the_label_that_finds_them() -> None:
    maps = {
        name: manifest
        for name, manifest in render(FULL).kind("ConfigMap").items()
        if name.startswith("memory-dashboard-")
    }
    assert maps.keys() == {f"memory-dashboard-{name}" for name in BOARDS}
    for name, board in BOARDS.items():
        manifest = maps[f"memory-dashboard-{name}"]
        assert manifest["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert json.loads(manifest["data"][f"commonhold-{name}.json"]) == board


def test_they_are_off_unless_asked_for() -> None:
    names = render().kind("ConfigMap")
    assert [name for name in names if "dashboard" in name] == []
