"""What the badge says of a store, and what does not earn it."""

import subprocess
import sys
from pathlib import Path

import pytest

from commonhold.conformance import SearchWithinContract
from commonhold.conformance.badges import release

PLANTING = """
class Planting:
    async def plant_newer_turn(self, store, conversation_id, turn):
        turns = store._conversations.ledgers[conversation_id].turns
        turns[turn] = type(turns[turn])(**{name: getattr(turns[turn], name)
            for name in turns[turn].__struct_fields__} | {"format": 2})
"""

# Kits cut down to a test each, so that a whole pass takes no time.
THEIRS = f"""{PLANTING}
import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ErasureContract, OutlinedContract, SearchWithinContract


class Subject(Planting):
    @pytest.fixture
    def store(self, clock):
        return InMemoryStore(clock=clock)


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


class Mindful(InMemoryStore):
    pass


class TestBoth(OutlinedContract):
    @pytest.fixture(params=[Forgetful, Mindful])
    def store(self, clock, request):
        return request.param(clock=clock)
"""


# One class over three stores: the first fails now and then before it is made, the second is
# never made, and nothing is wrong with the third.
UNMADE = f"""{PLANTING}
import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import SearchWithinContract


class Flaky(InMemoryStore):
    pass


class Never(InMemoryStore):
    pass


class Steady(InMemoryStore):
    pass


class TestAll(Planting, SearchWithinContract):
    @pytest.fixture(params=[Flaky, Never, Steady])
    def kind(self, request):
        return request.param

    @pytest.fixture
    def place(self, kind, request):
        if kind is Never or (kind is Flaky and "plain_text" in request.node.name):
            raise OSError("no room")

    @pytest.fixture
    def store(self, clock, kind, place):
        return kind(clock=clock)


class TestNone(SearchWithinContract):
    @pytest.fixture
    def store(self):
        pytest.skip("nothing to run on")
"""
ALL = len([name for name in dir(SearchWithinContract) if name.startswith("test_")])


FILES = {"theirs": THEIRS, "both": BOTH, "unmade": UNMADE}


def badges(folder: Path, *arguments: str) -> list[str]:
    """The lines of the plugin's section, of a run over all of the files."""
    for name, text in FILES.items():
        (folder / f"test_{name}.py").write_text(text)
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
    return [line for line in rest.splitlines() if "Contract: " in line and "::" not in line]


def of(lines: list[str], *stores: str) -> list[str]:
    return [line for line in lines if line.startswith(stores)]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return badges(tmp_path_factory.mktemp("badges"))


def test_what_is_left_out_skipped_or_replaced_breaks_a_kit(whole_run: list[str]) -> None:
    assert of(whole_run, "InMemoryStore") == [
        "InMemoryStore: ErasureContract: passed",
        "InMemoryStore: OutlinedContract: 2 tests failed or left out",
        "InMemoryStore: SearchWithinContract: 1 test failed or left out",
    ]


def test_one_class_over_two_stores_is_told_for_each(whole_run: list[str]) -> None:
    # The row of a newer format, which nothing plants here, is the one that both miss.
    assert of(whole_run, "Forgetful", "Mindful") == [
        "Forgetful: OutlinedContract: 6 tests failed or left out",
        "Mindful: OutlinedContract: 1 test failed or left out",
    ]


def test_a_test_whose_store_was_not_made_counts_for_that_store_alone(
    whole_run: list[str],
) -> None:
    whole = f"SearchWithinContract: {ALL} tests failed or left out"
    assert of(whole_run, "Flaky", "Never", "Steady", "Test") == [
        "Flaky: SearchWithinContract: 1 test failed or left out",
        "Steady: SearchWithinContract: passed",
        f"TestAll[kind=<class 'test_unmade.Never'>] (no store was made): {whole}",
        f"TestNone (no store was made): {whole}",
    ]


def test_what_is_deselected_breaks_a_kit_and_no_other_store(tmp_path: Path) -> None:
    chosen = "TestErasure and not idempotent and not bad_id or TestAll and Steady"
    assert badges(tmp_path, "-k", chosen) == [
        "InMemoryStore: ErasureContract: 1 test failed or left out",
        "Steady: SearchWithinContract: passed",
    ]
