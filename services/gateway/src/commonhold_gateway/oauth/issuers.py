"""The issuers whose tokens are accepted: the `[[issuers]]` of the clients file.

docs/reference/mcp.md, section 1.1.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Annotated, Any

import msgspec

from commonhold.contract.ids import check_actor, check_conversation_id, check_scope
from commonhold.ops.settings_files import Place, SettingsFileError, located, mistakes_at
from commonhold.ops.tokens import Client
from commonhold.usecases.mount_entries import MountEntry, mount_of
from commonhold.usecases.mounts import Mount, MountTable
from commonhold_gateway.identities import Variant
from commonhold_gateway.oauth.addresses import check_url
from commonhold_gateway.oauth.keys import FITTING_KEYS
from commonhold_gateway.oauth.templates import REFUSE, Misfits, Template, parse_template

SECTION = "issuers"
# The kind of the first segment of every actor that a token of an issuer makes.
KIND = "oauth"
# Stands for any claim where a template is tried out.
SAMPLE = "x"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# RFC 6749, section 3.3.
ScopeToken = Annotated[str, msgspec.Meta(pattern=r"\A[\x21\x23-\x5b\x5d-\x7e]+\Z")]


class IssuerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    issuer: str
    mounts: tuple[MountEntry, ...]
    audience: str | None = None
    jwks_url: str | None = None
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    client: str = "user:{sub}"
    conversations: tuple[str, ...] = ()
    instructions: Variant = "full"
    misfits: Misfits = REFUSE
    required_scopes: tuple[ScopeToken, ...] = ()


class MountTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A mount whose scope depends on who asks."""

    scope: Template
    entry: MountEntry


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """An authorization server, and what its tokens give to whoever presents them."""

    name: str
    issuer: str
    audience: str
    jwks_url: str | None
    algorithms: tuple[str, ...]
    client: Template
    mounts: tuple[MountTemplate, ...]
    conversations: tuple[Template, ...]
    instructions: Variant
    misfits: Misfits
    required_scopes: tuple[str, ...]


def parse_issuers(
    section: Any, *, tokens: Iterable[Client], resource: str | None
) -> tuple[Issuer, ...]:
    """The issuers of a decoded section; raises SettingsFileError.

    `resource` is the public address of `/mcp`, and the audience of an entry without one.
    """
    place = (SECTION,)
    if not isinstance(section, list) or not section:
        raise SettingsFileError("must be written as [[issuers]]", place=place)
    if resource is None:
        raise SettingsFileError("COMMONHOLD_GATEWAY_PUBLIC_URL must be set", place=place)
    _refuse_namesakes(tokens, place=place)
    issuers = tuple(
        _issuer(entry, resource=resource, place=(*place, number))
        for number, entry in enumerate(section)
    )
    _refuse_repeats(issuers)
    _refuse_meetings(issuers)
    return issuers


def _issuer(entry: Any, *, resource: str, place: Place) -> Issuer:
    try:
        decoded = msgspec.convert(entry, IssuerEntry)
    except msgspec.ValidationError as error:
        raise located(str(error), place=place) from None
    with mistakes_at((*place, "name")):
        _require(_NAME.fullmatch(decoded.name), "name must match [a-z0-9][a-z0-9_-]{0,62}")
    with mistakes_at((*place, "issuer")):
        check_url(decoded.issuer)
    with mistakes_at((*place, "jwks_url")):
        check_url(decoded.jwks_url or decoded.issuer)
    with mistakes_at((*place, "audience")):
        _require(decoded.audience != "", "must not be empty")
    _check_algorithms(decoded.algorithms, place=(*place, "algorithms"))
    return Issuer(
        name=decoded.name,
        issuer=decoded.issuer,
        audience=decoded.audience or resource,
        jwks_url=decoded.jwks_url,
        algorithms=decoded.algorithms,
        client=_client(decoded, place=(*place, "client")),
        mounts=_mounts(decoded.mounts, place=(*place, "mounts")),
        conversations=_conversations(decoded.conversations, place=(*place, "conversations")),
        instructions=decoded.instructions,
        misfits=decoded.misfits,
        required_scopes=decoded.required_scopes,
    )


def _check_algorithms(algorithms: Sequence[str], *, place: Place) -> None:
    with mistakes_at(place):
        _require(algorithms, "at least one algorithm is needed")
    for number, algorithm in enumerate(algorithms):
        with mistakes_at((*place, number)):
            _require(algorithm in FITTING_KEYS, f"must be one of {', '.join(FITTING_KEYS)}")


def _client(entry: IssuerEntry, *, place: Place) -> Template:
    with mistakes_at(place):
        # The turn that an actor may end with belongs to who writes, not to who it is.
        _require("#" not in entry.client, "must not hold #")
        template = parse_template(entry.client)
        _require(template.claims, "needs a {claim}: all callers would be one client")
        check_actor(f"{KIND}:{entry.name}/{_tried(template)}")
    return template


def _mounts(entries: Sequence[MountEntry], *, place: Place) -> tuple[MountTemplate, ...]:
    templates: list[MountTemplate] = []
    tried: list[Mount] = []
    for number, entry in enumerate(entries):
        with mistakes_at((*place, number)):
            template = parse_template(entry.scope)
            templates.append(MountTemplate(scope=template, entry=entry))
            tried.append(mount_of(entry, scope=check_scope(_tried(template))))
            # Said of the mount that repeats a path, not of the table as a whole.
            MountTable(tuple(tried))
    with mistakes_at(place):
        _require(templates, "at least one mount is needed")
    return tuple(templates)


def _conversations(texts: Sequence[str], *, place: Place) -> tuple[Template, ...]:
    templates = []
    for number, text in enumerate(texts):
        with mistakes_at((*place, number)):
            template = parse_template(text, is_prefix=True)
            check_conversation_id(_tried(template))
            templates.append(template)
    return tuple(templates)


def _tried(template: Template) -> str:
    return template.render(dict.fromkeys(template.claims, SAMPLE), misfits=REFUSE)


def _refuse_namesakes(tokens: Iterable[Client], *, place: Place) -> None:
    for client in tokens:
        if client.actor.partition(":")[0] == KIND:
            reason = f"{client.actor!r} is in the token table: actors of kind {KIND!r} are issuers'"
            raise SettingsFileError(reason, place=place)


def _refuse_repeats(issuers: Sequence[Issuer]) -> None:
    for number, issuer in enumerate(issuers):
        for earlier in issuers[:number]:
            if issuer.name == earlier.name:
                raise SettingsFileError("repeats a name", place=(SECTION, number, "name"))
            if issuer.issuer == earlier.issuer:
                raise SettingsFileError("repeats an issuer", place=(SECTION, number, "issuer"))


def _refuse_meetings(issuers: Sequence[Issuer]) -> None:
    """Whatever their claims say, no two callers are given one name by different templates."""
    scopes = [
        (issuer, (SECTION, number, "mounts", index, "scope"), mount.scope)
        for number, issuer in enumerate(issuers)
        for index, mount in enumerate(issuer.mounts)
    ]
    prefixes = [
        (issuer, (SECTION, number, "conversations", index), prefix)
        for number, issuer in enumerate(issuers)
        for index, prefix in enumerate(issuer.conversations)
    ]
    for named in (scopes, prefixes):
        for (one, _, first), (other, place, second) in combinations(named, 2):
            is_shared = one is other and first == second
            if first.can_meet(second) and not is_shared:
                reason = f"could name what another caller has by {one.name!r}: begin it differently"
                raise SettingsFileError(reason, place=place)


def _require(holds: object, reason: str) -> None:
    if not holds:
        raise ValueError(reason)
