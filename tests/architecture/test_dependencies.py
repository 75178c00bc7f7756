"""Each third-party package has named homes, so that replacing one is the work of a known place."""

import re
import sys

import pytest

from tests.support.markdown import literals, section, tables
from tests.support.repository import ROOT, imports_by_module

FIRST_PARTY = {"commonhold", "commonhold_gateway", "commonhold_maintenance", "commonhold_state"}

HOMES = {
    "aiohttp": (
        "commonhold.adapters.openai.providers",
        "commonhold.adapters.remote.exchanges",
        "commonhold.conformance.wire.runs",
        "commonhold.conformance.wire.services",
        "commonhold.ops.listener",
        "commonhold_gateway.oauth.fetches",
        "commonhold_state",
    ),
    "asyncpg": ("commonhold.adapters.postgres", "commonhold.migrations"),
    "croniter": ("commonhold_maintenance.schedules",),
    "cyclopts": (
        "commonhold.cli.adoption",
        "commonhold.cli.conformance",
        "commonhold.cli.exports",
        "commonhold.cli.shell",
        "commonhold.cli.upkeep",
        "commonhold.cli.whole_numbers",
    ),
    "jwt": ("commonhold_gateway.oauth.keys", "commonhold_gateway.oauth.tokens"),
    "mcp": ("commonhold_gateway.sessions", "commonhold_gateway.surface"),
    "msgspec": ("commonhold", "commonhold_gateway", "commonhold_maintenance", "commonhold_state"),
    "pgqueuer": ("commonhold_maintenance.queues",),
    "prometheus_client": ("commonhold.ops",),
    "pydantic": (
        "commonhold.adapters.openai.schemas",
        "commonhold.conformance.language_models",
        "commonhold.contract.language_models",
        "commonhold.usecases.upkeep.operations",
        "commonhold_gateway.surface",
        "commonhold_gateway.tools.arguments",
    ),
    "pydantic_core": ("commonhold_gateway.tools.arguments",),
    "pytest": ("commonhold.conformance",),
    "rich": (
        "commonhold.cli.adoption",
        "commonhold.cli.consoles",
        "commonhold.cli.demo",
        "commonhold.cli.transfers",
        "commonhold.cli.wire_kit",
    ),
    "starlette": ("commonhold_gateway",),
    "structlog": (
        "commonhold.adapters.file",
        "commonhold.adapters.postgres.upkeep",
        "commonhold.adapters.remote.watching",
        "commonhold.adapters.resilience",
        "commonhold.ops",
        "commonhold.usecases",
        "commonhold_gateway",
        "commonhold_maintenance",
        "commonhold_state",
    ),
    "typing_extensions": ("commonhold_gateway.tools.arguments",),
    "uvicorn": ("commonhold_gateway.listening",),
    "uvloop": (
        "commonhold_gateway.__main__",
        "commonhold_maintenance.__main__",
        "commonhold_state.__main__",
    ),
    "yaml": ("commonhold.adapters.file.headers", "commonhold.usecases.skill_files"),
    "yarl": ("commonhold.adapters.openai.providers", "commonhold.adapters.remote.exchanges"),
}

USES = [
    (package, module)
    for module, packages in imports_by_module().items()
    for package in sorted(packages - sys.stdlib_module_names - FIRST_PARTY)
]


def test_a_package_is_imported_at_home_alone() -> None:
    strays = [
        (package, module)
        for package, module in USES
        if not any(_is_inside(module, home) for home in HOMES.get(package, ()))
    ]
    assert strays == []


@pytest.mark.parametrize(
    ("package", "home"), [(package, home) for package, homes in HOMES.items() for home in homes]
)
def test_a_home_still_uses_its_package(package: str, home: str) -> None:
    assert any(used == package and _is_inside(module, home) for used, module in USES)


def test_the_homes_that_the_architecture_names_are_these() -> None:
    (rows, *_) = tables(section((ROOT / "docs/architecture.md").read_text(), "2. One direction"))
    named = {literals(package)[0]: {*map(_in_full, literals(homes))} for package, homes in rows}
    assert named == {package: {*HOMES[package]} for package in named}
    assert named.keys() >= {"aiohttp", "asyncpg", "mcp"}


def test_what_deptry_is_told_to_pass_over_is_not_imported() -> None:
    line = re.search(r"^UNIMPORTED := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line is not None
    excused = {name.replace("-", "_") for name in line[1].split("|")}
    assert excused & {package for package, _ in USES} == set()


def _in_full(home: str) -> str:
    """The module, of which the page leaves out the name of core."""
    return home if home.partition(".")[0] in FIRST_PARTY else f"commonhold.{home}"


def _is_inside(module: str, home: str) -> bool:
    return module == home or module.startswith(f"{home}.")
