"""The acceptance tables of docs/reference/mcp.md, sections 8.2 to 8.5, over any store.

A test class takes `HistoryVectors` and gives it a `store` fixture.
"""

import asyncio
from typing import Any

import pytest

from commonhold.contract import MemoryDocument
from commonhold.usecases.handoff_notes import HandoffNote, parse_handoff
from commonhold.usecases.history.contexts import Reach
from tests.support.conversations import agent, call, result, tell, user
from tests.support.history_callers import SCOPE, Reader, WholeStore, data, record_session, refusal
from tests.support.memory_callers import Act, InterruptedStore

NOTE = "Next: tag v2. See [2]."
FENCED = Reach(("ana-",))


def interrupted(store: WholeStore, name: str, act: Act) -> Reader:
    """A caller for whom somebody acts right after it first read a document."""
    documents = InterruptedStore(store, after="read", act=act)
    return Reader(store, actor=f"client:{name}", documents=documents)


def hesitant(store: WholeStore, name: str) -> Reader:
    """A caller that lets others run between its reading and its writing."""
    return interrupted(store, name, lambda: asyncio.sleep(0))


async def stored_note(store: WholeStore) -> HandoffNote:
    document = await store.read(SCOPE, "handoff")
    assert document is not None
    note = parse_handoff(document.content)
    assert note is not None
    return note


class HistoryVectors:
    @pytest.fixture
    def ana(self, store: WholeStore) -> Reader:
        return Reader(store)

    # 8.2 recall_turn

    async def test_a_turn_is_recalled_as_it_was_said(self, store: WholeStore, ana: Reader) -> None:
        await store.append_turn(
            "chat-1",
            [user("Where?"), agent("Looking.", call("search", q="x")), result("found it")],
        )
        assert data(await ana.recall(1, "chat-1")) == (
            'Turn 1 (verbatim):\nUSER: Where?\nAGENT: Looking.\nAGENT calls search({"q":"x"})\n'
            "TOOL search → found it"
        )
        assert data(await ana.recall(1, "chat-1", call="c1")) == (
            'Turn 1, call c1 (verbatim):\nAGENT calls search({"q":"x"})\nTOOL search → found it'
        )
        assert refusal(await ana.recall(1, "chat-1", call="zz")) == (
            "Turn 1 made no call 'zz'",
            "Its calls: c1.",
        )

    async def test_a_turn_that_is_not_there_is_refused_with_what_is(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "a", "b", "c")
        error, hint = refusal(await ana.recall(0, "chat-1"))
        assert error == "Turn numbers start at 1; got 0"
        assert "bracket" in (hint or "")
        for number in (9, 2**31, 10**40):
            assert refusal(await ana.recall(number, "chat-1")) == (
                f"Turn {number} does not exist",
                "Conversation 'chat-1' has turns 1-3.",
            )
        assert refusal(await ana.recall(1, "nope")) == (
            "Turn 1 does not exist",
            "Conversation 'nope' has no turns.",
        )
        assert refusal(await ana.recall(1, "bad id"))[0] == (
            "[agent_conversation_id_invalid] Invalid conversation id 'bad id': "
            "must match [A-Za-z0-9_.-]{1,128} — one flat segment"
        )
        assert refusal(await ana.recall(2, "chat-1", call="c1"))[1] == "Its calls: none."

    async def test_a_redacted_turn_says_so_whatever_is_asked(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "a", "b", "c")
        await store.redact_turns("chat-1", turns=[3])
        assert data(await ana.recall(3, "chat-1")) == "Turn 3: [redacted]"
        assert data(await ana.recall(3, "chat-1", call="c1")) == "Turn 3: [redacted]"

    # 8.3 search_history

    async def test_hits_come_newest_first_behind_their_place(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "Deploy the script")
        await tell(store, "chat-2", "Draft the deploy announcement", actor="demo:chat-2#1")
        lines = data(await ana.search("THE deploy")).split("\n")
        assert lines[0].startswith("[chat-2 #1] 20")
        assert lines[0].endswith("Z demo:chat-2#1")
        assert lines[1] == "  Draft the deploy announcement"
        assert lines[2].endswith("Z -")
        assert lines[3] == "  Deploy the script"
        assert lines[4] == (
            '[newest first, at most 10; open a hit with recall_turn(n, conversation="<id>")]'
        )
        narrowed = data(await ana.search("deploy", conversation="chat-1", limit=70))
        assert "chat-2" not in narrowed
        assert "at most 50;" in narrowed
        assert data(await ana.search("deploy", limit=1)).count(" #") == 1

    async def test_a_search_that_cannot_be_made_is_refused(self, ana: Reader) -> None:
        assert refusal(await ana.search(" \n"))[0] == "Give at least one search term"
        assert refusal(await ana.search("a", limit=0))[0] == "limit must be at least 1; got 0"
        assert (refusal(await ana.search("a", conversation="bad id"))[0] or "").startswith(
            "[agent_conversation_id_invalid] "
        )
        assert refusal(await ana.search("a \ud800"))[0] == (
            "Invalid arguments for tool 'search_history': query: "
            "Input should not contain a lone surrogate"
        )
        assert data(await ana.search("Zebra moon")) == (
            "No turn matches every term: 'zebra', 'moon'. Try fewer or different terms."
        )

    # 8.4 continue_session

    async def test_the_newest_session_is_continued(self, store: WholeStore, ana: Reader) -> None:
        await tell(store, "chat-1", "first")
        await tell(store, "chat-2", "second", "third", actor="demo:chat-2")
        await record_session(store, "chat-1")
        await record_session(store, "chat-2", continues=["chat-1", "no id"])
        text = data(await ana.go_on())
        header, *rest = text.split("\n")
        assert header.startswith("[continuing conversation chat-2 ")
        assert "of demo:chat-2; newest turn 2; from 20" in header
        assert header.endswith("; it continues chat-1]")
        assert rest[:4] == [
            "[1] USER: second",
            "AGENT: Re: second",
            "[2] USER: third",
            "AGENT: Re: third",
        ]
        assert "same work" in rest[4]
        assert data(await ana.go_on(session="chat-2")).startswith("[continuing conversation chat-1")

    async def test_a_conversation_that_is_named_needs_no_listing(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-7", "first")
        text = data(await ana.go_on(conversation="chat-7"))
        assert text.startswith("[continuing conversation chat-7 of -;")

    async def test_what_cannot_be_continued_is_refused(
        self, store: WholeStore, ana: Reader
    ) -> None:
        error, hint = refusal(await ana.go_on())
        assert error == "Nothing to continue: no session is listed in this scope"
        assert "conversation" in (hint or "")
        assert refusal(await ana.go_on(conversation="x"))[0] == "Conversation 'x' has no turns"
        for options in ({"conversation": "a b"}, {"session": "a b"}):
            assert (refusal(await ana.go_on(**options))[0] or "").startswith(
                "[agent_conversation_id_invalid] "
            )
        await record_session(store, "gone")
        await store.redact(SCOPE, path="sessions/gone")
        await store.write(SCOPE, "sessions/chat/notes", "no session, but a document below one")
        assert "Nothing to continue" in (refusal(await ana.go_on())[0] or "")

    async def test_a_note_goes_round(self, store: WholeStore, ana: Reader) -> None:
        await tell(store, "chat-2", "Draft it")
        await record_session(store, "chat-2")
        recorded = data(await ana.hand_off(NOTE))
        assert recorded.startswith("[handoff note recorded")
        first = await store.read(SCOPE, "handoff")
        assert first is not None
        assert (first.version, first.actor) == (1, "client:ana/mcp:gateway")
        assert (await stored_note(store)).note == NOTE
        bob = Reader(store, actor="client:bob/mcp:gateway")
        lines = data(await bob.go_on()).split("\n")
        assert lines[0].startswith("[continuing conversation chat-2 ")
        assert lines[1].startswith("[handoff note from client:ana/mcp:gateway, written ")
        assert lines[2] == NOTE
        assert lines[4] == "[1] USER: Draft it"
        taken = await stored_note(store)
        assert taken.picked_up is not None
        assert (taken.picked_up.actor, taken.conversation) == ("client:bob/mcp:gateway", "chat-2")
        assert NOTE not in data(await ana.go_on())

    async def test_a_linked_note_leads_to_its_conversation(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await tell(store, "chat-2", "second")
        await record_session(store, "chat-2")
        await self.link(store, ana, "chat-1")
        assert NOTE not in data(await ana.go_on(conversation="chat-2"))
        assert (await stored_note(store)).picked_up is None
        text = data(await ana.go_on())
        assert text.startswith("[continuing conversation chat-1 ")
        assert NOTE in text
        assert (await stored_note(store)).conversation == "chat-1"

    async def link(self, store: WholeStore, ana: Reader, conversation_id: str) -> None:
        """What a recorder does with a note that waits."""
        data(await ana.hand_off(NOTE))
        document = await store.read(SCOPE, "handoff")
        assert document is not None
        linked = document.content.replace(
            "- status: pending\n", f"- status: pending\n- conversation: {conversation_id}\n"
        )
        await store.write(SCOPE, "handoff", linked, expected_version=document.version)

    async def test_an_unlinked_note_stays_when_another_conversation_is_named(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await ana.hand_off(NOTE)
        assert NOTE not in data(await ana.go_on(conversation="chat-1"))
        assert (await stored_note(store)).picked_up is None

    async def test_a_note_alone_is_delivered_alone(self, store: WholeStore, ana: Reader) -> None:
        await ana.hand_off(NOTE)
        text = data(await ana.go_on())
        assert text.startswith("[handoff note")
        assert NOTE in text
        taken = await stored_note(store)
        assert taken.picked_up is not None
        assert taken.conversation is None
        assert "Nothing to continue" in (refusal(await ana.go_on())[0] or "")

    async def test_a_link_to_no_conversation_is_as_good_as_none(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        await self.link(store, ana, "no such id")
        assert NOTE in data(await ana.go_on())
        assert (await stored_note(store)).conversation == "chat-1"

    async def test_of_several_that_continue_at_once_one_has_picked_up(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        for attempt in range(1, 6):
            await ana.hand_off(f"Note {attempt}")
            answers = await asyncio.gather(
                *(hesitant(store, name).go_on() for name in ("bob", "eve", "kim"))
            )
            assert all(answer.success for answer in answers), answers
            taken = await stored_note(store)
            assert taken.picked_up is not None
            assert (taken.note, taken.conversation) == (f"Note {attempt}", "chat-1")
            assert len(await store.versions(SCOPE, "handoff")) == 2 * attempt
            unmarked = [
                answer
                for answer in answers
                if f"Note {attempt}" in data(answer) and "; picked up by" not in data(answer)
            ]
            assert len(unmarked) == 1

    async def test_a_note_alone_that_is_lost_to_another_is_shown_as_taken(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await ana.hand_off(NOTE)
        late = interrupted(store, "bob", ana.go_on)
        text = data(await late.go_on())
        assert text.startswith("[handoff note from client:ana/mcp:gateway, written ")
        assert "; picked up by client:ana/mcp:gateway at " in text
        assert NOTE in text
        assert len(await store.versions(SCOPE, "handoff")) == 2

    async def test_a_newer_note_is_taken_in_the_place_of_the_one_that_was_read(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await ana.hand_off(NOTE)
        late = interrupted(store, "bob", lambda: ana.hand_off("A newer note"))
        text = data(await late.go_on())
        assert "A newer note" in text
        assert NOTE not in text
        taken = await stored_note(store)
        assert taken.picked_up is not None
        assert taken.note == "A newer note"

    async def test_a_note_that_is_erased_meanwhile_is_not_delivered(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        await ana.hand_off(NOTE)

        async def erase() -> None:
            await store.delete(SCOPE, "handoff")
            await store.redact(SCOPE, path="handoff")

        text = data(await interrupted(store, "bob", erase).go_on())
        assert text.startswith("[continuing conversation chat-1 ")
        assert NOTE not in text
        assert await store.read(SCOPE, "handoff") is None

    async def test_another_note_that_another_took_meanwhile_is_not_delivered(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        await ana.hand_off(NOTE)

        async def replace_and_take() -> None:
            await ana.hand_off("Not for bob")
            await ana.go_on()

        text = data(await interrupted(store, "bob", replace_and_take).go_on())
        assert text.startswith("[continuing conversation chat-1 ")
        assert "[handoff note" not in text

    async def test_a_second_conflict_is_an_error(self, store: WholeStore, ana: Reader) -> None:
        await ana.hand_off(NOTE)
        twice = InterruptedStore(store, after="read", act=lambda: ana.hand_off("two"), nth=2)
        documents = InterruptedStore(twice, after="read", act=lambda: ana.hand_off("one"))
        error, hint = refusal(await Reader(store, documents=documents).go_on())
        assert error == (
            "[memory_conflict] Memory conflict on 'handoff' in scope 'project:erp': "
            "version_mismatch"
        )
        assert hint is not None

    # 8.5 handoff

    async def test_a_note_has_a_size(self, store: WholeStore, ana: Reader) -> None:
        blank, long = await ana.hand_off(" \n"), await ana.hand_off("x" * 2049)
        assert refusal(blank)[0] == "Write the note first"
        assert refusal(long)[0] == "The note is 2049 characters; keep it under 2048"
        assert blank.system_reminder == long.system_reminder
        assert "\x00" not in (refusal(await ana.hand_off("a\x00b"))[0] or "")
        assert await store.read(SCOPE, "handoff") is None
        data(await ana.hand_off("x" * 2048))
        data(await ana.hand_off("second"))
        assert (await stored_note(store)).note == "second"
        assert len(await store.versions(SCOPE, "handoff")) == 2

    async def test_without_an_open_mount_nothing_is_left_or_continued(
        self, store: WholeStore
    ) -> None:
        reader = Reader(store, "scope=project:erp,path=project,ro")
        assert "No mount" in (refusal(await reader.hand_off(NOTE))[0] or "")
        assert "No mount" in (refusal(await reader.go_on())[0] or "")

    # The fence

    async def test_nothing_beyond_the_reach_is_shown_by_any_tool(self, store: WholeStore) -> None:
        await tell(store, "ana-1", "mine needle")
        for number in range(12):
            await tell(store, f"bob-{number}", "theirs needle")
        await record_session(store, "ana-1", continues=["bob-1", "ana-0"])
        await record_session(store, "bob-1")
        ana = Reader(store, reach=FENCED)
        outside = "Conversation 'bob-1' is not addressable from here"
        assert refusal(await ana.recall(1, "bob-1"))[0] == outside
        assert refusal(await ana.recall(99, "bob-1"))[0] == outside
        assert refusal(await ana.search("needle", conversation="bob-1"))[0] == outside
        assert refusal(await ana.go_on(conversation="bob-1"))[0] == outside
        found = data(await ana.search("needle", limit=1))
        assert found.startswith("[ana-1 #1]")
        text = data(await ana.go_on())
        assert text.startswith("[continuing conversation ana-1 ")
        assert "it continues ana-0]" in text
        assert "bob" not in found + text

    async def test_a_link_beyond_the_reach_is_refused_and_the_note_waits(
        self, store: WholeStore
    ) -> None:
        await tell(store, "bob-1", "theirs")
        await tell(store, "ana-1", "mine")
        ana = Reader(store, reach=FENCED)
        await self.link(store, ana, "bob-1")
        error, hint = refusal(await ana.go_on())
        assert error == "Conversation 'bob-1' is not addressable from here"
        assert hint is not None
        assert (await stored_note(store)).picked_up is None
        assert NOTE not in data(await ana.go_on(conversation="ana-1"))

    async def test_without_prefixes_nothing_is_reached(self, store: WholeStore) -> None:
        await tell(store, "ana-1", "needle")
        await record_session(store, "ana-1")
        nobody = Reader(store, reach=Reach(()))
        assert "not addressable" in (refusal(await nobody.recall(1, "ana-1"))[0] or "")
        assert data(await nobody.search("needle")).startswith("No turn matches")
        assert "Nothing to continue" in (refusal(await nobody.go_on())[0] or "")

    # A call that is repeated

    async def test_a_repeated_continuation_answers_as_the_first(
        self, store: WholeStore, ana: Reader
    ) -> None:
        await tell(store, "chat-1", "first")
        await record_session(store, "chat-1")
        await ana.hand_off(NOTE)
        first = data(await ana.go_on())
        written: MemoryDocument | None = await store.read(SCOPE, "handoff")
        again: dict[str, Any] = {"earlier_pick_up": written}
        assert data(await Reader(store, **again).go_on()) == first
        assert len(await store.versions(SCOPE, "handoff")) == 2
