"""Documents one at a time (docs/reference/stores.md, section 4; wire.md, sections 5 and 6)."""

import asyncio
import re

from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import BAD_PATHS, BAD_SCOPES, CONTENTS, HUGE_NUMBERS
from commonhold.conformance.wire.services import OK
from commonhold.conformance.wire.trials import Trial

DOCUMENT = [
    "scope",
    "path",
    "content",
    "version",
    "created_at",
    "updated_at",
    "actor",
    "redacted",
    "extra",
]
VERSION = ["path", "version", "action", "content", "actor", "created_at", "redacted"]
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
WRITERS = 8


class DocumentCases:
    title = "memory"

    @staticmethod
    async def a_new_scope_is_empty(trial: Trial) -> None:
        rule = Rule("4", "a scope starts empty, and reading creates nothing")
        for _ in range(2):
            read = await trial.ok("memory/read", scope=trial.scope, path="a")
            rule.equal(read, {"document": None})
            listed = await trial.ok("memory/list_documents", scope=trial.scope)
            rule.equal(listed, {"entries": [], "next_cursor": None})
            for route in ("history", "redactions"):
                found = await trial.ok(f"memory/{route}", scope=trial.scope)
                rule.equal(next(iter(found.values())), [])

    @staticmethod
    async def a_write_is_answered_and_read_back(trial: Trial) -> None:
        rule = Rule("4", "write returns the new document, and every read agrees with it")
        written = await trial.write("notes/a", "one", actor="me")
        rule.equal(list(written), DOCUMENT)
        rule.equal(
            {key: written[key] for key in DOCUMENT if not key.endswith("_at")},
            {
                "scope": trial.scope,
                "path": "notes/a",
                "content": "one",
                "version": 1,
                "actor": trial.recorded("me"),
                "redacted": False,
                "extra": {},
            },
        )
        rule.equal(written["created_at"], written["updated_at"])
        rule.equal(await trial.read("notes/a"), written)
        (row,) = await trial.versions("notes/a")
        rule.equal(list(row), VERSION)
        rule.equal(
            row,
            {
                "path": "notes/a",
                "version": 1,
                "action": "created",
                "content": "one",
                "actor": trial.recorded("me"),
                "created_at": written["updated_at"],
                "redacted": False,
            },
        )
        rule.equal(await trial.history(), [row])

    @staticmethod
    async def stamps_are_utc_in_one_spelling_and_never_run_backwards(trial: Trial) -> None:
        rule = Rule("8", "stamps are UTC with six digits of fraction or none", "grammar.md")
        for number in range(6):
            await trial.write("a", str(number))
        stamps = [row["created_at"] for row in await trial.versions("a")]
        rule.holds(all(STAMP.fullmatch(stamp) for stamp in stamps), stamps)
        whole = [stamp.replace("Z", ".000000Z") if "." not in stamp else stamp for stamp in stamps]
        order = Rule("13", "a stamp is clamped to the newest stamp of its document")
        order.equal(whole, sorted(whole, reverse=True))

    @staticmethod
    async def an_actor_is_the_client_and_what_the_body_adds(trial: Trial) -> None:
        rule = Rule("3", "recorded is the client, or the client, a slash and the actor", "wire.md")
        for actor in (None, "me", "", "conv:abc#4", " any text / \N{GREEK SMALL LETTER ALPHA} "):
            written = await trial.write("a", "x", actor=actor)
            rule.equal(written["actor"], trial.recorded(actor))

    @staticmethod
    async def content_comes_back_as_it_was_sent(trial: Trial) -> None:
        rule = Rule("4", "content is any string, byte-exact")
        for number, content in enumerate(CONTENTS):
            rule.equal((await trial.write(f"c{number}", content))["content"], content)
            rule.equal((await trial.read(f"c{number}"))["content"], content)
            rule.equal([row["content"] for row in await trial.versions(f"c{number}")], [content])

    @staticmethod
    async def an_update_bumps_the_version_and_keeps_created_at(trial: Trial) -> None:
        rule = Rule("4", "write makes the next version live and keeps created_at")
        first = await trial.write("a", "same")
        second = await trial.write("a", "same", actor="b")
        rule.equal((second["version"], second["created_at"]), (2, first["created_at"]))
        rule.equal(second["actor"], trial.recorded("b"))
        actions = [(row["version"], row["action"]) for row in await trial.versions("a")]
        rule.equal(actions, [(2, "modified"), (1, "created")])

    @staticmethod
    async def delete_removes_and_records_the_content(trial: Trial) -> None:
        rule = Rule("4", "delete records a `deleted` row with the content, and removes")
        await trial.write("a", "kept in the ledger")
        deleted = await trial.ok("memory/delete", scope=trial.scope, path="a", actor="d")
        rule.equal(deleted, {"deleted": True})
        rule.equal(await trial.read("a"), None)
        newest = (await trial.versions("a"))[0]
        seen = [newest[key] for key in ("version", "action", "content", "actor")]
        rule.equal(seen, [2, "deleted", "kept in the ledger", trial.recorded("d")])

    @staticmethod
    async def deleting_nothing_is_false_and_silent(trial: Trial) -> None:
        rule = Rule("4", "delete without a live document is false and records nothing")
        rule.equal(await trial.ok("memory/delete", scope=trial.scope, path="a"), {"deleted": False})
        rule.equal(await trial.history(), [])

    @staticmethod
    async def numbers_continue_over_a_deletion(trial: Trial) -> None:
        rule = Rule("4", "numbers are never given twice")
        await trial.write("a", "one")
        await trial.ok("memory/delete", scope=trial.scope, path="a")
        again = await trial.write("a", "three")
        rule.equal((again["version"], again["created_at"]), (3, again["updated_at"]))
        actions = [row["action"] for row in await trial.versions("a")]
        rule.equal(actions, ["created", "deleted", "created"])

    @staticmethod
    async def scopes_do_not_nest(trial: Trial) -> None:
        rule = Rule("1", "a scope is not a hierarchy", "grammar.md")
        inner = f"{trial.scope}/proj:x"
        trial.scopes.append(inner)
        await trial.write("a", "outer")
        await trial.ok("memory/write", scope=inner, path="a", content="inner")
        rule.equal((await trial.read("a"))["content"], "outer")
        history = await trial.history()
        rule.equal([row["content"] for row in history], ["outer"])

    @staticmethod
    async def a_matching_expected_version_is_accepted(trial: Trial) -> None:
        rule = Rule("4", "a write that expects the live version is accepted")
        await trial.write("a", "one")
        rule.equal((await trial.write("a", "two", expected_version=1))["version"], 2)

    @staticmethod
    async def another_expected_version_is_refused_without_effect(trial: Trial) -> None:
        rule = Rule("4", "a write that expects another version is refused with version_mismatch")
        await trial.write("a", "one")
        live = await trial.write("a", "two")
        for expected in (1, 3, 0, -1, *HUGE_NUMBERS, -(2**63)):
            await trial.refused(
                "memory/write",
                {
                    "scope": trial.scope,
                    "path": "a",
                    "content": "three",
                    "expected_version": expected,
                },
                code="memory_conflict",
                details={
                    "scope": trial.scope,
                    "path": "a",
                    "reason": "version_mismatch",
                    "expected_version": expected,
                    "actual_version": 2,
                },
            )
        rule.equal(await trial.read("a"), live)

    @staticmethod
    async def an_expected_version_of_nothing_is_refused(trial: Trial) -> None:
        rule = Rule("4", "any expected version is refused with document_absent when none is live")
        for expected in (0, 1, 2**31):
            await trial.refused(
                "memory/write",
                {"scope": trial.scope, "path": "a", "content": "x", "expected_version": expected},
                code="memory_conflict",
                details={
                    "scope": trial.scope,
                    "path": "a",
                    "reason": "document_absent",
                    "expected_version": expected,
                    "actual_version": None,
                },
            )
        rule.equal(await trial.history(), [])

    @staticmethod
    async def of_racing_writers_that_expect_one_version_one_wins(trial: Trial) -> None:
        rule = Rule("4", "of racing writers that expect one version exactly one succeeds")
        for number in range(4):
            path = f"race-{number}"
            await trial.write(path, "start")
            body = {"scope": trial.scope, "path": path, "content": "x", "expected_version": 1}
            answers = await asyncio.gather(
                *(trial.post("memory/write", body) for _ in range(WRITERS))
            )
            won = [answer.status for answer in answers].count(OK)
            rule.equal((won, (await trial.read(path))["version"]), (1, 2))

    @staticmethod
    async def racing_writers_all_get_a_version(trial: Trial) -> None:
        rule = Rule("4", "every write gets its own number, without gaps")
        written = await asyncio.gather(
            *(trial.write("a", f"writer {number}") for number in range(WRITERS))
        )
        numbers = sorted(document["version"] for document in written)
        rule.equal(numbers, list(range(1, WRITERS + 1)))

    @staticmethod
    async def a_rename_moves_and_records_both_rows(trial: Trial) -> None:
        rule = Rule("4", "rename: a `deleted` row at src, a `created` row at dst, one stamp")
        await trial.write("a", "moved", actor="w")
        moved = await trial.ok("memory/rename", scope=trial.scope, src="a", dst="b", actor="r")
        seen = [moved["document"][key] for key in ("path", "content", "version", "actor")]
        rule.equal(seen, ["b", "moved", 1, trial.recorded("r")])
        rule.equal(await trial.read("a"), None)
        rule.equal(await trial.read("b"), moved["document"])
        rows = {(row["path"], row["version"]): row for row in await trial.history()}
        acts = {name: row["action"] for name, row in rows.items()}
        rule.equal(acts, {("a", 1): "created", ("a", 2): "deleted", ("b", 1): "created"})
        rule.equal(rows["a", 2]["created_at"], rows["b", 1]["created_at"])

    @staticmethod
    async def a_rename_continues_the_numbers_of_its_destination(trial: Trial) -> None:
        rule = Rule("4", "the dst row has the next number of dst")
        await trial.write("b", "old")
        await trial.ok("memory/delete", scope=trial.scope, path="b")
        await trial.write("a", "new")
        moved = await trial.ok("memory/rename", scope=trial.scope, src="a", dst="b")
        rule.equal(moved["document"]["version"], 3)

    @staticmethod
    async def a_rename_of_nothing_is_refused(trial: Trial) -> None:
        Rule("4", "src must be live: memory_document_not_found")
        await trial.refused(
            "memory/rename",
            {"scope": trial.scope, "src": "a", "dst": "b"},
            code="memory_document_not_found",
            message=f"Memory document not found: 'a' in scope {trial.scope!r}",
            details={"scope": trial.scope, "path": "a"},
        )

    @staticmethod
    async def a_rename_onto_a_live_document_is_refused(trial: Trial) -> None:
        rule = Rule("4", "a live dst, src itself included, is destination_exists")
        await trial.write("a", "x")
        kept = await trial.write("b", "y")
        for target in ("b", "a"):
            await trial.refused(
                "memory/rename",
                {"scope": trial.scope, "src": "a", "dst": target},
                code="memory_conflict",
                details={
                    "scope": trial.scope,
                    "path": target,
                    "reason": "destination_exists",
                    "expected_version": None,
                    "actual_version": None,
                },
            )
        rule.equal(await trial.read("b"), kept)

    @staticmethod
    async def a_bad_scope_is_refused_by_every_route_before_a_bad_path(trial: Trial) -> None:
        rule = Rule("9", "every route checks the scope before the paths", "grammar.md")
        for route, body in _memory_bodies("a//b").items():
            for scope in BAD_SCOPES[:6]:
                answer = await trial.post(f"memory/{route}", {**body, "scope": scope})
                error = answer.decoded()["error"]
                seen = (route, error["code"], error["details"]["scope"])
                rule.equal(seen, (route, "memory_scope_invalid", scope))

    @staticmethod
    async def a_bad_path_is_refused_by_every_route(trial: Trial) -> None:
        rule = Rule("2", "a path outside the grammar is memory_path_invalid", "grammar.md")
        for route in ("read", "write", "delete", "rename", "versions", "redact"):
            for path in BAD_PATHS:
                body = {**_memory_bodies(path)[route], "scope": trial.scope}
                error = (await trial.post(f"memory/{route}", body)).decoded()["error"]
                seen = (route, error["code"], error["details"]["path"])
                rule.equal(seen, (route, "memory_path_invalid", path))


def _memory_bodies(path: str) -> dict[str, dict[str, str]]:
    return {
        "read": {"path": path},
        "write": {"path": path, "content": "x"},
        "delete": {"path": path},
        "rename": {"src": path, "dst": "b"},
        "versions": {"path": path},
        "redact": {"path": path},
        "list_documents": {},
        "history": {},
        "redactions": {},
    }
