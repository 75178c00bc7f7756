"""Every import contract breaks on an import that it forbids, so that keeping it means something."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import MEMBERS, ROOT, read_toml

CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in read_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
}

CORE = "services/core/src/commonhold"
GATEWAY = "services/gateway/src/commonhold_gateway"
MAINTENANCE = "services/maintenance/src/commonhold_maintenance"
STATE = "services/state/src/commonhold_state"

PLANTS = [
    ("core-layers", f"{CORE}/contract/planted.py", "commonhold.migrations.planted"),
    ("core-layers", f"{CORE}/ops/planted.py", "commonhold.cli.planted"),
    ("core-layers", f"{CORE}/migrations/planted.py", "commonhold.wire.planted"),
    ("core-layers", f"{CORE}/usecases/planted.py", "commonhold.adapters.planted"),
    ("core-layers", f"{CORE}/adapters/planted.py", "commonhold.conformance.planted"),
    ("core-layers", f"{CORE}/a_package_without_a_place/planted.py", "commonhold.contract"),
    ("services-on-core", f"{CORE}/contract/planted.py", "commonhold_state"),
    ("services-on-core", f"{GATEWAY}/planted.py", "commonhold_state"),
    ("services-on-core", f"{MAINTENANCE}/planted.py", "commonhold_gateway"),
    ("services-on-core", f"{STATE}/planted.py", "commonhold_gateway"),
    ("edges-name-no-adapter", f"{GATEWAY}/tools/planted.py", "commonhold.adapters.in_memory"),
    ("edges-name-no-adapter", f"{MAINTENANCE}/planted.py", "commonhold.adapters.in_memory"),
    ("edges-name-no-adapter", f"{STATE}/handlers/planted.py", "commonhold.adapters.in_memory"),
    ("no-kit-at-run-time", f"{GATEWAY}/planted.py", "commonhold.conformance"),
    ("no-kit-at-run-time", f"{MAINTENANCE}/planted.py", "commonhold.conformance"),
    ("no-kit-at-run-time", f"{STATE}/planted.py", "commonhold.conformance"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the contracts are about."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "services", tmp_path / "services")
    return tmp_path


@pytest.mark.parametrize(("contract", "path", "imported"), PLANTS)
def test_a_planted_import_breaks_the_contract(
    tree: Path, contract: str, path: str, imported: str
) -> None:
    _plant(tree, path, imported)
    code, output = _lint(tree, contract)
    assert f"{CONTRACTS[contract]} BROKEN" in output
    assert code == 1


@pytest.mark.parametrize("contract", CONTRACTS)
def test_without_a_plant_the_contract_is_kept(tree: Path, contract: str) -> None:
    code, output = _lint(tree, contract)
    assert f"{CONTRACTS[contract]} KEPT" in output
    assert code == 0


def test_every_contract_has_a_plant() -> None:
    assert {contract for contract, _, _ in PLANTS} == set(CONTRACTS)


def _plant(tree: Path, path: str, imported: str) -> None:
    """Write a module with the import, and what it imports where that is not there yet."""
    source = tree / CORE.removesuffix("/commonhold")
    if imported.endswith(".planted"):
        _write_module(source / f"{imported.replace('.', '/')}.py", "")
    _write_module(tree / path, f"import {imported}\n")


def _write_module(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)


def _lint(tree: Path, contract: str) -> tuple[int, str]:
    sources = [str(tree / member.relative_to(ROOT) / "src") for member in MEMBERS]
    finished = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--contract", contract],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sources), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode, finished.stdout + finished.stderr
