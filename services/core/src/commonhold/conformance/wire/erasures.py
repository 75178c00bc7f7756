"""Erasure of turns (docs/reference/stores.md, section 5, "Eraser"; wire.md, section 7)."""

import asyncio
from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.bodies import INTEGER, INTEGERS, TEXTS, WRONG
from commonhold.conformance.wire.trials import Row, Trial

ACT = ["conversation_id", "turns", "actor", "created_at"]


class ErasureCases:
    title = "erasure"

    @staticmethod
    async def everything_is_blanked_but_the_skeleton(trial: Trial) -> None:
        rule = Rule("5", "an erased turn keeps number, stamp and actor, and nothing else")
        before = await _erasable_turns(trial, 2)
        rule.equal(await _erase(trial), 2)
        blank = [{**turn, "messages": [], "redacted": True} for turn in before]
        rule.equal(await trial.turns(), blank)

    @staticmethod
    async def selectors_choose_the_turns(trial: Trial) -> None:
        rule = Rule("5", "through is a prefix; named turns count once, unknown ones not")
        await _erasable_turns(trial, 6)
        rule.equal(await _erase(trial, through=2), 2)
        rule.equal(await _erase(trial, turns=[4, 4, 99, 2**63]), 1)
        rule.equal(await _erase(trial, turns=[]), 0)
        flags = [turn["redacted"] for turn in await trial.turns()]
        rule.equal(flags, [True, True, False, True, False, False])
        acts = await _trail(trial)
        rule.equal([act["turns"] for act in acts], [[4], [1, 2]])

    @staticmethod
    async def bad_selectors_change_nothing(trial: Trial) -> None:
        rule = Rule("5", "both selectors, through < 1 and turns < 1 are refused in that order")
        before = await _erasable_turns(trial, 1)
        for options, message in (
            ({"through": 0, "turns": [0]}, "give through= or turns=, not both"),
            ({"through": 0}, "through must be >= 1, got 0"),
            ({"turns": [1, -3, 0]}, "turn numbers start at 1, got -3"),
        ):
            body = {"conversation_id": trial.thread, **options}
            await trial.refused(
                "conversation/redact_turns", body, code="value_error", message=message
            )
        rule.equal(await trial.turns(), before)

    @staticmethod
    async def a_mistyped_selector_is_named(trial: Trial) -> None:
        Rule("4", "types are never coerced: a mistyped parameter is named", "wire.md")
        await _require_erasable(trial)
        for route, name, kind in (
            ("conversation/redact_turns", "through", INTEGER),
            ("conversation/redact_turns", "turns", INTEGERS),
            ("conversation/turn_redactions", "conversations", TEXTS),
        ):
            for value in WRONG[kind]:
                body = {"conversation_id": trial.thread, name: value}
                message = f"parameter {name!r} must be {kind}"
                await trial.refused(route, body, code="value_error", message=message)

    @staticmethod
    async def repeating_counts_the_same_and_adds_an_act(trial: Trial) -> None:
        rule = Rule("5", "repeating returns the same count and adds another act")
        await _erasable_turns(trial, 2)
        counts = [await _erase(trial, actor="ops"), await _erase(trial)]
        rule.equal(counts, [2, 2])
        acts = await _trail(trial)
        rule.equal(list(acts[0]), ACT)
        seen = [(act["turns"], act["actor"]) for act in acts]
        rule.equal(seen, [([1, 2], trial.recorded(None)), ([1, 2], trial.recorded("ops"))])

    @staticmethod
    async def an_unknown_conversation_is_zero(trial: Trial) -> None:
        await _require_erasable(trial)
        rule = Rule("5", "an unknown conversation: 0, and nothing is recorded")
        rule.equal((await _erase(trial), await _trail(trial)), (0, []))

    @staticmethod
    async def search_forgets_what_was_erased(trial: Trial) -> None:
        rule = Rule("7", "redacted turns never match")
        await _erasable_turns(trial, 3)
        await _erase(trial, turns=[2])
        found = await trial.ok(
            "conversation/search_turns", query="message", conversations=[trial.thread]
        )
        rule.equal([turn["turn"] for turn in found["turns"]], [3, 1])

    @staticmethod
    async def covering_projections_lose_their_text_only(trial: Trial) -> None:
        rule = Rule("5", "an entry whose range meets an erased turn gets an empty text")
        await _erasable_turns(trial, 3)
        entries = [
            {"turn": turn, "kind": "log", "text": text, "span": span}
            for turn, text, span in (
                (1, "kept", 1),
                (2, "met", 1),
                (3, "covers", 2),
                (3, "after", 1),
            )
        ]
        name = {"conversation_id": trial.thread}
        await trial.ok("conversation/append_projections", **name, entries=entries)
        await _erase(trial, turns=[2])
        found = (await trial.ok("conversation/read_projections", **name))["entries"]
        seen = [(entry["turn"], entry["span"], entry["text"]) for entry in found]
        rule.equal(seen, [(1, 1, "kept"), (2, 1, ""), (3, 1, "after"), (3, 2, "")])

    @staticmethod
    async def appending_continues_the_numbers(trial: Trial) -> None:
        rule = Rule("5", "appends continue the numbering after an erasure")
        await _erasable_turns(trial, 2)
        await _erase(trial)
        rule.equal((await trial.append("new"))[0]["turn"], 3)
        last = await trial.ok("conversation/last_turn_number", conversation_id=trial.thread)
        rule.equal(last, {"turn": 3})

    @staticmethod
    async def the_trail_is_narrowed_and_bounded(trial: Trial) -> None:
        rule = Rule(
            "7", "turn_redactions: ids, an inclusive since, and a limit up to 500", "wire.md"
        )
        await _erasable_turns(trial, 1)
        for _ in range(3):
            await _erase(trial)
        acts = await _trail(trial)
        rule.equal(len(acts), 3)
        rule.equal(await _trail(trial, limit=1), acts[:1])
        newer = await _trail(trial, since=acts[0]["created_at"])
        rule.holds(acts[0] in newer, newer)
        rule.equal(await _trail(trial, since="9000-01-01T00:00:00Z"), [])
        rule.equal(await _trail(trial, conversations=[]), [])
        await trial.refused(
            "conversation/turn_redactions",
            {"conversations": ["a/b"], "limit": 501},
            code="value_error",
            message="the trail answers at most 500 acts; narrow the window",
        )

    @staticmethod
    async def a_racing_redaction_leaves_no_older_turn(trial: Trial) -> None:
        rule = Rule("5", "a redaction of all turns blanks every turn from before it")
        await _erasable_turns(trial, 1)
        await asyncio.gather(
            *(trial.append("message") for _ in range(4)),
            _erase(trial),
            *(trial.append("message") for _ in range(4)),
        )
        turns = await trial.turns()
        flags = [turn["redacted"] for turn in turns]
        rule.equal([turn["turn"] for turn in turns], list(range(1, 10)))
        rule.equal(flags, sorted(flags, reverse=True))
        rule.holds(flags[0], flags)


async def _require_erasable(trial: Trial) -> None:
    if not trial.capabilities.erasable:
        route = "conversation/redact_turns"
        await trial.lacks("is not erasable", route, conversation_id=trial.thread)


async def _erasable_turns(trial: Trial, count: int) -> list[Row]:
    await _require_erasable(trial)
    return await trial.append(*(f"message {number}" for number in range(1, count + 1)))


async def _erase(trial: Trial, **options: Any) -> int:
    answer = await trial.ok("conversation/redact_turns", conversation_id=trial.thread, **options)
    count: int = answer["count"]
    return count


async def _trail(trial: Trial, **options: Any) -> list[Row]:
    named = {"conversations": [trial.thread], **options}
    acts: list[Row] = (await trial.ok("conversation/turn_redactions", **named))["redactions"]
    return acts
