"""A pytest plugin that says which kits a store passes whole: `-p commonhold.conformance.badges`.

A kit is passed whole when every test of it ran as it ships and passed: what was left out,
skipped, replaced or deselected breaks it (docs/reference/kits.md, section 6).
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from importlib.metadata import version
from typing import Any

import msgspec
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


class Variant(msgspec.Struct, frozen=True):
    """A class that subclasses a kit, with the parameters by which its store is made."""

    test_class: type
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        name = self.test_class.__qualname__
        chosen = ", ".join(f"{parameter}={value}" for parameter, value in self.parameters)
        return f"{name}[{chosen}]" if chosen else name


class Badges:
    """What happened to each test of each class that subclasses a kit, by variant.

    A test whose store could not be made is of the store that others of its variant had.
    """

    def __init__(self) -> None:
        self._stores: dict[Variant, str] = {}
        self._passed: defaultdict[Variant, set[str]] = defaultdict(set)
        self._spoiled: defaultdict[Variant, set[str]] = defaultdict(set)
        # Those of which a test was begun: a variant that was deselected is nobody's failure.
        self._begun: set[Variant] = set()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            if (place := _place(item)) is not None:
                self._spoiled[place[0]].add(place[1])

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
        for (store, test_class), variants in self._variants().items():
            for name, kit in KITS.items():
                if not issubclass(test_class, kit):
                    continue
                if missing := set().union(*(self._missing(one, kit) for one in variants)):
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

    def _variants(self) -> dict[tuple[str, type], list[Variant]]:
        """By the name of their store; where none was ever made, by their own."""
        found: defaultdict[tuple[str, type], list[Variant]] = defaultdict(list)
        for variant in self._begun:
            store = self._stores.get(variant, f"{variant} (no store was made)")
            found[store, variant.test_class].append(variant)
        return found

    def _note(
        self, item: pytest.Item, variant: Variant, name: str, *, report: pytest.TestReport
    ) -> None:
        self._begun.add(variant)
        fixtures: dict[str, Any] = getattr(item, "funcargs", {})
        subject = fixtures.get("store", fixtures.get("cache"))
        if subject is not None:
            self._stores[variant] = type(subject).__qualname__
        if not report.passed or hasattr(report, "wasxfail"):
            self._spoiled[variant].add(name)
        elif report.when == "call":
            self._passed[variant].add(name)

    def _missing(self, variant: Variant, kit: type[CitesRules]) -> set[str]:
        tests = {name for name in dir(kit) if name.startswith("test_")}
        replaced = {
            name
            for name in tests
            if getattr(variant.test_class, name, None) is not getattr(kit, name)
        }
        return tests - self._passed[variant] | tests & self._spoiled[variant] | replaced


def _place(item: pytest.Item) -> tuple[Variant, str] | None:
    """The variant and the name of a kit's test; None for any other."""
    if not isinstance(item, pytest.Function) or item.cls is None:
        return None
    if not issubclass(item.cls, CitesRules):
        return None
    return Variant(item.cls, _parameters(item)), item.originalname


def _parameters(item: pytest.Function) -> tuple[tuple[str, str], ...]:
    """Of a test's parameters those that its store is made by, the fixtures below it included."""
    given: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
    if not given:
        return ()
    names = ["store", "cache"]
    for name in names:
        # The fixtures that a test takes stand nowhere else.
        for definition in item._fixtureinfo.name2fixturedefs.get(name, ()):  # noqa: SLF001 - see above
            names += [other for other in definition.argnames if other not in names]
    return tuple((name, repr(given[name])) for name in sorted(names) if name in given)


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"
