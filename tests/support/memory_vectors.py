"""The acceptance vectors of docs/reference/memory-tool.md, section 18, over any store.

A test class takes `MemoryToolVectors` and gives it a `store` fixture.
"""

import msgspec
import pytest

from commonhold.contract import MemoryEditor, MemoryStore
from commonhold.usecases.mounts import MountTable
from tests.support.memory_callers import BOARD, HANDBOOK, PROJECT, USER, Caller, InterruptedStore

INDEX_OF_EMPTY_MOUNTS = (
    "## /user\n(empty)\n\n## /kb (read-only)\n(empty)\n\n## /board (edit-only)\n(empty)"
)
# The documents of section 9, oldest first.
USER_DOCUMENTS = ("alpha", "notes/a", "notes/b", "beta", "ops/run/x", "notes/c")
PROJECT_DOCUMENTS = ("design", "adr/1", "adr/2")


class MemoryToolVectors:
    def caller(self, documents: MemoryEditor, *mounts: str) -> Caller:
        """A caller of the commands; an edge that serves them puts its own here."""
        return Caller(documents, *mounts)

    @pytest.fixture
    def ana(self, store: MemoryStore) -> Caller:
        return self.caller(store, USER, HANDBOOK, BOARD, PROJECT)

    async def test_1_the_index_shows_empty_mounts_with_their_flags(
        self, store: MemoryStore
    ) -> None:
        ana = self.caller(store, USER, HANDBOOK, BOARD)
        assert await ana.succeed("view", path="/") == INDEX_OF_EMPTY_MOUNTS

    async def test_2_a_second_create_replaces_and_says_so(self, ana: Caller) -> None:
        first = await ana.call("create", path="/user/p", content="a")
        second = await ana.call("create", path="/user/p", content="b")
        assert (first.data, first.system_reminder) == ("Created /user/p (v1)", None)
        assert second.data == "Created /user/p (v2)"
        assert "(was v1)" in (second.system_reminder or "")

    async def test_3_an_edit_only_mount_refuses_a_new_document(self, ana: Caller) -> None:
        error = await ana.fail("create", path="/board/x", content="new")
        assert error == (
            "[memory_edit_only_mount] Memory mount 'board' is edit-only: its document set is fixed"
        )

    async def test_4_an_edit_only_mount_takes_a_new_content(
        self, store: MemoryStore, ana: Caller
    ) -> None:
        await store.write("task:42", "x", "layout")
        assert await ana.succeed("create", path="/board/x", content="b") == "Created /board/x (v2)"

    async def test_5_overlapping_matches_are_counted(self, ana: Caller) -> None:
        await ana.succeed("create", path="/user/o", content="aaa")
        error = await ana.fail("str_replace", path="/user/o", old_str="aa", new_str="b")
        assert error == "old_str appears 2 times in /user/o (lines 1, 1)"

    async def test_6_a_document_wins_over_a_directory_of_its_name(self, ana: Caller) -> None:
        await ana.succeed("create", path="/user/d", content="the document")
        await ana.succeed("create", path="/user/d/e", content="below")
        assert await ana.succeed("view", path="/user/d/") == "/user/d (v1):\n1: the document"

    async def test_7_an_edit_over_a_stale_read_is_a_conflict(
        self, store: MemoryStore, ana: Caller
    ) -> None:
        await ana.succeed("create", path="/user/p", content="one")

        async def edit_meanwhile() -> None:
            await ana.succeed("str_replace", path="/user/p", old_str="one", new_str="two")

        late = self.caller(InterruptedStore(store, after="read", act=edit_meanwhile), USER)
        error = await late.fail("str_replace", path="/user/p", old_str="one", new_str="three")
        assert error == (
            "[memory_conflict] Memory conflict on 'p' in scope 'user:ana': version_mismatch"
        )
        assert await ana.succeed("view", path="/user/p") == "/user/p (v2):\n1: two"

    async def test_8_a_revert_of_a_revert_brings_the_document_back(self, ana: Caller) -> None:
        await ana.succeed("create", path="/user/p", content="text")
        undone = await ana.revert("/user/p", 1)
        redone = await ana.revert("/user/p", 2)
        assert undone.data == "Reverted /user/p: v1 undone — the document is removed (now v2)"
        assert redone.data == "Reverted /user/p to v1's content (now v3)"
        assert await ana.succeed("view", path="/user/p") == "/user/p (v3):\n1: text"

    async def test_9_erased_content_does_not_come_back(
        self, store: MemoryStore, ana: Caller
    ) -> None:
        await ana.succeed("create", path="/user/p", content="secret")
        await store.redact("user:ana", path="p")
        await ana.succeed("create", path="/user/p", content="clean")
        refused = await ana.revert("/user/p", 2)
        assert refused.error == (
            "/user/p's history is redacted; the prior content was cleared and cannot be restored"
        )
        assert await ana.succeed("view", path="/user/p") == "/user/p (v2):\n1: clean"

    async def test_10_a_redacted_document_is_renamed_within_its_mount_alone(
        self, store: MemoryStore, ana: Caller
    ) -> None:
        await ana.succeed("create", path="/user/a", content="secret")
        await store.redact("user:ana", path="a")
        error = await ana.fail("rename", old_path="/user/a", new_path="/project/b")
        assert error == "/user/a is redacted; its content was cleared"
        await ana.succeed("rename", old_path="/user/a", new_path="/user/b")
        assert await ana.succeed("view", path="/user") == "- /user/b (redacted)"

    @pytest.mark.parametrize("directory", ["messages", "message-links"])
    async def test_11_the_state_of_other_tools_is_out_of_reach(
        self, ana: Caller, directory: str
    ) -> None:
        state = f"/user/{directory}/x"
        await ana.succeed("create", path="/user/p", content="text")
        errors = [
            await ana.fail("create", path=state, content="text"),
            await ana.fail("rename", old_path="/user/p", new_path=state),
            await ana.fail("view", path=state),
            await ana.fail("view", path=f"/user/{directory}/"),
        ]
        assert all("messages" in error and not error.startswith("[") for error in errors)

    @pytest.mark.parametrize(
        ("budget", "length"), [(178, 178), (177, 166), (173, 158), (172, 157), (156, 108)]
    )
    async def test_12_the_index_keeps_to_its_budget(
        self, store: MemoryStore, budget: int, length: int
    ) -> None:
        for path in USER_DOCUMENTS:
            await store.write("user:ana", path, "text")
        for path in PROJECT_DOCUMENTS:
            await store.write("project:erp", path, "text")
        ana = described(Caller(store, USER, PROJECT, index_budget=budget), "about Ana")
        assert len(await ana.succeed("view", path="/")) == length

    async def test_13_lines_end_at_line_feeds_alone(self, ana: Caller) -> None:
        await ana.succeed("create", path="/user/p", content="one\r\ntwo\r\n")
        assert await ana.succeed("view", path="/user/p") == (
            "/user/p (v1):\n1: one\r\n2: two\r\n3: "
        )

    async def test_14_file_text_stands_in_for_content(self, ana: Caller) -> None:
        await ana.succeed("create", path="/user/p", file_text="from file_text")
        await ana.succeed("create", path="/user/q", file_text="file", content="content")
        assert await ana.succeed("view", path="/user/p") == "/user/p (v1):\n1: from file_text"
        assert await ana.succeed("view", path="/user/q") == "/user/q (v1):\n1: content"


def described(caller: Caller, description: str) -> Caller:
    """Give the first mount a description, which no token can."""
    first, *others = caller.context.mounts.mounts
    mounts = (msgspec.structs.replace(first, description=description), *others)
    caller.context = msgspec.structs.replace(caller.context, mounts=MountTable(mounts))
    return caller
