"""The kits serve a project of somebody else's, whatever its asyncio mode and layout."""

import subprocess
import sys
from pathlib import Path

import pytest

THEIR_TESTS = """
import pytest
import pytest_asyncio

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ErasureContract, PageableContract, SearchContract


class TestSearch(SearchContract):
    @pytest.fixture
    def store(self, clock):
        return InMemoryStore(clock=clock)


class TestErasure(ErasureContract):
    @pytest_asyncio.fixture
    async def store(self, clock):
        yield InMemoryStore(clock=clock)


class TestWithoutAStore(PageableContract):
    pass
"""


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_kit_runs_in_another_project(tmp_path: Path, mode: str) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nasyncio_mode = {mode}\n")
    (tmp_path / "test_theirs.py").write_text(THEIR_TESTS)
    run = subprocess.run(  # noqa: PLW1510 - two tests are meant to fail
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    last = run.stdout.splitlines()[-1]
    assert "skipped" not in last
    assert "xfailed" not in last
    # Only the hook of a newer turn is missing; the store without a fixture says so each time.
    assert "test_an_erasure_is_not_stopped_by_a_newer_turn" in run.stdout
    assert "TestErasure must provide the hook `plant_newer_turn`" in run.stdout
    assert "TestWithoutAStore must provide the fixture `store`" in run.stdout
    assert last.split(",")[0].endswith("1 failed"), last
