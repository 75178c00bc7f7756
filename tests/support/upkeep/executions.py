"""What a model proposed, over any store (docs/reference/maintenance.md, section 4.4)."""

import json
from typing import Any

import pytest

from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.reports import Write
from tests.support.upkeep.gardens import (
    ACTOR,
    BOARD,
    HANDBOOK,
    PROJECT,
    USER,
)
from tests.support.upkeep.models import (
    ActingModel,
    create,
    delete,
    rename,
    replace,
)
from tests.support.upkeep.stages import (
    CHANGED,
    FLOOR,
    REDACTED,
    SECRET,
    STATE,
    Setting,
    StageCases,
    skipped,
    written,
)


class ExecutionCases(StageCases):
    async def test_what_a_model_says_stands_in_a_report_as_a_short_line(
        self, here: Setting
    ) -> None:
        await here.old(USER, "note", "text")
        slashes = "/" * 5000
        report = await here.run(
            [
                delete("/user/a\n\x1b[31mb\x00" + "c" * 9000),
                replace(f"{slashes}user/note", "text", "more"),
            ]
        )
        told = [*(skip.path for skip in report.skipped), *(skip.reason for skip in report.skipped)]
        told += [write.path for write in report.writes]
        assert len(told) == 3
        assert all(text.isprintable() and len(text) <= 1001 for text in told)
        assert report.skipped[0].path.startswith("/user/a\ufffd\ufffd[31mb\ufffdccc")
        assert await here.content(USER, "note") == "more"

    async def test_operations_land_in_order_under_the_actor(self, here: Setting) -> None:
        await here.old(USER, "tea", "Likes tea.")
        await here.old(USER, "tea2", "Likes green tea.")
        await here.old(USER, "old-name", "text")
        await here.fresh(PROJECT, "fact", "Ana is left-handed.")
        await here.old(BOARD, "plan", "step 1")
        report = await here.run(
            [
                replace("/user/tea", "tea", "green tea"),
                delete("/user/tea2"),
                rename("/user/old-name", "/user/new-name"),
                rename("project/fact", "/user/fact/"),
                replace("/user/tea", "green", "black"),
                create("/user/index", "see tea"),
                create("/board/plan", "step 2"),
            ]
        )
        assert report.writes == (
            Write(command="str_replace", path="/user/tea", version=2),
            Write(command="delete", path="/user/tea2", version=None),
            Write(command="rename", path="/user/new-name", version=1),
            Write(command="rename", path="/user/fact/", version=1),
            Write(command="str_replace", path="/user/tea", version=3),
            Write(command="create", path="/user/index", version=1),
            Write(command="create", path="/board/plan", version=2),
        )
        assert report.skipped == ()
        assert await here.content(USER, "tea") == "Likes black tea."
        assert await here.content(USER, "fact") == "Ana is left-handed."
        assert await here.content(PROJECT, "fact") is None
        assert await here.content(USER, "new-name") == "text"
        for scope in (USER, PROJECT, BOARD):
            rows = await here.store.history(scope)
            assert {row.actor for row in rows} == {ACTOR, "client:ana"}

    async def test_every_protection_skips_with_its_reason_and_the_rest_lands(
        self, here: Setting
    ) -> None:
        await here.old(USER, "a", "one two")
        await here.old(USER, "red", "secret")
        await here.store.redact(USER, path="red")
        await here.fresh(USER, "fresh", "x")
        await here.old(USER, "handoff", "note")
        await here.old(USER, "sessions/s", "note")
        await here.old(BOARD, "plan", "step")
        await here.old(HANDBOOK, "rule", "text")
        fixed = "/board is edit-only: its document set is fixed"
        read_only = "[memory_read_only_mount] Memory mount 'kb' is read-only"
        rows = [
            (delete("/user/handoff"), STATE),
            (replace("/user/sessions/s", "note", "x"), STATE),
            (rename("/user/a", "/user/messages/a"), STATE),
            (rename("/user/a", "/user/handoff"), STATE),
            (delete("/user/red"), REDACTED),
            (create("/user/red", "again"), REDACTED),
            (rename("/user/red", "/user/red2"), REDACTED),
            (delete("/user/fresh"), FLOOR),
            (create("/user/fresh", "y"), FLOOR),
            (replace("/user/fresh", "x", " \n"), FLOOR),
            (delete("/board/plan"), fixed),
            (rename("/board/plan", "/user/plan"), fixed),
            (rename("/user/a", "/board/a"), fixed),
            (create("/kb/rule", "y"), read_only),
            (delete("/kb/rule"), read_only),
            (
                create("/board/new", "y"),
                (
                    "[memory_edit_only_mount] Memory mount 'board' is edit-only: "
                    "its document set is fixed"
                ),
            ),
            (
                delete("/nope/x"),
                (
                    "[memory_path_invalid] Invalid memory document path '/nope/x': no mount named "
                    "'nope' (available mounts: /user, /project, /board, /kb)"
                ),
            ),
            (
                create("/user/../x", "y"),
                (
                    "[memory_path_invalid] Invalid memory document path '../x': "
                    "segment '..' is reserved"
                ),
            ),
            (
                delete("/user"),
                (
                    "[memory_path_invalid] Invalid memory document path '/user': "
                    "a mount root is not a document"
                ),
            ),
            (replace("/user/a", "three", "x"), "old_str did not appear verbatim in /user/a"),
            (replace("/user/a", "", "x"), "old_str must not be empty"),
            (replace("/user/none", "a", "b"), "No document at /user/none"),
            (
                rename("/user/a", "/user/fresh"),
                (
                    "[memory_conflict] Memory conflict on 'fresh' in scope 'user:ana': "
                    "destination_exists"
                ),
            ),
            (
                create("/user/bad", "\x00"),
                "Invalid arguments for tool 'memory': content: Input should not contain U+0000",
            ),
        ]
        before = await here.store.history(USER)
        report = await here.run([*(row[0] for row in rows), replace("/user/a", "two", "three")])
        expected = [
            (operation["command"], operation.get("new_path", operation.get("path")), reason)
            for operation, reason in rows
        ]
        assert skipped(report) == expected
        assert written(report) == ["str_replace /user/a (v2)"]
        assert len(await here.store.history(USER)) == len(before) + 1
        assert await here.content(BOARD, "plan") == "step"
        assert await here.content(HANDBOOK, "rule") == "text"

    async def test_fresh_documents_may_be_edited_and_moved(self, here: Setting) -> None:
        await here.fresh(USER, "a", "one two")
        await here.fresh(USER, "b", "text")
        report = await here.run([replace("/user/a", "one ", ""), rename("/user/b", "/project/b")])
        assert written(report) == ["str_replace /user/a (v2)", "rename /project/b (v1)"]

    @pytest.mark.parametrize(
        "operation",
        [
            replace("/user/a", "one", "1"),
            create("/user/a", "merged"),
            delete("/user/a"),
            rename("/user/a", "/user/b"),
            rename("/user/a", "/project/a"),
        ],
        ids=lambda operation: f"{operation['command']}-{operation.get('new_path', '')}",
    )
    @pytest.mark.parametrize("theirs", ["edit", "delete", "rename", "recreate", "redact"])
    async def test_what_changed_while_the_model_thought_is_not_touched(
        self, here: Setting, operation: dict[str, Any], theirs: str
    ) -> None:
        await here.old(USER, "a", "one")

        async def act() -> None:
            store = here.store
            if theirs == "edit":
                await store.write(USER, "a", "one newer")
            if theirs in {"delete", "recreate"}:
                await store.delete(USER, "a")
            if theirs == "recreate":
                await store.write(USER, "a", "one")
            if theirs == "rename":
                await store.rename(USER, "a", "moved")
            if theirs == "redact":
                await store.redact(USER, path="a")

        rows: list[Any] = []

        async def act_and_look() -> None:
            await act()
            rows.extend(await here.store.history(USER))

        report = await here.run([operation], meanwhile=act_and_look)
        assert report.writes == ()
        expected = REDACTED if theirs == "redact" else CHANGED
        assert [reason for _, _, reason in skipped(report)] == [expected]
        assert list(await here.store.history(USER)) == rows
        assert await here.store.list_documents(PROJECT) == ()

    async def test_a_document_that_came_meanwhile_is_not_covered(self, here: Setting) -> None:
        await here.old(USER, "a", "one")
        await here.old(USER, "c", "text")

        async def write_two() -> None:
            await here.store.write(USER, "b", "theirs")
            await here.store.write(PROJECT, "b", "theirs")

        report = await here.run(
            [
                create("/user/b", "ours"),
                rename("/user/a", "/user/b"),
                rename("/user/c", "/project/b"),
                delete("/user/b"),
            ],
            meanwhile=write_two,
        )
        assert report.writes == ()
        occupied = "[memory_conflict] Memory conflict on 'b' in scope 'user:ana': "
        assert [reason.removeprefix(occupied) for _, _, reason in skipped(report)] == [
            CHANGED,
            "destination_exists",
            "[memory_conflict] Memory conflict on 'b' in scope 'project:erp': destination_exists",
            CHANGED,
        ]
        assert await here.content(USER, "b") == "theirs"

    async def test_what_was_shown_as_redacted_is_left_alone_though_it_was_written_anew(
        self, here: Setting
    ) -> None:
        await here.old(USER, "red", "secret")
        await here.store.redact(USER, path="red")
        report = await here.run(
            [delete("/user/red"), create("/user/red", "ours")],
            meanwhile=lambda: here.store.write(USER, "red", "theirs"),
        )
        assert [reason for _, _, reason in skipped(report)] == [REDACTED] * 2
        assert await here.content(USER, "red") == "theirs"

    async def test_unknown_keys_of_an_operation_are_passed_over(self, here: Setting) -> None:
        await here.old(USER, "a", "one")
        extra = {**delete("/user/a"), "why": "old", "content": "ignored"}
        model = ActingModel(json.dumps({"ops": [extra], "thoughts": "none"}))
        assert written(await here.run(model)) == ["delete /user/a"]

    async def test_a_held_scope_is_neither_shown_nor_touched(self, here: Setting) -> None:
        await here.old(USER, "a", SECRET)
        await here.old(PROJECT, "b", "text")
        model = ActingModel(
            json.dumps({"ops": [delete("/user/a"), rename("/project/b", "/user/b")]})
        )
        report = await here.run(model, holds=Holds(scopes=(USER,)))
        assert SECRET not in model.sent[0]
        assert [reason for _, _, reason in skipped(report)] == ["legal hold"] * 3
        assert report.writes == ()

    async def test_two_mounts_of_one_scope_see_what_the_other_did(self, here: Setting) -> None:
        await here.old(USER, "a", "one")
        report = await here.run(
            [replace("/user/a", "one", "two"), replace("/same/a", "two", "three")],
            f"scope={USER},path=user",
            f"scope={USER},path=same",
        )
        assert written(report) == ["str_replace /user/a (v2)", "str_replace /same/a (v3)"]
