"""What the badge says of a store, and what does not earn it."""

import subprocess
import sys
from pathlib import Path

from commonhold.conformance.badges import release

# Kits cut down to a test each, so that a whole pass takes no time.
THEIRS = """
import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ErasureContract, OutlinedContract, SearchWithinContract


class Subject:
    @pytest.fixture
    def store(self, clock):
        return InMemoryStore(clock=clock)

    async def plant_newer_turn(self, store, conversation_id, turn):
        turns = store._conversations.ledgers[conversation_id].turns
        turns[turn] = type(turns[turn])(**{name: getattr(turns[turn], name)
            for name in turns[turn].__struct_fields__} | {"format": 2})


class TestErasure(Subject, ErasureContract):
    pass


class TestFence(Subject, SearchWithinContract):
    test_a_prefix_is_plain_text = None


class TestOutlines(Subject, OutlinedContract):
    async def test_the_store_is_outlined(self, store):
        pass

    async def plant_newer_document(self, store, scope, path):
        pytest.skip("not here")
"""


# One class over two stores, the first of which is no good.
BOTH = """
import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import OutlinedContract


class Forgetful(InMemoryStore):
    async def outline(self, *args, **kwargs):
        return None


class TestBoth(OutlinedContract):
    @pytest.fixture(params=[Forgetful, InMemoryStore])
    def store(self, clock, request):
        return request.param(clock=clock)
"""


def badge(folder: Path, *arguments: str, theirs: str = THEIRS) -> list[str]:
    """The lines of the plugin's section."""
    (folder / "test_theirs.py").write_text(theirs)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-p", "commonhold.conformance.badges", "-o", "asyncio_mode=auto", *arguments),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    _, title, rest = run.stdout.partition(f"Commonhold kits {release()}")
    assert title, run.stdout + run.stderr
    return [line for line in rest.splitlines() if line.startswith(("Forgetful", "InMemoryStore"))]


def test_what_is_left_out_skipped_or_replaced_breaks_a_kit(tmp_path: Path) -> None:
    assert badge(tmp_path) == [
        "InMemoryStore: ErasureContract: passed",
        "InMemoryStore: OutlinedContract: 2 tests failed or left out",
        "InMemoryStore: SearchWithinContract: 1 test failed or left out",
    ]


def test_what_is_deselected_breaks_a_kit(tmp_path: Path) -> None:
    (line,) = badge(tmp_path, "-k", "TestErasure and not idempotent and not bad_id")
    assert line == "InMemoryStore: ErasureContract: 1 test failed or left out"


def test_one_class_over_two_stores_is_told_for_each(tmp_path: Path) -> None:
    # The row of a newer format, which nothing plants here, is the one that both miss.
    assert badge(tmp_path, theirs=BOTH) == [
        "Forgetful: OutlinedContract: 6 tests failed or left out",
        "InMemoryStore: OutlinedContract: 1 test failed or left out",
    ]
