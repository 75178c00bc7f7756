"""The table of clients: a TOML file that says what each of them sees.

docs/reference/mcp.md, section 2. Every mistake names its line: whoever reads it has the
file open and the service down.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from commonhold.contract.errors import ConversationIdInvalidError
from commonhold.contract.ids import check_conversation_id
from commonhold.ops.settings_files import (
    Place,
    SettingsFileError,
    located,
    mistakes_at,
    read_settings_file,
)
from commonhold.ops.tokens import Client
from commonhold.usecases.mount_entries import MountEntry, mount_of
from commonhold.usecases.mounts import Mount, MountTable
from commonhold_gateway.identities import Reach, Variant
from commonhold_gateway.oauth.issuers import SECTION as ISSUERS
from commonhold_gateway.oauth.issuers import Issuer, parse_issuers

VARIABLE = "COMMONHOLD_GATEWAY_CLIENTS"
SECTION = "clients"


class ClientEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mounts: tuple[MountEntry, ...]
    conversations: tuple[str, ...] = ()
    instructions: Variant = "full"


class ClientsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says: the reach of each client of the token table, and the issuers."""

    reaches: Mapping[str, Reach] = {}
    issuers: tuple[Issuer, ...] = ()


def read_clients(
    path: str, *, tokens: Iterable[Client], resource: str | None = None
) -> ClientsFile:
    """Read the file; `resource` is the public address of `/mcp`, which issuers need.

    Raises ConfigurationError for a file that cannot be read, for a mistake in it, for a
    client that no token speaks for, and for a reach beyond its token's allowance.
    """
    return read_settings_file(
        path, variable=VARIABLE, parse=partial(parse_clients, tokens=tokens, resource=resource)
    )


def parse_clients(
    document: Mapping[str, Any], *, tokens: Iterable[Client], resource: str | None = None
) -> ClientsFile:
    """As `read_clients`, from a decoded document; raises SettingsFileError."""
    for name in document:
        if name not in {SECTION, ISSUERS}:
            raise SettingsFileError(f"unknown section {name!r}", place=(name,))
    clients = tuple(tokens)
    issuers: tuple[Issuer, ...] = ()
    if ISSUERS in document:
        issuers = parse_issuers(document[ISSUERS], tokens=clients, resource=resource)
    if issuers and SECTION not in document:
        return ClientsFile(issuers=issuers)
    return ClientsFile(reaches=_reaches(document.get(SECTION), tokens=clients), issuers=issuers)


def _reaches(section: Any, *, tokens: Sequence[Client]) -> Mapping[str, Reach]:
    if not isinstance(section, Mapping) or not section:
        raise SettingsFileError('no client is named: [clients."client:name"]', place=(SECTION,))
    return {
        name: _reach(
            entry,
            holders=[client for client in tokens if client.actor == name],
            place=(SECTION, name),
        )
        for name, entry in section.items()
    }


def _reach(entry: Any, *, holders: Sequence[Client], place: Place) -> Reach:
    """The reach of one entry; each of its tokens, old ones included, has to allow it."""
    if not holders:
        raise SettingsFileError(f"no token speaks for {place[-1]!r}", place=place)
    try:
        decoded = msgspec.convert(entry, ClientEntry)
    except msgspec.ValidationError as error:
        raise located(str(error), place=place) from None
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
        with mistakes_at((*place, "mounts", number)):
            mounts.append(mount_of(mount))
            # Said of the mount that repeats a path, not of the table as a whole.
            MountTable(tuple(mounts))
    with mistakes_at((*place, "mounts")):
        return MountTable(tuple(mounts))


def _require_allowed(reach: Reach, *, client: Client, place: Place) -> None:
    for number, mount in enumerate(reach.mounts.mounts):
        if not client.reaches_scope(mount.scope):
            raise SettingsFileError(
                f"the token's allowance does not reach scope {mount.scope!r}",
                place=(*place, "mounts", number, "scope"),
            )
    for number, prefix in enumerate(reach.conversation_prefixes or ()):
        here = (*place, "conversations", number)
        try:
            check_conversation_id(prefix)
        except ConversationIdInvalidError as error:
            raise SettingsFileError(
                f"{prefix!r} begins no conversation id: {error.reason}", place=here
            ) from None
        if not client.reaches_conversation(prefix):
            raise SettingsFileError(
                f"the token's allowance does not reach conversations {prefix!r}", place=here
            )
