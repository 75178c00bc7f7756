"""Mounts as words of a command line: what reads, what is refused, and in which words."""

import pytest

from commonhold.contract import PathInvalidError, ScopeInvalidError
from commonhold.usecases.mount_tokens import (
    MountTokenError,
    parse_mount,
    parse_mounts,
)
from commonhold.usecases.mounts import Mount

LONG_SCOPE = "tenant:acme/kb:handbook"


@pytest.mark.parametrize(
    ("token", "mount"),
    [
        ("scope=user:ana,path=user", Mount(scope="user:ana", mount_path="user")),
        (
            f"scope={LONG_SCOPE},path=kb,ro",
            Mount(scope=LONG_SCOPE, mount_path="kb", read_only=True),
        ),
        ("path=board,scope=task:7,eo", Mount(scope="task:7", mount_path="board", edit_only=True)),
        ("eo,path=board,scope=task:7", Mount(scope="task:7", mount_path="board", edit_only=True)),
    ],
)
def test_a_token_reads_as_its_mount(token: str, mount: Mount) -> None:
    assert parse_mount(token) == mount


@pytest.mark.parametrize("token", ["scope=user:ana", "path=user", "ro"])
def test_both_halves_are_needed(token: str) -> None:
    with pytest.raises(MountTokenError) as refusal:
        parse_mount(token)
    assert str(refusal.value) == f"--mount {token!r} needs both scope= and path="


@pytest.mark.parametrize(
    ("token", "part"),
    [
        ("scope=user:a,path=x,rw", "rw"),
        ("scope=user:a,path=x,ro,eo", "eo"),
        ("scope=user:a,path=x,eo,ro", "ro"),
        ("scope=user:a,path=x,ro,ro", "ro"),
        ("scope=user:a,path=x, ro", " ro"),
        ("scope=user:a,path=x,", ""),
        ("", ""),
        ("scope=user:a,scope=user:b,path=x", "scope=user:b"),
        ("scope=user:a,path=x,path=y", "path=y"),
        ("scope,path=x", "scope"),
        ("scope=user:a,path=x,ro=true", "ro=true"),
    ],
)
def test_a_malformed_token_names_the_part(token: str, part: str) -> None:
    with pytest.raises(MountTokenError) as refusal:
        parse_mount(token)
    assert str(refusal.value) == (
        f"malformed --mount {token!r}: expected scope=...,path=...[,ro|,eo]"
        f" (offending part: {part!r})"
    )


def test_the_values_keep_their_own_grammar() -> None:
    with pytest.raises(ScopeInvalidError) as scope_refusal:
        parse_mount("scope=bad,path=x")
    with pytest.raises(PathInvalidError) as path_refusal:
        parse_mount("scope=user:a,path=x/y")
    assert scope_refusal.value.message == (
        "Invalid memory scope 'bad': does not match <type>:<id>[/...]"
    )
    assert path_refusal.value.message == (
        "Invalid memory document path 'x/y': a mount path is a single segment"
    )


def test_two_tokens_cannot_share_a_path() -> None:
    with pytest.raises(ValueError, match=r"^mount paths must be unique$"):
        parse_mounts(["scope=user:a,path=x", "scope=user:b,path=x"])
