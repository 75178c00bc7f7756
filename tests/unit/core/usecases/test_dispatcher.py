"""The dispatcher: the order of its checks, and what it makes of arguments and of errors."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import CommonholdError, StoreUnavailableError
from commonhold.usecases.dispatcher import COMMANDS
from tests.support.memory_callers import USER, Caller, InterruptedStore

NO_MOUNT = "no mount named 'nope'"


class ForbiddenError(CommonholdError):
    code = "forbidden"


def failing(store: InMemoryStore, error: Exception) -> Caller:
    async def fail() -> None:
        raise error

    return Caller(InterruptedStore(store, after="read", act=fail), USER)


async def test_an_unknown_command_is_answered_with_the_six(ana: Caller) -> None:
    result = await ana.call("it's")
    assert result.error == 'Unknown command "it\'s"'
    assert list(COMMANDS) == ["view", "create", "str_replace", "insert", "delete", "rename"]
    assert all(name in (result.system_reminder or "") for name in COMMANDS)


@pytest.mark.parametrize(
    ("command", "arguments", "name"),
    [
        ("create", {}, "path"),
        ("create", {"path": "/user/p"}, "content"),
        ("create", {"content": "x"}, "path"),
        ("str_replace", {"path": "/user/p", "new_str": "x"}, "old_str"),
        ("str_replace", {"path": "/user/p", "old_str": "x"}, "new_str"),
        ("insert", {"path": "/user/p"}, "insert_line"),
        ("insert", {"path": "/user/p", "insert_line": 0}, "insert_text"),
        ("delete", {"path": None}, "path"),
        ("rename", {"new_path": "/user/p"}, "old_path"),
        ("rename", {"old_path": "/user/p"}, "new_path"),
    ],
)
async def test_a_missing_argument_is_named(
    ana: Caller, command: str, arguments: dict[str, Any], name: str
) -> None:
    result = await ana.call(command, **arguments)
    assert result.error == f"The '{command}' command requires the '{name}' parameter"
    assert result.system_reminder is None


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("create", {"path": "/nope/p"}),
        ("rename", {"new_path": "/nope/p"}),
        ("view", {"path": "/nope"}),
    ],
)
async def test_a_path_that_leads_nowhere_comes_before_a_missing_argument(
    ana: Caller, command: str, arguments: dict[str, Any]
) -> None:
    error = await ana.fail(command, **arguments)
    assert error.startswith("[memory_path_invalid] ")
    assert NO_MOUNT in error


async def test_the_state_of_tools_comes_before_a_missing_argument(ana: Caller) -> None:
    assert "messages tool" in await ana.fail("create", path="/user/messages/x")


async def test_arguments_of_other_commands_are_not_looked_at(ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="x", old_path="/nope/x", view_range="?")
    moved = await ana.succeed("rename", old_path="/user/a", new_path="/user/b", path="/nope/x")
    assert moved == "Renamed /user/a to /user/b (v1)"
    assert await ana.succeed("view", path="/user/b", new_path=7) == "/user/b (v1):\n1: x"


async def test_an_empty_text_is_a_value(ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="", file_text="not this")
    assert await ana.succeed("view", path="/user/a") == "/user/a (v1):\n1: "


async def test_null_is_as_good_as_absent(ana: Caller) -> None:
    created = await ana.succeed("create", path="/user/a", content=None, file_text="x")
    assert created == "Created /user/a (v1)"
    assert (await ana.succeed("view", path=None)).startswith("## /user")


@pytest.mark.parametrize(
    ("command", "arguments", "fault"),
    [
        ("view", {"path": 7}, "path: Input should be a valid string"),
        ("view", {"path": "/user", "view_range": "1"}, "view_range: Input should be a valid list"),
        (
            "view",
            {"path": "/user", "view_range": [1, True]},
            "view_range.1: Input should be a valid integer",
        ),
        (
            "insert",
            {"path": "/user/p", "insert_line": True, "insert_text": "x"},
            "insert_line: Input should be a valid integer",
        ),
        (
            "create",
            {"path": "/user/p", "file_text": "a\x00"},
            "file_text: Input should not contain U+0000",
        ),
        (
            "create",
            {"path": "/user/p", "content": "\ud800"},
            "content: Input should not contain a lone surrogate",
        ),
    ],
)
async def test_a_mistyped_argument_is_a_failure_of_the_tool(
    ana: Caller, command: str, arguments: dict[str, Any], fault: str
) -> None:
    result = await ana.call(command, **arguments)
    assert result.error == f"Invalid arguments for tool 'memory': {fault}"
    assert result.code == "tool_invalid_arguments"


async def test_a_document_is_named_with_its_name_in_the_store(ana: Caller) -> None:
    bad = await ana.fail("view", path="/user/bad name")
    up = await ana.fail("create", path="/user/../x", content="x")
    assert bad.startswith("[memory_path_invalid] Invalid memory document path 'bad name': ")
    assert up.endswith("'../x': segment '..' is reserved")


@pytest.mark.parametrize("command", ["create", "str_replace", "insert", "delete"])
async def test_the_root_of_a_mount_takes_no_change(ana: Caller, command: str) -> None:
    arguments = {"content": "x", "old_str": "x", "new_str": "y", "insert_line": 0}
    error = await ana.fail(command, path="/user/", insert_text="x", **arguments)
    assert error == (
        "[memory_path_invalid] Invalid memory document path '/user/': "
        "a mount root is not a document"
    )


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("create", {"path": "/kb/p", "content": "x"}),
        ("str_replace", {"path": "/kb/p", "old_str": "", "new_str": ""}),
        ("insert", {"path": "/kb/p", "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": "/kb/p"}),
        ("rename", {"old_path": "/kb/p", "new_path": "/user/p"}),
        ("rename", {"old_path": "/board/p", "new_path": "/kb/p"}),
    ],
)
async def test_a_read_only_mount_takes_no_change(
    ana: Caller, command: str, arguments: dict[str, Any]
) -> None:
    result = await ana.call(command, **arguments)
    assert result.error == "[memory_read_only_mount] Memory mount 'kb' is read-only"
    assert result.system_reminder


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("create", {"path": "/board/new", "content": "x"}),
        ("delete", {"path": "/board/p"}),
        ("rename", {"old_path": "/board/p", "new_path": "/user/p"}),
        ("rename", {"old_path": "/user/absent", "new_path": "/board/p"}),
    ],
)
async def test_an_edit_only_mount_keeps_its_set_of_documents(
    store: InMemoryStore, ana: Caller, command: str, arguments: dict[str, Any]
) -> None:
    await store.write("task:42", "p", "layout")
    error = await ana.fail(command, **arguments)
    assert error.startswith("[memory_edit_only_mount] ")
    assert [entry.path for entry in await store.list_documents("task:42")] == ["p"]


async def test_an_edit_only_mount_takes_edits(store: InMemoryStore, ana: Caller) -> None:
    await store.write("task:42", "p", "a")
    await ana.succeed("str_replace", path="/board/p", old_str="a", new_str="b")
    await ana.succeed("insert", path="/board/p", insert_line=1, insert_text="c")
    assert await ana.succeed("view", path="/board/p") == "/board/p (v3):\n1: b\n2: c"


async def test_a_store_that_is_away_is_logged_without_a_traceback(store: InMemoryStore) -> None:
    with capture_logs() as logs:
        error = await failing(store, StoreUnavailableError("no connection")).fail(
            "view", path="/user/d"
        )
    assert error == "Tool 'memory' failed: the store is not reachable at the moment"
    assert logs == [
        {
            "event": "tool_failed",
            "log_level": "error",
            "tool": "memory",
            "reason": "no connection",
        }
    ]


@pytest.mark.parametrize("error", [RuntimeError("dsn=secret"), KeyError("secret")])
async def test_what_broke_is_logged_and_not_told(store: InMemoryStore, error: Exception) -> None:
    with capture_logs() as logs:
        result = await failing(store, error).call("view", path="/user/p")
    assert result.error == "Tool 'memory' failed: internal error"
    assert [(log["event"], log["tool"], log["exc_info"]) for log in logs] == [
        ("tool_failed", "memory", error)
    ]


async def test_a_refusal_of_a_token_is_told(store: InMemoryStore) -> None:
    caller = failing(store, ForbiddenError("this token's allowance does not reach it"))
    error = await caller.fail("view", path="/user/p")
    assert error == "[forbidden] this token's allowance does not reach it"


async def test_the_caller_is_recorded_as_the_actor(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="x")
    await ana.succeed("str_replace", path="/user/a", old_str="x", new_str="y")
    await ana.succeed("insert", path="/user/a", insert_line=0, insert_text="z")
    await ana.succeed("rename", old_path="/user/a", new_path="/user/b")
    await ana.succeed("rename", old_path="/user/b", new_path="/project/b")
    await ana.succeed("delete", path="/project/b")
    for scope, count in (("user:ana", 6), ("project:erp", 2)):
        rows = await store.history(scope)
        assert [row.actor for row in rows] == ["client:ana"] * count
