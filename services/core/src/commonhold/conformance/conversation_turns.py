"""Turns: their numbers, their order, what they carry, and how they are read."""

import asyncio

import pytest

from commonhold.conformance.clocks import ControlledClock
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    ACTORS,
    HUGE_NUMBERS,
    MESSAGE_PAYLOADS,
    NEVER_WRITTEN,
    OTHER_THREAD,
    REFUSED_MESSAGES,
    THREAD,
    UNSETTLED_MESSAGES,
    UNSTORABLE_TEXTS,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.messages import (
    ContentBlock,
    Message,
    TextBlock,
    ToolCall,
    encode_messages,
    load_messages,
)
from commonhold.contract.stores import ConversationStore
from commonhold.contract.turns import ConversationTurn

APPENDERS = 16
ROUNDS = 4

# Key order, number types and integers of any size, as a client may send them.
NUMBERS = (
    b'{"zz":1,"a":{"y":1,"bb":2,"a":3},"e":-0.0,"f":1e+22,"g":1.0,"h":1,"i":0.1,'
    b'"j":9007199254740993,"k":18446744073709551616,'
    b'"l":-1267650600228229401496703205376,"m":5e-324,"n":1.7976931348623157e308,"o":[1,1.0,true]}'
)


class TurnSlice(StoreSubject):
    """Part of ConversationStoreContract."""

    async def test_the_store_is_a_conversation_store(self, store: ConversationStore) -> None:
        rule = Rule("3", "every method of ConversationStore is there")
        rule.holds(isinstance(store, ConversationStore), type(store))

    async def test_a_new_store_has_no_turns(self, store: ConversationStore) -> None:
        rule = Rule("5", "an unknown conversation is empty, and its last number is 0")
        for after in (0, 5):
            rule.equal(await store.read_turns(NEVER_WRITTEN, after=after), ())
            rule.equal(await store.read_projections(NEVER_WRITTEN, after=after), ())
        rule.equal(await store.last_turn_number(NEVER_WRITTEN), 0)
        rule.equal(await store.search_turns("anything"), ())

    async def test_an_append_is_answered_and_visible_at_once(
        self, store: ConversationStore, clock: ControlledClock
    ) -> None:
        rule = Rule("5", "append_turn returns the turn that read_turns answers")
        now = clock.next_reading
        made = await store.append_turn(THREAD, [says("hello")], actor="conv:x")
        expected = ConversationTurn(
            conversation_id=THREAD,
            turn=1,
            messages=(says("hello"),),
            created_at=now,
            actor=self.recorded_actor("conv:x"),
        )
        rule.equal(made, expected)
        rule.equal(await store.read_turns(THREAD), (expected,))
        rule.equal(await store.last_turn_number(THREAD), 1)

    async def test_numbers_start_at_one_without_gaps(self, store: ConversationStore) -> None:
        rule = Rule("5", "turn numbers start at 1 and have no gaps")
        made = [(await store.append_turn(THREAD, [says(str(n))])).turn for n in range(12)]
        rule.equal(made, list(range(1, 13)))
        rule.equal([turn.turn for turn in await store.read_turns(THREAD)], list(range(1, 13)))

    @pytest.mark.parametrize("actor", [None, *ACTORS])
    async def test_an_actor_is_recorded_as_given(
        self, store: ConversationStore, actor: str | None
    ) -> None:
        rule = Rule("5", "an actor is stored as given, absent is null")
        expected = self.recorded_actor(actor)
        rule.equal((await store.append_turn(THREAD, [says("x")], actor=actor)).actor, expected)
        rule.equal([turn.actor for turn in await store.read_turns(THREAD)], [expected])

    @pytest.mark.parametrize("name", MESSAGE_PAYLOADS)
    async def test_messages_come_back_verbatim(self, store: ConversationStore, name: str) -> None:
        rule = Rule("6", "messages are stored verbatim")
        payload = MESSAGE_PAYLOADS[name]
        made = await store.append_turn(THREAD, payload)
        (read,) = await store.read_turns(THREAD)
        for turn in (made, read):
            rule.equal(turn.messages, payload)
            rule.equal(encode_messages(turn.messages), encode_messages(payload))
            rule.holds(isinstance(turn.messages, tuple), type(turn.messages))

    async def test_arguments_keep_key_order_and_number_types(
        self, store: ConversationStore
    ) -> None:
        rule = Rule("6", "arguments and extra keep key order; integers are exact, floats floats")
        stored = (
            b'[{"role":"assistant","content":null,"reasoning":null,"tool_calls":[{"id":"1",'
            b'"name":"n","arguments":'
            + NUMBERS
            + b',"extra":'
            + NUMBERS
            + b'}],"tool_call_id":null,'
            b'"extra":' + NUMBERS + b"}]"
        )
        payload = load_messages(stored)
        await store.append_turn(THREAD, payload)
        (read,) = await store.read_turns(THREAD)
        # Text tells what equality forgives: key order, 1 and 1.0, 0.0 and -0.0.
        rule.equal(repr(read.messages), repr(payload))

    async def test_messages_are_kept_in_the_form_of_the_codec(
        self, store: ConversationStore
    ) -> None:
        for number, (name, (given, kept)) in enumerate(UNSETTLED_MESSAGES.items(), 1):
            rule = Rule("6", f"what is kept of a message is what the codec makes of it: {name}")
            made = await store.append_turn(THREAD, [given])
            (read,) = await store.read_turns(THREAD, after=number - 1)
            for turn in (made, read):
                rule.equal(repr(turn.messages), repr((kept,)))

    async def test_a_message_that_the_codec_refuses_is_refused_whole(
        self, store: ConversationStore
    ) -> None:
        for literal, message in REFUSED_MESSAGES.items():
            rule = Rule("6", f"refused with its literal, and nothing is written: {literal}")
            with rule.refuses(ValueError, saying=literal):
                await store.append_turn(THREAD, [says("fine"), message])
            rule.equal(await store.last_turn_number(THREAD), 0)

    async def test_a_turn_of_many_messages_keeps_their_order(
        self, store: ConversationStore
    ) -> None:
        payload = tuple(says(str(number)) for number in range(200))
        await store.append_turn(THREAD, payload)
        (read,) = await store.read_turns(THREAD)
        Rule("6", "messages keep their order").equal(read.messages, payload)

    async def test_an_empty_message_list_is_refused(self, store: ConversationStore) -> None:
        rule = Rule("5", "a turn carries at least one message")
        with rule.refuses(ValueError, saying="a turn must carry at least one message"):
            await store.append_turn(THREAD, [])
        rule.equal(await store.last_turn_number(THREAD), 0)
        rule.equal((await store.append_turn(THREAD, [says("x")])).turn, 1)

    @pytest.mark.parametrize("text", UNSTORABLE_TEXTS, ids=["nul", "surrogate"])
    @pytest.mark.parametrize("place", ["content", "block", "arguments", "key", "extra", "name"])
    async def test_text_that_cannot_be_kept_is_refused_whole(
        self, store: ConversationStore, text: str, place: str
    ) -> None:
        rule = Rule(
            "4", "text that cannot be stored is refused before anything is written", "wire.md"
        )
        message = _message_with(text, place=place)
        try:
            made = await store.append_turn(THREAD, [says("fine"), message])
        except ValueError:
            rule.equal(await store.last_turn_number(THREAD), 0)
            rule.equal(await store.read_turns(THREAD), ())
            return
        rule.equal(made.messages, (says("fine"), message))
        rule.equal(await store.read_turns(THREAD), (made,))

    async def test_conversations_are_apart(self, store: ConversationStore) -> None:
        rule = Rule("5", "each conversation has its own numbers and turns")
        await store.append_turn(THREAD, [says("one")])
        await store.append_turn(OTHER_THREAD, [says("other")])
        await store.append_turn(THREAD, [says("two")])
        rule.equal([turn.turn for turn in await store.read_turns(THREAD)], [1, 2])
        (other,) = await store.read_turns(OTHER_THREAD)
        rule.equal((other.turn, other.messages), (1, (says("other"),)))
        rule.equal(await store.last_turn_number(OTHER_THREAD), 1)

    async def test_after_is_exclusive(self, store: ConversationStore) -> None:
        rule = Rule("5", "read_turns answers turns numbered above `after`, ascending")
        await self._append(store, 4)
        for after, expected in {0: [1, 2, 3, 4], 1: [2, 3, 4], 3: [4], 4: [], 9: []}.items():
            turns = await store.read_turns(THREAD, after=after)
            rule.equal((after, [turn.turn for turn in turns]), (after, expected))
        for after in HUGE_NUMBERS:
            rule.equal(await store.read_turns(THREAD, after=after), ())

    async def test_a_limit_keeps_the_oldest(self, store: ConversationStore) -> None:
        rule = Rule("5", "read_turns keeps the oldest `limit`, none for 0, all when oversize")
        await self._append(store, 3)
        for limit, expected in {0: [], 1: [1], 2: [1, 2], 3: [1, 2, 3], 9: [1, 2, 3]}.items():
            turns = await store.read_turns(THREAD, limit=limit)
            rule.equal((limit, [turn.turn for turn in turns]), (limit, expected))
        turns = await store.read_turns(THREAD, after=1, limit=1)
        rule.equal([turn.turn for turn in turns], [2])
        for limit in HUGE_NUMBERS:
            rule.equal(len(await store.read_turns(THREAD, limit=limit)), 3)

    async def test_reading_has_no_default_bound(self, store: ConversationStore) -> None:
        await self._append(store, 60)
        rule = Rule("5", "read_turns without a limit answers all turns")
        rule.equal(len(await store.read_turns(THREAD)), 60)
        rule.equal(await store.last_turn_number(THREAD), 60)

    async def test_negative_windows_are_refused(self, store: ConversationStore) -> None:
        rule = Rule("5", "both reads refuse a negative `after`, then a negative `limit`")
        for read in (store.read_turns, store.read_projections):
            for number in (-1, -(2**100)):
                with rule.refuses(ValueError, saying=f"after must be >= 0, got {number}"):
                    await read(THREAD, after=number, limit=number)
                with rule.refuses(ValueError, saying=f"limit must be >= 0, got {number}"):
                    await read(THREAD, limit=number)

    async def test_racing_appenders_all_get_a_number(self, store: ConversationStore) -> None:
        rule = Rule("5", "racing appends get gapless numbers and lose nothing")
        for start in range(0, ROUNDS * APPENDERS, APPENDERS):
            made = await asyncio.gather(
                *(store.append_turn(THREAD, [says(f"by {n}")]) for n in range(APPENDERS))
            )
            rule.equal(
                sorted(turn.turn for turn in made), list(range(start + 1, start + APPENDERS + 1))
            )
            read = await store.read_turns(THREAD, after=start)
            rule.equal(list(read), sorted(made, key=lambda turn: turn.turn))
        stamps = [turn.created_at for turn in await store.read_turns(THREAD)]
        rule.equal(stamps, sorted(stamps))

    async def _append(self, store: ConversationStore, count: int) -> None:
        for number in range(1, count + 1):
            await store.append_turn(THREAD, [says(f"message {number}")])


def _message_with(text: str, *, place: str) -> Message:
    content: str | tuple[ContentBlock, ...] | None = None
    call = ToolCall(id="1", name="n")
    match place:
        case "content":
            content = text
        case "block":
            content = (TextBlock(text=text),)
        case "arguments":
            call = ToolCall(id="1", name="n", arguments={"a": [{"b": text}]})
        case "key":
            call = ToolCall(id="1", name="n", arguments={"a": [{text: 1}]})
        case "name":
            call = ToolCall(id="1", name=text)
        case _:
            return Message(role="assistant", extra={"k": [text]})
    return Message(role="assistant", content=content, tool_calls=(call,))
