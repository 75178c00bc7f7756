"""Pages over HTTP (docs/reference/wire.md, section 9)."""

from typing import Any

import pytest

from commonhold.contract import ConversationArchive, ConversationProjection, Message, Portable
from commonhold.contract.turns import ConversationTurn
from commonhold_state.backend import StateStore
from tests.support.goldens.expectations import assert_ok, assert_refused, decoded
from tests.support.wire_service import START, HandClock, Wire


async def plant(
    store: StateStore, *, turns: int = 0, entries: tuple[tuple[int, int], ...] = ()
) -> None:
    """A conversation `c` of so many turns and, for each (turn, count), so many projections."""
    message = Message(role="user", content="x")
    assert isinstance(store, Portable)
    await store.restore_conversation(
        ConversationArchive(
            conversation_id="c",
            turns=tuple(
                ConversationTurn(
                    conversation_id="c", turn=number, messages=(message,), created_at=START
                )
                for number in range(1, turns + 1)
            ),
            projections=tuple(
                ConversationProjection(turn=turn, kind="log", text="")
                for turn, count in entries
                for _ in range(count)
            ),
        )
    )


class PagingGoldens:
    """The tables of the section, row by row."""

    async def test_read_turns(self, wire: Wire, store: StateStore) -> None:
        await plant(store, turns=1201)
        for window, first, last, next_after in (
            ({}, 1, 500, 500),
            ({"after": 1000}, 1001, 1201, None),
            ({"after": 701}, 702, 1201, 1201),
            ({"after": 1201}, None, None, None),
            ({"limit": 500}, 1, 500, None),
            ({"limit": 499}, 1, 499, None),
            ({"limit": 1}, 1, 1, None),
            ({"limit": 17}, 1, 17, None),
            ({"limit": 501}, 1, 500, 500),
            ({"limit": 5000}, 1, 500, 500),
            ({"limit": 10**30}, 1, 500, 500),
            ({"limit": 0}, None, None, None),
        ):
            body: dict[str, Any] = {"conversation_id": "c", **window}
            answer = decoded(await wire.post("conversation/read_turns", body))
            numbers = [turn["turn"] for turn in answer["turns"]]
            expected = [] if first is None or last is None else list(range(first, last + 1))
            assert (numbers, answer["next_after"]) == (expected, next_after), window

    async def test_read_projections(self, wire: Wire, store: StateStore) -> None:
        singles = tuple((turn, 1) for turn in range(1, 251))
        await plant(store, entries=(*singles, (251, 260), (252, 1200), (253, 1)))
        for window, count, last, next_after in (
            ({}, 250, 250, 250),
            ({"after": 249}, 261, 251, 251),
            ({"after": 251}, 1201, 253, None),
            ({"after": 251, "limit": 700}, 700, 252, None),
            ({"after": 250, "limit": 700}, 260, 251, 251),
            ({"limit": 500}, 500, 251, None),
            ({"limit": 501}, 250, 250, 250),
            ({"after": 253}, 0, None, None),
            ({"limit": 0}, 0, None, None),
            ({"limit": 1}, 1, 1, None),
            ({"after": 251, "limit": 501}, 501, 252, None),
            ({"after": 252}, 1, 253, None),
        ):
            body: dict[str, Any] = {"conversation_id": "c", **window}
            answer = decoded(await wire.post("conversation/read_projections", body))
            turns = [entry["turn"] for entry in answer["entries"]]
            assert len(turns) == count, window
            assert (turns[-1] if turns else None, answer["next_after"]) == (last, next_after)

    async def test_listings_page_to_the_end(self, wire: Wire, clock: HandClock) -> None:
        for number in range(7):
            clock.advance()
            await wire.post("memory/write", {"scope": "u:a", "path": f"p{number}", "content": "x"})
            await wire.post("memory/write", {"scope": "u:a", "path": "many", "content": "x"})
            await wire.post("memory/redact", {"scope": "u:a", "path": f"p{number}"})
        for route, body, key, total in (
            ("list_documents", {}, "entries", 8),
            ("versions", {"path": "many"}, "versions", 7),
            ("history", {}, "versions", 14),
            ("redactions", {}, "redactions", 7),
        ):
            whole = decoded(await wire.post(f"memory/{route}", {"scope": "u:a", **body}))
            assert (len(whole[key]), whole["next_cursor"]) == (total, None)
            assert await self._walk(wire, route, body, key, limit=3) == whole[key]
            assert await self._walk(wire, route, body, key, limit=total) == whole[key]

    async def test_an_explicit_limit_still_continues(self, wire: Wire) -> None:
        for path in ("a", "b"):
            await wire.post("memory/write", {"scope": "u:a", "path": path, "content": "x"})
        for limit, is_last in ((1, False), (2, True), (500, True), (501, True), (10**30, True)):
            body = {"scope": "u:a", "limit": limit}
            answer = decoded(await wire.post("memory/list_documents", body))
            assert (answer["next_cursor"] is None) is is_last, limit

    async def test_a_page_without_a_limit_is_full_at_500(
        self, wire: Wire, store: StateStore
    ) -> None:
        for number in range(501):
            await store.write("u:a", f"p{number:03}", "x")
        for limit in (None, 500, 501, 10**30):
            body = {"scope": "u:a", "limit": limit}
            for route, key in (("list_documents", "entries"), ("history", "versions")):
                answer = decoded(await wire.post(f"memory/{route}", body))
                assert len(answer[key]) == 500
                assert answer["next_cursor"] is not None

    async def test_versions_come_50_at_a_time_by_default(
        self, wire: Wire, store: StateStore
    ) -> None:
        for _ in range(51):
            await store.write("u:a", "p", "x")
        for limit, count, has_more in ((None, 50, True), (50, 50, True), (51, 51, False)):
            body = {"scope": "u:a", "path": "p", "limit": limit}
            answer = decoded(await wire.post("memory/versions", body))
            assert len(answer["versions"]) == count
            assert (answer["next_cursor"] is not None) is has_more

    async def test_limit_zero_answers_nothing_and_reads_no_cursor(self, wire: Wire) -> None:
        for route, key in (
            ("list_documents", "entries"),
            ("versions", "versions"),
            ("history", "versions"),
            ("redactions", "redactions"),
        ):
            body = {"scope": "u:a", "path": "p", "limit": 0, "cursor": "zzz"}
            expected = f'{{"{key}":[],"next_cursor":null}}'
            assert_ok(await wire.post(f"memory/{route}", body), expected)
            answer = await wire.post(f"memory/{route}", {**body, "scope": "ZZ"})
            assert "memory_scope_invalid" in answer.text
            assert_refused(
                await wire.post(f"memory/{route}", {**body, "cursor": 1}),
                "parameter 'cursor' must be a string",
            )

    @pytest.mark.parametrize(
        ("route", "method"),
        [
            ("list_documents", "list"),
            ("versions", "versions"),
            ("history", "history"),
            ("redactions", "trail"),
        ],
    )
    async def test_a_bad_cursor_is_refused_after_the_grammar(
        self, wire: Wire, route: str, method: str
    ) -> None:
        for path in ("a", "b"):
            await wire.post("memory/write", {"scope": "u:a", "path": path, "content": "x"})
        other = "history" if route == "list_documents" else "list_documents"
        page = decoded(await wire.post(f"memory/{other}", {"scope": "u:a", "limit": 1}))
        foreign = page["next_cursor"]
        for cursor in ("zzz", "", "é", "\x00", "====", "[]", foreign, foreign[:-3], "A" * 10_000):
            body = {"scope": "u:a", "path": "a", "cursor": cursor}
            assert_refused(
                await wire.post(f"memory/{route}", body),
                f"malformed {method} cursor: {cursor!r}",
            )
        answer = await wire.post(f"memory/{route}", {"scope": "ZZ", "path": "a", "cursor": "z"})
        assert "memory_scope_invalid" in answer.text

    @staticmethod
    async def _walk(
        wire: Wire, route: str, body: dict[str, Any], key: str, *, limit: int
    ) -> list[Any]:
        rows: list[Any] = []
        cursor: str | None = None
        while True:
            page = decoded(
                await wire.post(
                    f"memory/{route}",
                    {"scope": "u:a", **body, "cursor": cursor, "limit": limit},
                )
            )
            assert len(page[key]) <= limit
            rows += page[key]
            cursor = page["next_cursor"]
            if cursor is None:
                return rows
