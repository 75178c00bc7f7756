"""The table of clients: a TOML file that says what each of them sees.

docs/reference/mcp.md, section 2. Every mistake names its line: whoever reads it has the
file open and the service down.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from commonhold.contract.errors import (
    CommonholdError,
    ConfigurationError,
    ConversationIdInvalidError,
)
from commonhold.contract.ids import check_conversation_id
from commonhold.ops.tokens import Client
from commonhold.usecases.mounts import Mount, MountTable
from commonhold_gateway.identities import Reach, Variant

VARIABLE = "COMMONHOLD_GATEWAY_CLIENTS"
SECTION = "clients"

# The way to a value from the top of the document.
Place: TypeAlias = tuple[str | int, ...]

_LOCATED = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
_FIELD = re.compile(r"`(\w+)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class MountEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scope: str
    path: str
    read_only: bool = False
    edit_only: bool = False
    description: str = ""


class ClientEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mounts: tuple[MountEntry, ...]
    conversations: tuple[str, ...] = ()
    instructions: Variant = "full"


class ClientsFileError(ValueError):
    """A mistake in the file and where it is."""

    def __init__(self, reason: str, *, place: Place) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


def read_clients(path: str, *, tokens: Iterable[Client]) -> Mapping[str, Reach]:
    """The reach of each client that the file names.

    Raises ConfigurationError for a file that cannot be read, for a mistake in it, for a
    client that no token speaks for, and for a reach beyond its token's allowance.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigurationError(f"{VARIABLE}: {path} cannot be read: {reason}") from None
    try:
        return parse_clients(tomllib.loads(text), tokens=tokens)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{VARIABLE}: {path}: {error}") from None
    except ClientsFileError as error:
        line = line_of(text, error.place)
        raise ConfigurationError(f"{VARIABLE}: {path}, line {line}: {error.reason}") from None


def parse_clients(document: Mapping[str, Any], *, tokens: Iterable[Client]) -> Mapping[str, Reach]:
    """As `read_clients`, from a decoded document; raises ClientsFileError."""
    for name in document:
        if name != SECTION:
            raise ClientsFileError(f"unknown section {name!r}", place=(name,))
    section = document.get(SECTION)
    if not isinstance(section, Mapping) or not section:
        raise ClientsFileError('no client is named: [clients."client:name"]', place=(SECTION,))
    known = tuple(tokens)
    return {
        name: _reach(
            entry,
            holders=[client for client in known if client.actor == name],
            place=(SECTION, name),
        )
        for name, entry in section.items()
    }


def line_of(text: str, place: Place) -> int:
    """The line on which the value at a place begins, or nearest above it.

    TOML libraries keep no positions, so the document is read again line by line until it
    holds the place: slow, and only done for a file that is refused.
    """
    lines = text.splitlines()
    for depth in range(len(place), 0, -1):
        settled = 0
        for count in range(1, len(lines) + 1):
            try:
                document = tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue
            if _holds(document, place[:depth]):
                return settled + 1
            settled = count
    return 1


def _holds(document: Any, place: Place) -> bool:
    for step in place:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _reach(entry: Any, *, holders: Sequence[Client], place: Place) -> Reach:
    """The reach of one entry; each of its tokens, old ones included, has to allow it."""
    if not holders:
        raise ClientsFileError(f"no token speaks for {place[-1]!r}", place=place)
    try:
        decoded = msgspec.convert(entry, ClientEntry)
    except msgspec.ValidationError as error:
        raise _located(str(error), place=place) from None
    reach = Reach(
        mounts=_mounts(decoded, place=place),
        conversation_prefixes=decoded.conversations,
        instructions=decoded.instructions,
    )
    for client in holders:
        _require_allowed(reach, client=client, place=place)
    return reach


def _mounts(entry: ClientEntry, *, place: Place) -> MountTable:
    mounts: list[Mount] = []
    for number, mount in enumerate(entry.mounts):
        here = (*place, "mounts", number)
        try:
            mounts.append(
                Mount(
                    scope=mount.scope,
                    mount_path=mount.path,
                    read_only=mount.read_only,
                    edit_only=mount.edit_only,
                    description=mount.description,
                )
            )
            # Said of the mount that repeats a path, not of the table as a whole.
            MountTable(tuple(mounts))
        except CommonholdError as error:
            raise ClientsFileError(error.message, place=here) from None
        except ValueError as error:
            raise ClientsFileError(str(error), place=here) from None
    if not mounts:
        raise ClientsFileError("at least one mount is needed", place=(*place, "mounts"))
    return MountTable(tuple(mounts))


def _require_allowed(reach: Reach, *, client: Client, place: Place) -> None:
    for number, mount in enumerate(reach.mounts.mounts):
        if not client.reaches_scope(mount.scope):
            raise ClientsFileError(
                f"the token's allowance does not reach scope {mount.scope!r}",
                place=(*place, "mounts", number, "scope"),
            )
    for number, prefix in enumerate(reach.conversation_prefixes or ()):
        here = (*place, "conversations", number)
        try:
            check_conversation_id(prefix)
        except ConversationIdInvalidError as error:
            raise ClientsFileError(
                f"{prefix!r} begins no conversation id: {error.reason}", place=here
            ) from None
        if not client.reaches_conversation(prefix):
            raise ClientsFileError(
                f"the token's allowance does not reach conversations {prefix!r}", place=here
            )


def _located(message: str, *, place: Place) -> ClientsFileError:
    """msgspec's message with its own way to the value taken out of it."""
    match = _LOCATED.fullmatch(message)
    reason, way = (match[1], match[2]) if match else (message, "")
    steps = [name or int(index) for name, index in _STEP.findall(way)]
    named = _FIELD.search(reason) if "field" in reason else None
    if named and "unknown" in reason:
        steps.append(named[1])
    return ClientsFileError(reason.replace("Object ", "the entry "), place=(*place, *steps))
