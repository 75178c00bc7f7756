"""The token table and what each of its clients may reach (docs/reference/grammar.md, section 5)."""

from collections.abc import Iterable, Sequence
from hmac import compare_digest

import msgspec

from commonhold.contract.errors import ActorInvalidError
from commonhold.contract.ids import check_actor
from commonhold.ops.settings import Secret

DEFAULT_CLIENT = "client:default"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """Who a token speaks for, and the literal prefixes it is held to.

    With either prefix a client is constrained. The halves are not alike: without a scope
    prefix it reaches every scope, without an id prefix no conversation at all.
    """

    actor: str
    scope_prefix: str | None = None
    id_prefix: str | None = None

    @property
    def is_constrained(self) -> bool:
        return self.scope_prefix is not None or self.id_prefix is not None

    def reaches_scope(self, scope: str) -> bool:
        return self.scope_prefix is None or scope.startswith(self.scope_prefix)

    def reaches_conversation(self, conversation_id: str) -> bool:
        if self.id_prefix is None:
            return not self.is_constrained
        return conversation_id.startswith(self.id_prefix)

    def attribute(self, actor: str | None) -> str:
        """The actor to record: the client's own, then whatever the request adds, verbatim."""
        return self.actor if actor is None else f"{self.actor}/{actor}"


class TokenEntry(msgspec.Struct, frozen=True):
    token: Secret
    client: Client


class TokenTable:
    """Finds the client of an `Authorization` header, in constant time over all entries."""

    def __init__(
        self, current: Iterable[TokenEntry], *, previous: Iterable[TokenEntry] = ()
    ) -> None:
        # The last match counts, so a token in both tables speaks for its current client.
        self._entries = [
            (b"Bearer " + entry.token.reveal().encode(), entry.client)
            for entry in (*previous, *current)
        ]

    @property
    def clients(self) -> list[Client]:
        return [client for _, client in self._entries]

    def identify(self, header: str | None) -> Client | None:
        presented = (header or "").encode("utf-8", "surrogateescape")
        found = None
        for expected, client in self._entries:
            if compare_digest(presented, expected):
                found = client
        return found


def parse_token_table(text: str) -> tuple[TokenEntry, ...]:
    """One bare token, or entries `actor[@scope-prefix][+id-prefix]=token` joined by commas.

    Raises ValueError that names the entry by its number and never quotes it: a part in
    the wrong place may be a secret.
    """
    if "=" not in text:
        if _cannot_be_sent(text):
            raise ValueError("has blanks around it or line ends in it: no client can send that")
        return (TokenEntry(Secret(text), Client(actor=DEFAULT_CLIENT)),)
    entries: list[TokenEntry] = []
    for number, raw in enumerate(text.split(","), start=1):
        entry = _parse_entry(raw, number)
        _refuse_repeat(entry, entries, number)
        entries.append(entry)
    return tuple(entries)


def _parse_entry(raw: str, number: int) -> TokenEntry:
    left, equals, token = raw.partition("=")
    if not equals or not token:
        raise ValueError(f"entry {number} is malformed: expected actor=token")
    rest, plus, id_prefix = left.partition("+")
    actor, at, scope_prefix = rest.partition("@")
    if (plus and not id_prefix) or (at and not scope_prefix):
        raise ValueError(f"entry {number} has an empty prefix")
    try:
        check_actor(actor)
    except ActorInvalidError as error:
        raise ValueError(f"entry {number} has an invalid actor: {error.reason}") from None
    if _cannot_be_sent(token):
        raise ValueError(
            f"entry {number} has a token with blanks around it or line ends in it:"
            " no client can send that"
        )
    client = Client(
        actor=actor,
        scope_prefix=scope_prefix if at else None,
        id_prefix=id_prefix if plus else None,
    )
    return TokenEntry(Secret(token), client)


def _cannot_be_sent(token: str) -> bool:
    """Whether a header would lose a part of the token: blanks around it, line ends within."""
    return token != token.strip() or any(mark in token for mark in "\r\n\0")


def _refuse_repeat(entry: TokenEntry, earlier: Sequence[TokenEntry], number: int) -> None:
    for other in earlier:
        if other.token == entry.token or other.client.actor == entry.client.actor:
            raise ValueError(f"entry {number} repeats a token or an actor")
