"""The official conformance suite in both eras, over a real Postgres.

expected/ names the scenarios that the gateway does not pass, with a reason each; the suite
fails for any other, and for one of them that passes.
"""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from commonhold.adapters.postgres import PostgresStore
from tests.support.conformance_gateway import conformance_gateway
from tests.support.markdown import REPOSITORY
from tests.support.node import run_node

EXPECTED = REPOSITORY / "tests/conformance/expected"
HANDSHAKE = "@modelcontextprotocol/conformance"
STATELESS = "conformance-next"
HANDSHAKE_RUN = ("--spec-version", "2025-11-25")
LISTED = re.compile(r"^  - ([a-z0-9-]+) # \S.+$", re.MULTILINE)


async def test_the_handshake_era_passes_in_sessions(packages: Path, store: PostgresStore) -> None:
    async with conformance_gateway(store, is_stateful=True) as url:
        done = await _run(packages / HANDSHAKE, url, EXPECTED / "2025-11-25.yml", *HANDSHAKE_RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ tools-call-simple-text: 1 passed, 0 failed" in done.stdout
    assert "✓ server-sse-multiple-streams: 2 passed, 0 failed" in done.stdout


async def test_the_handshake_era_passes_without_sessions(
    packages: Path, store: PostgresStore, tmp_path: Path
) -> None:
    expected = tmp_path / "expected.yml"
    more = (EXPECTED / "2025-11-25-without-sessions.yml").read_text().partition("server:\n")[2]
    expected.write_text((EXPECTED / "2025-11-25.yml").read_text() + more)
    async with conformance_gateway(store, is_stateful=False) as url:
        done = await _run(packages / HANDSHAKE, url, expected, *HANDSHAKE_RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ tools-call-simple-text: 1 passed, 0 failed" in done.stdout
    assert "✓ dns-rebinding-protection: 2 passed, 0 failed" in done.stdout


async def test_the_stateless_era_passes(packages: Path, store: PostgresStore) -> None:
    async with conformance_gateway(store, is_stateful=False) as url:
        done = await _run(
            packages / STATELESS, url, EXPECTED / "2026-07-28.yml", "--requirements", "2026-07-28"
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ tools-list: 4 passed, 0 failed" in done.stdout
    assert "✓ server-stateless: " in done.stdout
    # Of a scenario that is partly about resources all the rest passes.
    assert "✗ caching: 5 passed, 2 failed" in done.stdout


@pytest.mark.parametrize(
    ("scenario", "listed"), [("resources-list", "ping"), ("ping", "ping")], ids=["new", "mended"]
)
async def test_the_lists_are_held_both_ways(
    packages: Path, store: PostgresStore, tmp_path: Path, scenario: str, listed: str
) -> None:
    expected = tmp_path / "expected.yml"
    expected.write_text(f"server:\n  - {listed}\n")
    async with conformance_gateway(store, is_stateful=False) as url:
        done = await _run(packages / HANDSHAKE, url, expected, "--scenario", scenario)
    assert done.returncode == 1


@pytest.mark.parametrize("page", sorted(EXPECTED.glob("*.yml")), ids=lambda page: page.name)
def test_every_expected_failure_has_its_reason(page: Path) -> None:
    text = page.read_text()
    assert len(LISTED.findall(text)) == text.count("\n  - ") > 0


async def _run(
    package: Path, url: str, expected: Path, *selection: str
) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(
        run_node,
        package / "dist/index.js",
        *("server", "--url", url, "--expected-failures", str(expected)),
        *selection,
    )
