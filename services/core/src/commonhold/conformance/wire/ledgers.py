"""Listings, history and redaction (docs/reference/stores.md, section 4; wire.md, section 9)."""

import asyncio

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.trials import Row, Trial, moment

ENTRY = ["path", "version", "created_at", "updated_at", "redacted"]
ACT = ["path", "actor", "created_at", "count"]
IN_ORDER = ["0", "A-z", "A.z", "A/z", "B", "Z", "_x", "a", "a/b"]
DEFAULT_VERSIONS = 50


class LedgerCases:
    title = "memory"

    @staticmethod
    async def a_listing_is_in_code_point_order_without_what_was_deleted(trial: Trial) -> None:
        rule = Rule("4", "live documents, by path in code point order")
        for path in reversed([*IN_ORDER, "gone"]):
            await trial.write(path, "x")
        await trial.ok("memory/delete", scope=trial.scope, path="gone")
        entries = await _entries(trial)
        rule.equal([entry["path"] for entry in entries], IN_ORDER)
        document = await trial.read("B")
        (entry,) = [entry for entry in entries if entry["path"] == "B"]
        rule.equal(list(entry), ENTRY)
        rule.equal(entry, {key: document[key] for key in ENTRY})

    @staticmethod
    async def a_prefix_is_plain_text(trial: Trial) -> None:
        rule = Rule("2", "a prefix is any string, matched from the start", "grammar.md")
        for path in ("notes/a", "notes_b", "note", "Notes/a"):
            await trial.write(path, "x")
        for prefix, expected in (
            ("notes", ["notes/a", "notes_b"]),
            ("notes_", ["notes_b"]),
            ("n%", []),
            ("//", []),
            ("", ["Notes/a", "note", "notes/a", "notes_b"]),
            ("no\x00", []),
        ):
            found = [entry["path"] for entry in await _entries(trial, prefix=prefix)]
            rule.equal((prefix, found), (prefix, expected))

    @staticmethod
    async def versions_are_the_newest_first(trial: Trial) -> None:
        rule = Rule("4", "the most recent `limit` rows, version descending; 50 by default")
        for number in range(DEFAULT_VERSIONS + 1):
            await trial.write("a", str(number))
        rows = await trial.versions("a")
        numbers = [row["version"] for row in rows]
        rule.equal(numbers, list(range(DEFAULT_VERSIONS + 1, 1, -1)))
        rule.equal([row["content"] for row in rows[:2]], ["50", "49"])
        rule.equal([row["version"] for row in await trial.versions("a", limit=2)], [51, 50])
        rule.equal(await trial.versions("never"), [])

    @staticmethod
    async def history_spans_paths_and_deletions_newest_first(trial: Trial) -> None:
        rule = Rule("4", "all rows of all paths, deleted ones too, newest first, then by path")
        await trial.write("a", "one")
        await trial.write("b", "two")
        await trial.ok("memory/delete", scope=trial.scope, path="a")
        rows = await trial.history()
        seen = {(row["path"], row["version"], row["action"]) for row in rows}
        rule.equal(seen, {("a", 1, "created"), ("a", 2, "deleted"), ("b", 1, "created")})
        rule.equal(rows, _newest_first(rows))
        rule.equal(await trial.history(limit=2), rows[:2])

    @staticmethod
    async def since_is_inclusive(trial: Trial) -> None:
        rule = Rule("4", "`since` is inclusive, whatever offset it is written with")
        stamps = [(await trial.write("a", str(number)))["updated_at"] for number in range(3)]
        for place, stamp in enumerate(stamps):
            same = [row for row in stamps[place:] if moment(row) >= moment(stamp)]
            for since in (stamp, stamp.replace("Z", "+00:00")):
                found = await trial.history(since=since)
                rule.holds(len(found) >= len(same), (since, found))
                late = [row for row in found if moment(row["created_at"]) >= moment(stamp)]
                rule.equal((since, found), (since, late))
        rule.equal(await trial.history(since="9000-01-01T00:00:00Z"), [])

    @staticmethod
    async def a_bad_since_is_refused(trial: Trial) -> None:
        Rule("4", "a timestamp has an offset", "wire.md")
        for route in ("memory/history", "memory/redactions"):
            for since, message in (
                ("yesterday", "Invalid isoformat string: 'yesterday'"),
                ("2026-01-01", "naive wire timestamp refused: '2026-01-01'"),
            ):
                body = {"scope": trial.scope, "since": since}
                await trial.refused(route, body, code="value_error", message=message)

    @staticmethod
    async def a_negative_limit_is_refused_before_the_names(trial: Trial) -> None:
        Rule("9", "a negative limit is reported before the grammars", "grammar.md")
        for route in ("list_documents", "versions", "history", "redactions"):
            body = {"scope": "not a scope", "path": "a//b", "limit": -1}
            await trial.refused(
                f"memory/{route}", body, code="value_error", message="limit must be >= 0"
            )


class RedactionCases:
    title = "memory"

    @staticmethod
    async def a_path_redaction_keeps_the_skeleton(trial: Trial) -> None:
        rule = Rule("4", "redact blanks content and sets redacted; all else stays")
        await trial.write("a", "one", actor="w")
        live = await trial.write("a", "two")
        await trial.write("b", "untouched")
        before = await trial.versions("a")
        rule.equal(await _redact(trial, path="a", actor="ops"), 1)
        rule.equal(await trial.read("a"), {**live, "content": "", "redacted": True})
        blanked = [{**row, "content": "", "redacted": True} for row in before]
        rule.equal(await trial.versions("a"), blanked)
        rule.equal((await trial.read("b"))["content"], "untouched")

    @staticmethod
    async def a_scope_redaction_covers_every_path_and_no_other_scope(trial: Trial) -> None:
        rule = Rule("4", "without a path every path of the scope is blanked, deleted ones too")
        other = trial.another_scope()
        await trial.ok("memory/write", scope=other, path="a", content="other")
        for path in ("a", "b", "gone"):
            await trial.write(path, "secret")
        await trial.ok("memory/delete", scope=trial.scope, path="gone")
        rule.equal(await _redact(trial), 3)
        rows = await trial.history()
        rule.equal({(row["content"], row["redacted"]) for row in rows}, {("", True)})
        kept = (await trial.ok("memory/read", scope=other, path="a"))["document"]
        rule.equal(kept["content"], "other")

    @staticmethod
    async def a_repeated_redaction_counts_the_same_and_adds_an_act(trial: Trial) -> None:
        rule = Rule("4", "repeat calls return the same number and record an act each")
        await trial.write("a", "x")
        await trial.write("b", "x")
        counts = [await _redact(trial), await _redact(trial), await _redact(trial, path="a")]
        rule.equal(counts, [2, 2, 1])
        acts = await _acts(trial)
        rule.equal([(act["path"], act["count"]) for act in acts], [("a", 1), (None, 2), (None, 2)])
        rule.equal(list(acts[0]), ACT)

    @staticmethod
    async def redacting_nothing_is_zero_and_silent(trial: Trial) -> None:
        rule = Rule("4", "a redaction that matches nothing answers 0 and records no act")
        rule.equal((await _redact(trial), await _redact(trial, path="a")), (0, 0))
        rule.equal(await _acts(trial), [])

    @staticmethod
    async def an_act_names_who_erased(trial: Trial) -> None:
        rule = Rule("3", "a redaction records the client and what the body adds", "wire.md")
        await trial.write("a", "x")
        await _redact(trial, actor="ops")
        await _redact(trial)
        actors = [act["actor"] for act in await _acts(trial)]
        rule.equal(actors, [trial.recorded(None), trial.recorded("ops")])

    @staticmethod
    async def a_write_after_a_redaction_is_clean(trial: Trial) -> None:
        rule = Rule("4", "a later write clears the flag for the document and its new row only")
        await trial.write("a", "secret")
        await _redact(trial, path="a")
        rule.equal((await trial.write("a", "fresh"))["redacted"], False)
        flags = [(row["content"], row["redacted"]) for row in await trial.versions("a")]
        rule.equal(flags, [("fresh", False), ("", True)])

    @staticmethod
    async def a_racing_redaction_leaves_no_older_content(trial: Trial) -> None:
        rule = Rule("4", "once redact returned, no row from before it holds content")
        for number in range(6):
            path = f"race-{number}"
            await trial.write(path, "secret")
            await asyncio.gather(
                *(trial.write(path, f"secret {n}") for n in range(3)),
                _redact(trial, **({"path": path} if number % 2 else {})),
                *(trial.write(path, f"secret {n}") for n in range(3)),
            )
            rows = (await trial.versions(path))[::-1]
            flags = [row["redacted"] for row in rows]
            # In version order the blanked rows come first: what the redaction saw.
            rule.equal(flags, sorted(flags, reverse=True))
            rule.holds(flags[0], rows)
            rule.equal({row["content"] for row in rows if row["redacted"]}, {""})

    @staticmethod
    async def an_empty_path_is_no_scope(trial: Trial) -> None:
        rule = Rule(
            "6", "redact: `path` null is the whole scope, an empty one is refused", "wire.md"
        )
        await trial.write("a", "kept")
        error = (await trial.post("memory/redact", {"scope": trial.scope, "path": ""})).decoded()
        rule.equal(error["error"]["code"], "memory_path_invalid")
        rule.equal((await trial.read("a"))["content"], "kept")


def _newest_first(rows: list[Row]) -> list[Row]:
    """As history orders them: stamps of two paths may be equal, and either may be the later."""
    by_path = sorted(rows, key=lambda row: (row["path"], -row["version"]))
    return sorted(by_path, key=lambda row: moment(row["created_at"]), reverse=True)


async def _entries(trial: Trial, **options: str) -> list[Row]:
    answer = await trial.ok("memory/list_documents", scope=trial.scope, **options)
    entries: list[Row] = answer["entries"]
    return entries


async def _redact(trial: Trial, **options: str) -> int:
    count: int = (await trial.ok("memory/redact", scope=trial.scope, **options))["count"]
    return count


async def _acts(trial: Trial) -> list[Row]:
    acts: list[Row] = (await trial.ok("memory/redactions", scope=trial.scope))["redactions"]
    return acts
