"""Pages of the memory listings (docs/reference/wire.md, section 9; stores.md, section 8)."""

from typing import Any

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.trials import Row, Trial

LISTINGS = {
    "list_documents": ("entries", "list"),
    "versions": ("versions", "versions"),
    "history": ("versions", "history"),
    "redactions": ("redactions", "trail"),
}


class PageCases:
    title = "pages"

    @staticmethod
    async def pages_joined_are_the_whole_listing(trial: Trial) -> None:
        rule = Rule("9", "following next_cursor to null gives every row once", "wire.md")
        await _fill(trial)
        for route in LISTINGS:
            whole, _ = await _page(trial, route)
            for limit in (1, 2, 3):
                rule.equal(
                    (route, limit, await _joined(trial, route, limit)), (route, limit, whole)
                )

    @staticmethod
    async def a_cursor_is_there_exactly_when_rows_follow(trial: Trial) -> None:
        rule = Rule("9", "next_cursor is not null exactly when more rows follow", "wire.md")
        await _fill(trial)
        for route in LISTINGS:
            whole, cursor = await _page(trial, route)
            rule.equal((route, cursor), (route, None))
            rows, cursor = await _page(trial, route, limit=len(whole))
            rule.equal((route, len(rows), cursor), (route, len(whole), None))
            rows, cursor = await _page(trial, route, limit=len(whole) - 1)
            rule.equal((route, len(rows)), (route, len(whole) - 1))
            rule.holds(isinstance(cursor, str), (route, cursor))

    @staticmethod
    async def a_limit_of_zero_answers_nothing(trial: Trial) -> None:
        rule = Rule("9", "limit 0: no rows, next_cursor null, the names still checked", "wire.md")
        await _fill(trial)
        for route in LISTINGS:
            rule.equal((route, await _page(trial, route, limit=0)), (route, ([], None)))
            answer = await trial.post(f"memory/{route}", {"scope": "x", "path": "a", "limit": 0})
            rule.equal(answer.decoded()["error"]["code"], "memory_scope_invalid")

    @staticmethod
    async def a_huge_limit_is_a_number(trial: Trial) -> None:
        rule = Rule("9", "a limit above 500 answers up to 500 rows", "wire.md")
        await _fill(trial)
        for route in LISTINGS:
            whole, _ = await _page(trial, route)
            for limit in (501, 2**31, 2**63, 2**100):
                rule.equal((route, await _page(trial, route, limit=limit)), (route, (whole, None)))

    @staticmethod
    async def junk_is_not_a_cursor(trial: Trial) -> None:
        Rule("9", "what is not a cursor is malformed, an empty one too", "wire.md")
        await _fill(trial)
        for route, (_rows, tag) in LISTINGS.items():
            for cursor in ("", "zzz", "\N{SNOWMAN}", "W10="):
                message = f"malformed {tag} cursor: {cursor!r}"
                body = {"scope": trial.scope, "path": "a", "cursor": cursor}
                await trial.refused(f"memory/{route}", body, code="value_error", message=message)

    @staticmethod
    async def a_cursor_of_another_listing_is_refused(trial: Trial) -> None:
        Rule("9", "a cursor belongs to its listing method", "wire.md")
        await _fill(trial)
        for route in LISTINGS:
            _, cursor = await _page(trial, route, limit=1)
            for other, (_rows, tag) in LISTINGS.items():
                if other != route:
                    body = {"scope": trial.scope, "path": "a", "cursor": cursor}
                    message = f"malformed {tag} cursor: {cursor!r}"
                    await trial.refused(
                        f"memory/{other}", body, code="value_error", message=message
                    )

    @staticmethod
    async def a_cursor_survives_what_happens_between_pages(trial: Trial) -> None:
        rule = Rule(
            "9",
            "a cursor is a position: writes, deletions and other limits change nothing",
            "wire.md",
        )
        await _require_pages(trial)
        for path in ("a", "b", "c", "d"):
            await trial.write(path, "x")
        rows, cursor = await _page(trial, "list_documents", limit=2)
        await trial.ok("memory/delete", scope=trial.scope, path=rows[-1]["path"])
        await trial.write("aa", "before the cursor")
        rest, _ = await _page(trial, "list_documents", cursor=cursor, limit=9)
        rule.equal([entry["path"] for entry in rest], ["c", "d"])


async def _require_pages(trial: Trial) -> None:
    if not trial.capabilities.pageable:
        route = "memory/list_documents"
        await trial.lacks("is not pageable", route, scope=trial.scope, cursor="W10=")


async def _fill(trial: Trial) -> None:
    """Rows for every listing; NotSupportedError of a service that has no pages."""
    await _require_pages(trial)
    for path in ("a", "b", "c", "d"):
        await trial.write(path, "one")
    for number in range(3):
        await trial.write("a", str(number))
    for path in ("a", "b", "c"):
        await trial.ok("memory/redact", scope=trial.scope, path=path)


async def _page(trial: Trial, route: str, **options: Any) -> tuple[list[Row], str | None]:
    path = {"path": "a"} if route == "versions" else {}
    answer = await trial.ok(f"memory/{route}", scope=trial.scope, **path, **options)
    return answer[LISTINGS[route][0]], answer["next_cursor"]


async def _joined(trial: Trial, route: str, limit: int) -> list[Row]:
    rows, cursor = await _page(trial, route, limit=limit)
    # No listing of a case has as many rows: one that never ends is a failure of its own.
    for _ in range(100):
        if cursor is None:
            return rows
        more, cursor = await _page(trial, route, limit=limit, cursor=cursor)
        rows += more
    return rows
