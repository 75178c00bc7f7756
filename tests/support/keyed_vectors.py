"""What a repeated tool call must answer, for any store that keeps keys."""

import asyncio
from typing import Any

from commonhold.contract import IdempotencyKey
from commonhold.usecases.envelopes import ToolResult
from commonhold.usecases.history.contexts import HistoryContext
from commonhold.usecases.history.continuations import continue_session
from commonhold.usecases.history.handoffs import handoff
from commonhold.usecases.keyed_calls import call_key
from commonhold.usecases.keyed_commands import dispatch_once, run_once
from tests.support.conversations import tell
from tests.support.history_callers import SCOPE, Reader, data, record_session, refusal
from tests.support.memory_callers import PROJECT, USER, Caller

KEY = IdempotencyKey("client:ana", "call-1")
REUSED = "idempotency key was used for another request"


class KeyedVectors:
    """Part of a test class that gives the fixture `store`."""

    async def test_a_repeated_edit_answers_as_the_first_although_its_text_is_gone(
        self, store: Any
    ) -> None:
        ana = Caller(store, USER)
        await ana.succeed("create", path="/user/p", content="one two")
        edit: dict[str, Any] = {"path": "/user/p", "old_str": "two", "new_str": "three"}
        first = await once(ana, "str_replace", **edit)
        assert first.data == "Edited /user/p (v2)"
        await ana.succeed("create", path="/user/p", content="somebody else's")
        assert await once(ana, "str_replace", **edit) == first
        assert len(await store.versions("user:ana", "p")) == 3

    async def test_every_command_is_repeated_by_its_answer_alone(self, store: Any) -> None:
        ana = Caller(store, USER, PROJECT)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("create", {"path": "/user/p", "content": "a\nb"}),
            ("create", {"path": "/user/p", "content": "a\nb\n"}),
            ("insert", {"path": "/user/p", "insert_line": 1, "insert_text": "x"}),
            ("rename", {"old_path": "/user/p", "new_path": "/user/q"}),
            ("rename", {"old_path": "/user/q", "new_path": "/project/q"}),
            ("delete", {"path": "/project/q"}),
        ]
        for number, (command, arguments) in enumerate(calls):
            key = IdempotencyKey("client:ana", f"call-{number}")
            first = await once(ana, command, key=key, **arguments)
            assert first.success, first
            assert first.receipt is not None
            state = await store.history("user:ana"), await store.history("project:erp")
            assert await once(ana, command, key=key, **arguments) == first
            assert (await store.history("user:ana"), await store.history("project:erp")) == state

    async def test_another_request_under_the_key_is_refused(self, store: Any) -> None:
        ana = Caller(store, USER)
        await once(ana, "create", path="/user/p", content="one")
        others: list[tuple[str, dict[str, Any]]] = [
            ("create", {"path": "/user/p", "content": "two"}),
            ("create", {"path": "/user/q", "content": "one"}),
            ("delete", {"path": "/user/p"}),
        ]
        for command, arguments in others:
            assert (await once(ana, command, **arguments)).error == REUSED
        assert len(await store.history("user:ana")) == 1

    async def test_two_clients_never_share_a_key(self, store: Any) -> None:
        ana = Caller(store, USER)
        other = IdempotencyKey("client:bob", KEY.value)
        await once(ana, "create", path="/user/p", content="one")
        assert (await once(ana, "create", key=other, path="/user/q", content="two")).success

    async def test_a_failed_call_may_be_tried_again_under_its_key(self, store: Any) -> None:
        ana = Caller(store, USER)
        edit: dict[str, Any] = {"path": "/user/p", "old_str": "two", "new_str": "three"}
        assert not (await once(ana, "str_replace", **edit)).success
        await ana.succeed("create", path="/user/p", content="one two")
        assert (await once(ana, "str_replace", **edit)).data == "Edited /user/p (v2)"

    async def test_an_interrupted_move_is_finished_by_its_repetition(self, store: Any) -> None:
        ana = Caller(store, USER, PROJECT)
        await ana.succeed("create", path="/user/p", content="text")
        move: dict[str, Any] = {"old_path": "/user/p", "new_path": "/project/p"}
        await copy_alone(store, move, "text")
        finished = await once(ana, "rename", **move)
        assert finished.data == "Moved /user/p to /project/p (v1)"
        assert await store.read("user:ana", "p") is None
        await store.write("user:ana", "p", "another")
        assert await once(ana, "rename", **move) == finished
        assert await store.read("user:ana", "p") is not None

    async def test_an_interrupted_move_leaves_a_source_that_changed(self, store: Any) -> None:
        ana = Caller(store, USER, PROJECT)
        await ana.succeed("create", path="/user/p", content="newer")
        move: dict[str, Any] = {"old_path": "/user/p", "new_path": "/project/p"}
        await copy_alone(store, move, "text")
        refused = await once(ana, "rename", **move)
        assert (refused.error or "").endswith("version_mismatch")
        assert (await store.read("user:ana", "p")).content == "newer"

    async def test_after_an_erasure_a_repetition_tells_nothing_erased(self, store: Any) -> None:
        ana = Caller(store, USER)
        await once(ana, "create", path="/user/p", content="secret")
        await store.redact("user:ana", path="p")
        again = await once(ana, "create", path="/user/p", content="a guess")
        assert again.data == "Created /user/p (v1)"
        assert (await once(ana, "create", path="/user/other", content="x")).error == REUSED
        document = await store.read("user:ana", "p")
        assert (document.content, document.redacted, document.version) == ("", True, 1)

    async def test_a_repeated_pick_up_shows_neither_an_erased_note_nor_a_later_one(
        self, store: Any
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        ana = Reader(store)
        await ana.hand_off("the first note")
        first = data(await continue_once(ana))
        assert "the first note" in first
        assert data(await continue_once(ana)) == first
        await ana.hand_off("a later note")
        assert data(await continue_once(ana)) == first
        await store.redact(SCOPE, path="handoff")
        await ana.hand_off("a note after the erasure")
        error, hint = refusal(await continue_once(ana))
        assert error == "The handoff note of this call is redacted; its content was cleared"
        assert hint is not None
        assert "a note after the erasure" in data(await ana.go_on())

    async def test_a_key_of_something_erased_records_no_note(self, store: Any) -> None:
        ana = Reader(store)
        await once(Caller(store, PROJECT), "create", path="/project/p", content="secret")
        await store.redact(SCOPE, path="p")
        for name, run in (("handoff", hand_off_once), ("continue_session", continue_once)):
            assert refusal(await run(ana)) == (REUSED, None), name
        assert await store.read(SCOPE, "handoff") is None

    async def test_calls_at_the_same_moment_happen_once(self, store: Any) -> None:
        ana = Caller(store, USER)
        await ana.succeed("create", path="/user/p", content="one two")
        for number, (command, arguments) in enumerate(
            (
                ("str_replace", {"path": "/user/p", "old_str": "two", "new_str": "three"}),
                ("create", {"path": "/user/new", "content": "x"}),
                ("rename", {"old_path": "/user/new", "new_path": "/user/moved"}),
                ("delete", {"path": "/user/moved"}),
            )
        ):
            key = IdempotencyKey("client:ana", f"race-{number}")
            results = await asyncio.gather(
                *(once(ana, command, key=key, **arguments) for _ in range(4))
            )
            assert results[0].success, results[0]
            assert results == [results[0]] * 4
        assert len(await store.history("user:ana")) == 6


async def copy_alone(store: Any, move: dict[str, Any], content: str) -> None:
    """As if the run of the call had ended between its two steps."""
    call = call_key(KEY, "memory", {**move, "command": "rename"})
    view = store.guarded(key=call.of_step(1), digest=call.digest)
    await view.write("project:erp", "p", content)


async def once(
    caller: Caller, command: str, *, key: IdempotencyKey = KEY, **arguments: Any
) -> ToolResult:
    return await dispatch_once(caller.context, command, arguments, key=key)


async def continue_once(reader: Reader) -> ToolResult:
    return await run_once(reader.context, "continue_session", {}, key=KEY, run=continue_session)


async def hand_off_once(reader: Reader) -> ToolResult:
    async def run(context: HistoryContext) -> ToolResult:
        return await handoff(context, note="a note")

    return await run_once(reader.context, "handoff", {"note": "a note"}, key=KEY, run=run)
