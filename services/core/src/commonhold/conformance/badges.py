"""A pytest plugin that says which kits a store passes whole: `-p commonhold.conformance.badges`.

A kit is passed whole when every test of it ran as it ships and passed: what was left out,
skipped, replaced or deselected breaks it (docs/reference/kits.md, section 6).
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from importlib.metadata import version
from typing import Any

import pytest

from commonhold import conformance
from commonhold.conformance.rules import CitesRules

KITS: dict[str, type[CitesRules]] = {
    name: getattr(conformance, name)
    for name in conformance.__all__
    if name.endswith(("Contract", "Compliance"))
}
# Who passes these is a store; the others are for what it offers beyond.
SEAMS = {"MemoryStoreContract", "ConversationStoreContract"}
TITLE = "Commonhold kits"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Badges(), "commonhold-badges")


def release() -> str:
    """X.Y of the kits that run."""
    return ".".join(version("commonhold").split(".")[:2])


class Badges:
    """What happened to each test of each class that subclasses a kit, by store.

    What has no store, as a test that was deselected, counts for every store of its class.
    """

    def __init__(self) -> None:
        self._stores: set[tuple[type, str]] = set()
        self._passed: defaultdict[tuple[type, str | None], set[str]] = defaultdict(set)
        self._spoiled: defaultdict[tuple[type, str | None], set[str]] = defaultdict(set)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            if (place := _place(item)) is not None:
                self._spoiled[place[0], None].add(place[1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if (place := _place(item)) is not None:
            self._note(item, *place, report=report)
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = self.lines()
        if lines:
            terminalreporter.section(f"{TITLE} {release()}")
        for line in lines:
            terminalreporter.write_line(line)

    def lines(self) -> list[str]:
        """One line a store and kit, and the badge of each store that has earned it."""
        whole: defaultdict[str, set[str]] = defaultdict(set)
        broken: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for test_class, store in self._stores:
            for name, kit in KITS.items():
                if not issubclass(test_class, kit):
                    continue
                if missing := self._missing(test_class, store, kit):
                    broken[store][name] = broken[store].get(name, 0) + len(missing)
                else:
                    whole[store].add(name)
        lines = []
        for store in sorted({*whole, *broken}):
            kept = whole[store] - broken[store].keys()
            lines += [f"{store}: {name}: passed" for name in sorted(kept)]
            lines += [
                f"{store}: {name}: {_tests(count)} failed or left out"
                for name, count in sorted(broken[store].items())
            ]
            if kept >= SEAMS and not broken[store]:
                lines.append(f"{store} passes the Commonhold store kits at {release()}")
        return lines

    def _note(
        self, item: pytest.Item, test_class: type, name: str, *, report: pytest.TestReport
    ) -> None:
        fixtures: dict[str, Any] = getattr(item, "funcargs", {})
        subject = fixtures.get("store", fixtures.get("cache"))
        store = None if subject is None else type(subject).__qualname__
        if store is not None:
            self._stores.add((test_class, store))
        if not report.passed or hasattr(report, "wasxfail"):
            self._spoiled[test_class, store].add(name)
        elif report.when == "call":
            self._passed[test_class, store].add(name)

    def _missing(self, test_class: type, store: str, kit: type[CitesRules]) -> set[str]:
        tests = {name for name in dir(kit) if name.startswith("test_")}
        replaced = {
            name for name in tests if getattr(test_class, name, None) is not getattr(kit, name)
        }
        passed = self._passed[test_class, store] | self._passed[test_class, None]
        spoiled = self._spoiled[test_class, store] | self._spoiled[test_class, None]
        return tests - passed | tests & spoiled | replaced


def _place(item: pytest.Item) -> tuple[type, str] | None:
    """The class and the name of a kit's test; None for any other."""
    if not isinstance(item, pytest.Function) or item.cls is None:
        return None
    return (item.cls, item.originalname) if issubclass(item.cls, CitesRules) else None


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"
