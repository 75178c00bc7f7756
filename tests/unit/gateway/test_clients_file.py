"""The file that says what each client sees (docs/reference/mcp.md, section 2)."""

import re
from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.tokens import Client
from commonhold.usecases.mounts import Mount, MountTable
from commonhold_gateway.clients import read_clients
from commonhold_gateway.identities import Reach

TOKENS = [
    Client(actor="client:ana"),
    Client(actor="client:bob"),
    Client(actor="client:held", scope_prefix="user:held", id_prefix="held-"),
    Client(actor="client:narrow", scope_prefix="user:narrow"),
]


def read(tmp_path: Path, text: str) -> dict[str, Reach]:
    path = tmp_path / "clients.toml"
    path.write_text(text)
    return dict(read_clients(str(path), tokens=TOKENS).reaches)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    prefix = f"COMMONHOLD_GATEWAY_CLIENTS: {tmp_path / 'clients.toml'}"
    assert caught.value.message.startswith(prefix)
    return caught.value.message.removeprefix(prefix).lstrip(",: ")


def test_an_entry_is_read_whole(tmp_path: Path) -> None:
    text = """
[clients."client:ana"]
conversations = ["ana-", "shared-"]
instructions = "discipline"
mounts = [
    { scope = "user:ana", path = "user", description = "about Ana" },
    { scope = "tenant:acme/kb:handbook", path = "kb", read_only = true },
    { scope = "task:1", path = "board", edit_only = true },
]

[clients."client:held"]
mounts = [{ scope = "user:held/x:1", path = "user" }]
conversations = ["held-1"]
"""
    found = read(tmp_path, text)
    assert found["client:ana"] == Reach(
        mounts=MountTable(
            (
                Mount(scope="user:ana", mount_path="user", description="about Ana"),
                Mount(scope="tenant:acme/kb:handbook", mount_path="kb", read_only=True),
                Mount(scope="task:1", mount_path="board", edit_only=True),
            )
        ),
        conversation_prefixes=("ana-", "shared-"),
        instructions="discipline",
    )
    assert found["client:held"].conversation_prefixes == ("held-1",)
    assert found["client:held"].instructions == "full"
    assert found.keys() == {"client:ana", "client:held"}


def test_an_entry_without_prefixes_reaches_no_conversation(tmp_path: Path) -> None:
    text = '[clients."client:ana"]\nmounts = [{ scope = "user:ana", path = "user" }]\n'
    assert read(tmp_path, text)["client:ana"].conversation_prefixes == ()


MISTAKES = {
    "no TOML": (
        '[clients."client:ana"]\nmounts = [\n',
        r"Invalid value \(at end of document\)",
    ),
    "a section nobody knows": ("\n[client]\nx = 1\n", r"line 2: unknown section 'client'"),
    "nobody named": ("", r"line 1: no client is named"),
    "no table": ('clients = "x"\n', r"line 1: no client is named"),
    "a client without a token": (
        '# first\n\n[clients."client:anna"]\nmounts = []\n',
        r"line 3: no token speaks for 'client:anna'",
    ),
    "no mounts": ('[clients."client:ana"]\n', r"line 1: .*required field `mounts`"),
    "an empty list of mounts": (
        '[clients."client:ana"]\nmounts = []\n',
        r"line 2: at least one mount is needed",
    ),
    "a key nobody knows": (
        '[clients."client:ana"]\nmounts = [{ scope = "u:a", path = "u" }]\nprefixes = []\n',
        r"line 3: .*unknown field `prefixes`",
    ),
    "a flag nobody knows": (
        '[[clients."client:ana".mounts]]\nscope = "u:a"\npath = "u"\nreadonly = true\n',
        r"line 4: .*unknown field `readonly`",
    ),
    "another type": (
        '[[clients."client:ana".mounts]]\nscope = "u:a"\npath = 5\n',
        r"line 3: Expected `str`, got `int`",
    ),
    "a variant nobody knows": (
        '[clients."client:ana"]\ninstructions = "short"\nmounts = [{ scope = "u:a", path = "u" }]',
        r"line 2: Invalid enum value 'short'",
    ),
    "a bad scope in the second mount": (
        (
            '[[clients."client:ana".mounts]]\nscope = "u:a"\npath = "u"\n\n'
            '[[clients."client:ana".mounts]]\nscope = "User"\npath = "v"\n'
        ),
        r"line 5: Invalid memory scope 'User'",
    ),
    "a bad path": (
        '[clients."client:ana"]\nmounts = [\n  { scope = "u:a", path = "u/v" },\n]\n',
        r"line 2: Invalid memory document path 'u/v': a mount path is a single segment",
    ),
    "both flags": (
        (
            '[[clients."client:ana".mounts]]\n'
            'scope = "u:a"\npath = "u"\nread_only = true\nedit_only = true\n'
        ),
        r"line 1: mount 'u' is read-only and edit-only at once",
    ),
    "one path twice": (
        (
            '[[clients."client:ana".mounts]]\nscope = "u:a"\npath = "u"\n'
            '[[clients."client:ana".mounts]]\nscope = "u:b"\npath = "u"\n'
        ),
        r"line 4: mount paths must be unique",
    ),
    "a mount beyond the allowance": (
        '[[clients."client:held".mounts]]\npath = "u"\nscope = "user:other"\n',
        r"line 3: the token's allowance does not reach scope 'user:other'",
    ),
    "conversations beyond the allowance": (
        (
            '[clients."client:held"]\nmounts = [{ scope = "user:held", path = "u" }]\n'
            'conversations = ["other-"]\n'
        ),
        r"line 3: the token's allowance does not reach conversations 'other-'",
    ),
    "conversations of a token that has none": (
        (
            '[clients."client:narrow"]\nmounts = [{ scope = "user:narrow", path = "u" }]\n'
            'conversations = ["narrow-"]\n'
        ),
        r"line 3: the token's allowance does not reach conversations 'narrow-'",
    ),
    "an empty prefix": (
        '[clients."client:ana"]\nconversations = [""]\nmounts = [{ scope = "u:a", path = "u" }]\n',
        r"line 2: '' begins no conversation id",
    ),
    "a prefix that begins no id": (
        '[clients."client:ana"]\nconversations = ["a/"]\nmounts = [{ scope = "u:a", path = "u" }]',
        r"line 2: 'a/' begins no conversation id",
    ),
    "a client twice": (
        '[clients."client:ana"]\nmounts = []\n[clients."client:ana"]\nmounts = []\n',
        r"Cannot declare .* \(at line 3, column 22\)",
    ),
}


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    message = refusal(tmp_path, text)

    assert re.match(told, message), message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.toml cannot be read: No such file"):
        read_clients(str(tmp_path / "gone.toml"), tokens=TOKENS)
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="cannot be read: not UTF-8"):
        read_clients(str(tmp_path / "latin"), tokens=TOKENS)


def test_every_token_of_a_client_has_to_allow_its_mounts(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    path.write_text('[clients."client:ana"]\nmounts = [{ scope = "user:ana", path = "user" }]\n')
    older = Client(actor="client:ana", scope_prefix="user:other")
    with pytest.raises(ConfigurationError, match="line 2: the token's allowance does not reach"):
        read_clients(str(path), tokens=[older, *TOKENS])
