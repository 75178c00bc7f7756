"""Search over turns (docs/reference/stores.md, section 7; wire.md, section 7).

Each case looks for words of its own run, and nearly always in conversations of its own,
so that a large store is not read for it.
"""

from datetime import datetime
from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.trials import Row, Trial, moment


class SearchCases:
    title = "search"

    @staticmethod
    async def text_tool_names_arguments_and_results_are_found(trial: Trial) -> None:
        rule = Rule("7", "searched are texts, tool names with compact arguments, and results")
        messages = [
            {"role": "user", "content": "find it", "reasoning": "unsaid"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "block"},
                    {"type": "compaction", "content": "gone"},
                ],
                "tool_calls": [
                    {
                        "id": "hidden",
                        "name": "lookup",
                        "arguments": {"q": "Stra\u00dfe", "n": [1, 2]},
                    }
                ],
            },
            {"role": "tool", "content": "answer", "tool_call_id": "hidden"},
        ]
        await trial.ok("conversation/append_turn", conversation_id=trial.thread, messages=messages)
        for query, hit in (
            ("find", True),
            ("block", True),
            ("lookup", True),
            ('{"q":"Stra\u00dfe","n":[1,2]}', True),
            ("answer", True),
            ("unsaid", False),
            ("gone", False),
            ("hidden", False),
            ("assistant", False),
        ):
            rule.equal((query, await _numbers(trial, query)), (query, [1] if hit else []))

    @staticmethod
    async def every_term_must_occur_in_any_order_and_case(trial: Trial) -> None:
        rule = Rule("7", "every term is a substring, in any order, ASCII case ignored")
        await trial.append("the quick brown fox", "the slow fox")
        for query, expected in (
            ("fox QUICK", [1]),
            ("fox", [2, 1]),
            ("ROW ick", [1]),
            ("quick slow", []),
            ("quick\u00a0fox", [1]),
        ):
            rule.equal((query, await _numbers(trial, query)), (query, expected))

    @staticmethod
    async def terms_are_never_patterns(trial: Trial) -> None:
        rule = Rule("7", "no wildcards: %, _ and \\ are themselves")
        await trial.append("100% done_now", "1000 doneXnow back\\slash")
        for query, expected in (
            ("100%", [1]),
            ("done_now", [1]),
            ("back\\", [2]),
            ("%", [1]),
            (".*", []),
            ("done\x00now", []),
        ):
            rule.equal((query, await _numbers(trial, query)), (query, expected))

    @staticmethod
    async def hits_are_newest_first_and_cut_by_the_limit(trial: Trial) -> None:
        rule = Rule("7", "newest first; `limit` takes the newest")
        await trial.append(*("needle" if number % 2 else "hay" for number in range(8)))
        rule.equal(await _numbers(trial, "needle"), [8, 6, 4, 2])
        rule.equal(await _numbers(trial, "needle", limit=2), [8, 6])

    @staticmethod
    async def ids_narrow_the_search_and_count_once(trial: Trial) -> None:
        rule = Rule("7", "only the named conversations, each once; an empty list finds nothing")
        other = trial.another_thread()
        await trial.append("needle")
        await trial.append("needle", thread=other)
        for ids, expected in (
            ([trial.thread], {trial.thread}),
            ([other, other], {other}),
            ([trial.thread, other], {trial.thread, other}),
            ([], set()),
        ):
            found = await _search(trial, "needle", conversations=ids)
            rule.equal({turn["conversation_id"] for turn in found}, expected)
            rule.equal(len(found), len(expected))

    @staticmethod
    async def without_ids_the_whole_store_is_searched(trial: Trial) -> None:
        rule = Rule("7", "conversations absent: the whole store, newest first, then by id")
        word = trial.word("heliotrope")
        other = trial.another_thread()
        await trial.append(word)
        await trial.append(word, thread=other)
        found = (await trial.ok("conversation/search_turns", query=word))["turns"]
        rule.equal({turn["conversation_id"] for turn in found}, {other, trial.thread})
        rule.equal(found, sorted(found, key=_place, reverse=True))

    @staticmethod
    async def bad_queries_and_limits_are_refused_in_order(trial: Trial) -> None:
        Rule(
            "7", "limit above 500, then a blank query, then bad ids, then limit below 1", "wire.md"
        )
        for body, message in (
            (
                {"query": " ", "conversations": ["a/b"], "limit": 501},
                "a search answers at most 500 turns; narrow the query",
            ),
            (
                {"query": " \t", "conversations": ["a/b"], "limit": 0},
                "query must contain at least one term",
            ),
            ({"query": "x", "conversations": [], "limit": 0}, "limit must be >= 1, got 0"),
        ):
            await trial.refused(
                "conversation/search_turns", body, code="value_error", message=message
            )


def _place(turn: Row) -> tuple[datetime, str, int]:
    return moment(turn["created_at"]), turn["conversation_id"], turn["turn"]


async def _search(trial: Trial, query: str, **options: Any) -> list[dict[str, Any]]:
    named = {"conversations": [trial.thread], **options}
    answer = await trial.ok("conversation/search_turns", query=query, **named)
    turns: list[dict[str, Any]] = answer["turns"]
    return turns


async def _numbers(trial: Trial, query: str, **options: Any) -> list[int]:
    return [turn["turn"] for turn in await _search(trial, query, **options)]
