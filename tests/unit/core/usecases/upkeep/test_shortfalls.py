"""An erasure whose store refuses a step: the others are done, and the answer tells both."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.in_memory import InMemoryStore
from commonhold.conformance import ControlledClock
from commonhold.contract import ClaimLostError, MemoryFormatError, Message, StoreUnavailableError
from commonhold.usecases.upkeep.erasures import redact_conversation
from commonhold.usecases.upkeep.expirations import expire_documents
from commonhold.usecases.upkeep.prunes import PruneReport, prune
from commonhold.usecases.upkeep.result_json import prune_object
from commonhold.usecases.upkeep.session_listings import DocumentName
from tests.support.upkeep.gardens import NOW, GardenCases

SCOPES = ("u:a", "u:b", "u:c")
SESSION = "sessions/chat-2"
BROKEN = MemoryFormatError(scope="u:b", path="x", reason="broken")
GONE = StoreUnavailableError("gone")
LOST = ClaimLostError(name="retention", token=1)

CONVERSATIONS = ("last_turn_number", "redact_turns")
# What is erased of the second conversation when one scope is refused.
ONE_LEFT = [DocumentName(scope, SESSION) for scope in ("u:a", "u:c")]


class Failing(InMemoryStore):
    """Raises an error from one method when it is about one name."""

    def __init__(self, clock: ControlledClock) -> None:
        super().__init__(clock=clock)
        self.step = ("", "")
        self.error: Exception = BROKEN

    def _fail_at(self, method: str, name: str) -> None:
        if self.step == (method, name):
            raise self.error

    async def last_turn_number(self, conversation_id: str) -> int:
        self._fail_at("last_turn_number", conversation_id)
        return await super().last_turn_number(conversation_id)

    async def redact_turns(self, conversation_id: str, **options: Any) -> int:
        self._fail_at("redact_turns", conversation_id)
        return await super().redact_turns(conversation_id, **options)

    async def turn_redactions(self, **options: Any) -> Any:
        self._fail_at("turn_redactions", "")
        return await super().turn_redactions(**options)

    async def scopes(self) -> tuple[str, ...]:
        self._fail_at("scopes", "")
        return await super().scopes()

    async def list_documents_page(self, scope: str, **options: Any) -> Any:
        self._fail_at("list_documents", scope)
        return await super().list_documents_page(scope, **options)

    async def aged_documents_page(self, scope: str, **options: Any) -> Any:
        self._fail_at("aged_documents_page", scope)
        return await super().aged_documents_page(scope, **options)

    async def redact(self, scope: str, **options: Any) -> int:
        self._fail_at("redact", scope)
        return await super().redact(scope, **options)

    async def redact_if(self, scope: str, path: str, **options: Any) -> None:
        self._fail_at("redact_if", scope)
        return await super().redact_if(scope, path, **options)


async def fill(store: InMemoryStore | FileStore) -> None:
    """Three conversations, of which the second has its document in each scope."""
    for number in (1, 2, 3):
        await store.append_turn(f"chat-{number}", [Message(role="user", content="x")])
    for scope in SCOPES:
        await store.write(scope, SESSION, "x")


async def run_prune(store: Any, clock: ControlledClock) -> PruneReport:
    clock.set(NOW)
    return await prune(store, older_than=timedelta(days=1), clock=clock)


async def run_expiry(store: Any, clock: ControlledClock) -> PruneReport:
    clock.set(NOW)
    return await expire_documents(store, older_than=timedelta(days=1), scopes=["u:"], clock=clock)


def told(report: PruneReport) -> str:
    """What was not done, which the JSON says too."""
    (shortfall,) = report.unfinished
    assert prune_object(report)["unfinished"] == [str(shortfall)]
    return str(shortfall)


class TestShortfalls(GardenCases):
    @pytest.fixture
    async def store(self, clock: ControlledClock) -> Failing:
        store = Failing(clock)
        await fill(store)
        return store

    @pytest.mark.parametrize("method", ["list_documents", "redact"])
    async def test_an_erasure_of_a_conversation_goes_round_a_refused_scope(
        self, store: Failing, method: str
    ) -> None:
        store.step = (method, "u:b")
        erasure = await redact_conversation(store, "chat-2")
        assert erasure.count == 1
        assert list(erasure.documents) == ONE_LEFT
        assert erasure.unfinished is not None
        assert "u:b" in erasure.unfinished.partition(": ")[0]
        assert f"[{BROKEN.code}] {BROKEN.message}" in erasure.unfinished
        store.step = ("", "")
        assert (await redact_conversation(store, "chat-2")).documents == (
            DocumentName("u:b", SESSION),
        )

    @pytest.mark.parametrize("method", CONVERSATIONS)
    async def test_a_prune_goes_round_a_refused_conversation(
        self, store: Failing, clock: ControlledClock, method: str
    ) -> None:
        store.step = (method, "chat-1")
        report = await run_prune(store, clock)
        assert [one.conversation_id for one in report.conversations] == ["chat-2", "chat-3"]
        assert len(report.documents) == 3
        assert told(report).startswith("conversation chat-1 was not ")

    @pytest.mark.parametrize("method", ["list_documents", "redact"])
    async def test_a_prune_goes_round_a_refused_scope(
        self, store: Failing, clock: ControlledClock, method: str
    ) -> None:
        store.step = (method, "u:b")
        report = await run_prune(store, clock)
        assert report.turns == 3
        assert list(report.documents) == ONE_LEFT
        assert "u:b" in told(report)

    async def test_a_prune_tells_what_it_erased_where_it_may_not_look_for_sessions(
        self, store: Failing, clock: ControlledClock
    ) -> None:
        store.step = ("scopes", "")
        report = await run_prune(store, clock)
        assert (report.turns, report.documents) == (3, ())
        refusal = f"[{BROKEN.code}] {BROKEN.message}"
        assert told(report) == f"the documents under sessions/ were not erased: {refusal}"

    @pytest.mark.parametrize("method", ["aged_documents_page", "redact_if"])
    async def test_an_expiry_goes_round_a_refused_scope(
        self, store: Failing, clock: ControlledClock, method: str
    ) -> None:
        store.step = (method, "u:b")
        report = await run_expiry(store, clock)
        assert list(report.documents) == ONE_LEFT
        assert "u:b" in told(report)

    @pytest.mark.parametrize(
        ("method", "name", "turns", "documents"),
        [
            ("last_turn_number", "chat-2", 0, 0),
            ("redact_turns", "chat-2", 1, 0),
            ("list_documents", "u:b", 3, 1),
            ("redact", "u:b", 3, 1),
        ],
    )
    async def test_a_store_that_goes_away_ends_a_prune_with_what_it_has_done(
        self,
        store: Failing,
        clock: ControlledClock,
        method: str,
        name: str,
        turns: int,
        documents: int,
    ) -> None:
        store.step, store.error = (method, name), GONE
        report = await run_prune(store, clock)
        assert (report.turns, len(report.documents)) == (turns, documents)
        assert GONE.message in told(report)

    async def test_a_store_that_goes_away_is_asked_for_no_other_document_of_a_scope(
        self, store: Failing, clock: ControlledClock
    ) -> None:
        for number in (1, 2, 3):
            await store.write("u:b", f"sessions/chat-{number}", "x")
        store.step, store.error = ("redact", "u:b"), GONE
        assert "/sessions/chat-1 in u:b was not erased" in told(await run_prune(store, clock))
        store.step = ("redact_if", "u:b")
        assert "/sessions/chat-1 in u:b was not erased" in told(await run_expiry(store, clock))

    async def test_a_conversation_is_erased_only_when_all_of_it_was_looked_at(
        self, store: Failing, clock: ControlledClock
    ) -> None:
        store.step = ("turn_redactions", "")
        for number in (1, 2, 3):
            await store.redact_turns(f"chat-{number}")
        report = await run_prune(store, clock)
        assert [one.step for one in report.unfinished] == [
            f"conversation chat-{number} was not looked at" for number in (1, 2, 3)
        ]
        assert (report.turns, report.conversations) == (0, ())

    @pytest.mark.parametrize(
        "step",
        [
            ("last_turn_number", "chat-2"),
            ("redact_turns", "chat-2"),
            ("list_documents", "u:b"),
            ("redact", "u:b"),
        ],
    )
    async def test_a_lost_claim_is_no_shortfall(
        self, store: Failing, clock: ControlledClock, step: tuple[str, str]
    ) -> None:
        store.step, store.error = step, LOST
        with pytest.raises(ClaimLostError):
            await run_prune(store, clock)

    async def test_a_lost_claim_ends_an_expiry(
        self, store: Failing, clock: ControlledClock
    ) -> None:
        store.step, store.error = ("redact_if", "u:b"), LOST
        with pytest.raises(ClaimLostError):
            await run_expiry(store, clock)


class TestShortfallsOfFiles(GardenCases):
    @pytest.fixture
    async def store(self, tmp_path: Path, clock: ControlledClock) -> AsyncIterator[FileStore]:
        async with FileStore(tmp_path, clock=clock) as store:
            await fill(store)
            yield store

    async def test_a_stray_entry_stops_no_erasure_beside_it(
        self, store: FileStore, tmp_path: Path
    ) -> None:
        (tmp_path / "u%3Ab/documents/stray.md").symlink_to("nowhere")
        erasure = await redact_conversation(store, "chat-2")
        assert (erasure.count, list(erasure.documents)) == (1, ONE_LEFT)
        assert "u:b" in (erasure.unfinished or "")
        assert "is a symbolic link" in (erasure.unfinished or "")

    async def test_a_broken_conversation_keeps_no_other_from_being_pruned(
        self, store: FileStore, tmp_path: Path, clock: ControlledClock
    ) -> None:
        (tmp_path / "conversations/chat-1/turns.jsonl").write_text("{")
        report = await run_prune(store, clock)
        assert report.turns == 2
        assert "chat-1" in told(report)
