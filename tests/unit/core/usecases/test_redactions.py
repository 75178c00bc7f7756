"""Erasures through mounts: a document, a whole scope, and what does not fit together."""

import pytest

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.contract import PathInvalidError, ReadOnlyMountError
from commonhold.usecases.redactions import redact
from tests.support.memory_callers import Caller


async def test_a_document_is_blanked_with_its_history(store: InMemoryStore, ana: Caller) -> None:
    await ana.succeed("create", path="/user/a", content="secret")
    await ana.succeed("create", path="/user/b", content="kept")
    erasure = await redact(store, ana.context.mounts, "user/a/", actor="cli:ops")
    assert str(erasure) == "redacted 1 document at /user/a"
    assert (erasure.scope_wide, erasure.matched) == (False, 1)
    assert await ana.succeed("view", path="/user") == "- /user/a (redacted)\n- /user/b"
    assert [act.actor for act in await store.redactions("user:ana")] == ["cli:ops"]


async def test_a_scope_is_blanked_whole_only_when_asked(store: InMemoryStore, ana: Caller) -> None:
    for path in ("a", "b", "messages/m"):
        await store.write("user:ana", path, "secret")
    with pytest.raises(ValueError, match="must be asked for"):
        await redact(store, ana.context.mounts, "/user")
    assert (await store.redactions("user:ana")) == ()
    erasure = await redact(store, ana.context.mounts, "/user/", whole_scope=True)
    assert str(erasure) == "redacted 3 documents in scope 'user:ana' (mount /user)"


async def test_a_document_and_the_whole_scope_do_not_fit(store: InMemoryStore, ana: Caller) -> None:
    await store.write("user:ana", "a", "kept")
    with pytest.raises(ValueError, match="is a document"):
        await redact(store, ana.context.mounts, "/user/a", whole_scope=True)
    assert await store.redactions("user:ana") == ()


async def test_the_root_is_not_a_single_mount(store: InMemoryStore, ana: Caller) -> None:
    with pytest.raises(PathInvalidError, match="the root is not a single mount"):
        await redact(store, ana.context.mounts, "/", whole_scope=True)


@pytest.mark.parametrize(("path", "whole_scope"), [("/kb/a", False), ("/kb", True)])
async def test_a_read_only_mount_is_not_redacted(
    store: InMemoryStore, ana: Caller, path: str, *, whole_scope: bool
) -> None:
    with pytest.raises(ReadOnlyMountError):
        await redact(store, ana.context.mounts, path, whole_scope=whole_scope)


async def test_edit_only_mounts_and_reserved_paths_are_redacted(
    store: InMemoryStore, ana: Caller
) -> None:
    await store.write("task:42", "x", "secret")
    await store.write("user:ana", "messages/m", "secret")
    assert (await redact(store, ana.context.mounts, "/board/x")).matched == 1
    assert (await redact(store, ana.context.mounts, "/user/messages/m")).matched == 1


async def test_finding_nothing_is_a_success(store: InMemoryStore, ana: Caller) -> None:
    erasure = await redact(store, ana.context.mounts, "/user/absent")
    assert str(erasure) == "redacted 0 documents at /user/absent"
