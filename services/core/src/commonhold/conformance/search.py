"""The kit of search over turns (docs/reference/stores.md, section 7).

It is part of ConversationStoreContract, and runs alone too: with `clock` overridden by a
FrozenClock the order of equal stamps is seen.
"""

import pytest

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import (
    BAD_CONVERSATION_IDS,
    HUGE_NUMBERS,
    NEVER_WRITTEN,
    OTHER_THREAD,
    THREAD,
    says,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import ConversationIdInvalidError
from commonhold.contract.messages import (
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolCall,
)
from commonhold.contract.stores import ConversationStore

BLANK_QUERIES = ("", " ", "\t\r\n", "\N{NO-BREAK SPACE}", "\x1c\x1d\x1e\x1f")
SEPARATORS = (" ", "  ", "\t", "\n", "\x1c", "\x1f", "\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}")

# More than an engine takes of one expression, unless its store sees to it.
MANY = 1100


class SearchContract(StoreSubject):
    """What every search_turns finds, and in what order."""

    async def test_search_finds_message_text(self, store: ConversationStore) -> None:
        await store.append_turn(THREAD, [says("the sextant"), says("was found", role="assistant")])
        await store.append_turn(THREAD, [says("nothing here")])
        rule = Rule("7", "a turn is found by the text of any of its messages, and comes back whole")
        turns = await store.read_turns(THREAD)
        rule.equal(await store.search_turns("sextant"), turns[:1])
        rule.equal(await store.search_turns("found"), turns[:1])

    async def test_search_finds_text_blocks_and_no_other_content(
        self, store: ConversationStore
    ) -> None:
        rule = Rule("7", "of blocks only text is searched: no image, document or compaction")
        blocks = (
            TextBlock(text="alpha"),
            ImageBlock(media_type="image/png", data="imagedata"),
            ImageBlock(url="https://imageurl.test"),
            DocumentBlock(media_type="text/plain", data="docdata"),
            CompactionBlock(content="compacted", encrypted_content="sealed"),
            TextBlock(text=""),
            TextBlock(text="omega"),
        )
        await store.append_turn(THREAD, [Message(role="user", content=blocks)])
        for query in ("alpha", "omega", "omega alpha"):
            rule.equal((query, await _numbers(store, query)), (query, [1]))
        for query in ("imagedata", "imageurl", "image/png", "docdata", "compacted", "sealed"):
            rule.equal((query, await _numbers(store, query)), (query, []))

    async def test_search_finds_tool_names_and_arguments(self, store: ConversationStore) -> None:
        rule = Rule("7", "a tool call is searched as its name and compact JSON of its arguments")
        arguments = {"q": "Straße", "n": [1, 2], "t": True, "z": None, "f": 1.5, "big": 1e22}
        call = ToolCall(id="callid", name="lookup", arguments=arguments, extra={"k": "callextra"})
        await store.append_turn(
            THREAD, [Message(role="assistant", tool_calls=(call, ToolCall(id="2", name="bare")))]
        )
        for query in (
            "lookup",
            "straße",
            '"n":[1,2]',
            '"t":true,"z":null',
            '"f":1.5',
            '"big":1e+22',
            'lookup {"q":',
            "bare {}",
        ):
            rule.equal((query, await _numbers(store, query)), (query, [1]))
        for query in ("1.50", "callid", "callextra", "none", "e22", "\\u00df"):
            rule.equal((query, await _numbers(store, query)), (query, []))

    async def test_search_finds_strings_as_json_writes_them(self, store: ConversationStore) -> None:
        rule = Rule("7", "quotes and newlines inside arguments are searched in their JSON form")
        call = ToolCall(id="1", name="y", arguments={"é": [1, 2.0, None, True, 'q"\n']})
        await store.append_turn(THREAD, [Message(role="assistant", tool_calls=(call,))])
        for query, expected in {'q\\"\\n': [1], '{"é":[1,2.0,null,true,': [1], 'q"': []}.items():
            rule.equal((query, await _numbers(store, query)), (query, expected))

    async def test_search_finds_tool_results(self, store: ConversationStore) -> None:
        await store.append_turn(
            THREAD, [Message(role="tool", content="the result", tool_call_id="resultid")]
        )
        rule = Rule("7", "a tool's result is text; its call id is not searched")
        rule.equal(await _numbers(store, "result"), [1])
        rule.equal(await _numbers(store, "resultid"), [])

    async def test_all_terms_must_occur_in_any_order(self, store: ConversationStore) -> None:
        rule = Rule("7", "a turn matches when every term is a substring of its text")
        await store.append_turn(THREAD, [says("red green"), says("blue", role="assistant")])
        await store.append_turn(THREAD, [says("red yellow")])
        for query, expected in {
            "red": [2, 1],
            "blue red": [1],
            "green blue red": [1],
            "red red": [2, 1],
            "yellow green": [],
            "red purple": [],
        }.items():
            rule.equal((query, await _numbers(store, query)), (query, expected))

    async def test_a_query_has_as_many_terms_as_it_has(self, store: ConversationStore) -> None:
        rule = Rule("7", f"every one of {MANY} terms must occur")
        text = " ".join(f"t{number}." for number in range(MANY))
        await store.append_turn(THREAD, [says(text)])
        rule.equal(await _numbers(store, text), [1])
        rule.equal(await _numbers(store, f"{text} absent"), [])

    @pytest.mark.parametrize("separator", SEPARATORS)
    async def test_a_query_is_split_at_any_whitespace(
        self, store: ConversationStore, separator: str
    ) -> None:
        await store.append_turn(THREAD, [says("blue then red")])
        rule = Rule("7", "a query is split on whitespace as Python's str.split does")
        query = f"{separator}red{separator}blue{separator}"
        rule.equal(await _numbers(store, query), [1])

    async def test_ascii_case_is_ignored(self, store: ConversationStore) -> None:
        await store.append_turn(THREAD, [says("The SEXTANT of Ada")])
        rule = Rule("7", "ASCII letters match whatever their case")
        for query in ("sextant", "SEXTANT", "sExTaNt", "the ADA"):
            rule.equal((query, await _numbers(store, query)), (query, [1]))

    async def test_other_letters_match_themselves(self, store: ConversationStore) -> None:
        rule = Rule("7", "text outside ASCII matches itself; accents are not folded")
        texts = ("école", "straße", "σίσυφος", "日本語", "\N{GRINNING FACE}")
        for text in texts:
            await store.append_turn(THREAD, [says(text)])
        for number, text in enumerate(texts, start=1):
            rule.equal((text, await _numbers(store, text)), (text, [number]))
        for query in ("ecole", "strasse", "e\N{COMBINING ACUTE ACCENT}cole"):
            rule.equal((query, await _numbers(store, query)), (query, []))

    async def test_terms_match_inside_words_and_are_never_patterns(
        self, store: ConversationStore
    ) -> None:
        rule = Rule("7", "no word boundaries and no wildcards: every character is literal")
        for text in ("unbelievable", "100% done_now", r"back\slash", "doneXnow 100x", "a.c*[x]?"):
            await store.append_turn(THREAD, [says(text)])
        for query, expected in {
            "liev": [1],
            "100%": [2],
            "done_now": [2],
            "%": [2],
            "_": [2],
            "\\": [3],
            r"k\s": [3],
            "a.c": [5],
            "*": [5],
            "[x]": [5],
            "b%v": [],
            "b.*v": [],
            "'": [],
            '"': [],
        }.items():
            rule.equal((query, await _numbers(store, query)), (query, expected))

    async def test_roles_and_reasoning_are_not_searched(self, store: ConversationStore) -> None:
        rule = Rule("7", "role, reasoning and extra are not part of the text")
        message = Message(
            role="assistant", content="plain", reasoning="musing", extra={"k": "extraword"}
        )
        await store.append_turn(THREAD, [message, says("also", role="system")])
        for query in ("assistant", "system", "musing", "extraword", "content", "null"):
            rule.equal((query, await _numbers(store, query)), (query, []))
        rule.equal(await _numbers(store, "plain also"), [1])

    async def test_pieces_are_joined_by_newlines(self, store: ConversationStore) -> None:
        rule = Rule("7", "pieces are joined by a newline, so no term spans two of them")
        await store.append_turn(THREAD, [says("red"), says("blue")])
        rule.equal(await _numbers(store, "redblue"), [])
        rule.equal(await _numbers(store, "red blue"), [1])

    async def test_hits_are_newest_first_over_the_whole_store(
        self, store: ConversationStore
    ) -> None:
        rule = Rule("7", "order: created_at desc, conversation_id desc by code point, turn desc")
        for name in ("b", "_", "B", "a", "a", "b", "-"):
            await store.append_turn(name, [says("needle")])
        found = await store.search_turns("needle")
        keys = [(turn.created_at, turn.conversation_id, turn.turn) for turn in found]
        rule.equal(len(keys), 7)
        rule.equal(keys, sorted(keys, reverse=True))

    async def test_ids_narrow_the_search(self, store: ConversationStore) -> None:
        rule = Rule("7", "`conversations` narrows to the named ids, each counted once")
        for name in (THREAD, OTHER_THREAD, "thread-c"):
            await store.append_turn(name, [says("needle")])
        for ids in (
            [THREAD],
            [THREAD, THREAD],
            [OTHER_THREAD, THREAD],
            [THREAD, OTHER_THREAD, THREAD, OTHER_THREAD],
            [NEVER_WRITTEN],
            [NEVER_WRITTEN, THREAD],
        ):
            found = await store.search_turns("needle", conversations=ids)
            expected = sorted({*ids} - {NEVER_WRITTEN}, reverse=True)
            rule.equal([turn.conversation_id for turn in found], expected)

    async def test_an_empty_list_of_ids_finds_nothing(self, store: ConversationStore) -> None:
        rule = Rule("7", "no ids, no hits; query and limit are checked all the same")
        await store.append_turn(THREAD, [says("needle")])
        rule.equal(await store.search_turns("needle", conversations=()), ())
        with rule.refuses(ValueError, saying="query must contain at least one term"):
            await store.search_turns(" ", conversations=())
        with rule.refuses(ValueError, saying="limit must be >= 1, got 0"):
            await store.search_turns("needle", conversations=(), limit=0)

    async def test_a_limit_takes_the_newest(self, store: ConversationStore) -> None:
        rule = Rule("7", "at most `limit` hits, the newest; 50 by default")
        for _ in range(52):
            await store.append_turn(THREAD, [says("needle")])
        for limit in (1, 3, 52, 99):
            expected = list(range(52, 0, -1))[:limit]
            found = await store.search_turns("needle", limit=limit)
            rule.equal((limit, [turn.turn for turn in found]), (limit, expected))
        rule.equal(len(await store.search_turns("needle")), 50)
        for limit in HUGE_NUMBERS:
            rule.equal(len(await store.search_turns("needle", limit=limit)), 52)

    async def test_a_limit_counts_hits_not_turns(self, store: ConversationStore) -> None:
        for number in range(6):
            await store.append_turn(THREAD, [says("needle" if number % 3 == 0 else "hay")])
        found = await store.search_turns("needle", limit=2)
        Rule("7", "`limit` is applied after matching").equal([turn.turn for turn in found], [4, 1])

    async def test_bad_queries_and_limits_are_refused(self, store: ConversationStore) -> None:
        rule = Rule("5", "search_turns refuses a blank query, then bad ids, then limit < 1")
        for query in BLANK_QUERIES:
            with rule.refuses(ValueError, saying="query must contain at least one term"):
                await store.search_turns(query, conversations=["a/b"], limit=0)
        for limit in (0, -1, -(2**100)):
            with rule.refuses(ValueError, saying=f"limit must be >= 1, got {limit}"):
                await store.search_turns("x", limit=limit)

    @pytest.mark.parametrize("name", BAD_CONVERSATION_IDS)
    async def test_a_bad_id_is_refused(self, store: ConversationStore, name: str) -> None:
        rule = Rule("5", "each id in `conversations` is checked before the limit")
        with rule.refuses(ConversationIdInvalidError, conversation_id=name):
            await store.search_turns("x", conversations=[THREAD, name], limit=0)

    async def test_an_absent_term_finds_nothing(self, store: ConversationStore) -> None:
        await store.append_turn(THREAD, [says("hay")])
        rule = Rule("7", "a term that occurs nowhere finds nothing")
        rule.equal(await store.search_turns("needle"), ())
        rule.equal(await store.search_turns("hayneedle"), ())

    async def test_a_term_with_a_nul_matches_nothing(self, store: ConversationStore) -> None:
        await store.append_turn(THREAD, [says("hay")])
        rule = Rule("7", "a query term that holds U+0000 matches nothing")
        for query in ("\x00", "ha\x00y", "hay \x00"):
            rule.equal((query, await store.search_turns(query)), (query, ()))

    async def test_a_turn_without_text_is_not_found(self, store: ConversationStore) -> None:
        rule = Rule("7", "a turn without text matches no term")
        await store.append_turn(THREAD, [says(""), says(None, role="assistant")])
        await store.append_turn(THREAD, [Message(role="user", content=())])
        for query in ("a", "none", "null", "[]", "{}"):
            rule.equal((query, await _numbers(store, query)), (query, []))

    async def test_the_newest_of_equal_stamps_has_the_highest_turn(
        self, store: ConversationStore
    ) -> None:
        rule = Rule("7", "turns of one conversation come newest first, equal stamps or not")
        for _ in range(12):
            await store.append_turn(THREAD, [says("needle")])
        rule.equal(await _numbers(store, "needle"), list(range(12, 0, -1)))


async def _numbers(store: ConversationStore, query: str) -> list[int]:
    return [turn.turn for turn in await store.search_turns(query)]
