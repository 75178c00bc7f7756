"""Mounts and tables of them: what is refused, and which mount keeps the sessions."""

import pytest

from commonhold.contract import PathInvalidError, ScopeInvalidError
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.mounts import Mount, MountTable, bare_scope_mount, sessions_mount


def test_the_scope_is_checked_before_the_path() -> None:
    with pytest.raises(ScopeInvalidError):
        Mount(scope="bad", mount_path="also bad")


@pytest.mark.parametrize("mount_path", ["", "..", "a b", "a/b"])
def test_a_mount_path_is_one_legal_segment(mount_path: str) -> None:
    with pytest.raises(PathInvalidError):
        Mount(scope="user:a", mount_path=mount_path)


def test_a_mount_is_not_read_only_and_edit_only_at_once() -> None:
    with pytest.raises(ValueError, match="at once"):
        Mount(scope="user:a", mount_path="x", read_only=True, edit_only=True)


def test_a_table_has_at_least_one_mount() -> None:
    with pytest.raises(ValueError, match="at least one mount"):
        MountTable(())


def test_two_mounts_may_share_a_scope_with_flags_of_their_own() -> None:
    table = parse_mounts(["scope=user:a,path=x", "scope=user:a,path=y,ro"])
    assert [mount.read_only for mount in table.mounts] == [False, True]


def test_a_bare_scope_is_mounted_where_models_look() -> None:
    assert bare_scope_mount("user:a") == Mount(scope="user:a", mount_path="memories")


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["scope=u:a,path=user", "scope=p:b,path=project"], "project"),
        (["scope=u:a,path=user", "scope=p:b,path=project,ro"], "user"),
        (["scope=u:a,path=user", "scope=p:b,path=project,eo"], "user"),
        (["scope=k:a,path=kb,ro", "scope=u:a,path=user", "scope=u:b,path=other"], "user"),
        (["scope=k:a,path=kb,ro", "scope=t:a,path=board,eo"], None),
    ],
)
def test_sessions_live_in_the_project_or_the_first_open_mount(
    tokens: list[str], expected: str | None
) -> None:
    mount = sessions_mount(parse_mounts(tokens))
    assert (mount and mount.mount_path) == expected
