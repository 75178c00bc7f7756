"""Texts with claims in braces, as `user:{sub}`: how a token's claims become names.

No value of a claim reaches beyond its place, and two values never make the same name: a
value is refused, or replaced by its digest, when it holds anything else than a segment may
hold, or the character that ends its place (docs/reference/mcp.md, section 1.1).
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec

Misfits: TypeAlias = Literal["refuse", "hash"]

REFUSE: Misfits = "refuse"
DIGEST_PREFIX = "sha256"

# Where a claim goes, in a text that is compared: no name holds it.
_CLAIM = "\0"
_PIECES = re.compile(r"\{([^{}]+)\}")
_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DIGEST = re.compile(DIGEST_PREFIX + r"[0-9a-f]{64}")
_DOTS = frozenset({".", ".."})
# What may follow a claim. A digest holds none of them.
_STOPS = frozenset("/-_.")


class ClaimError(Exception):
    """The claim of a token that makes no name. The message never quotes its value."""

    def __init__(self, claim: str, reason: str) -> None:
        super().__init__(f"claim {claim!r} {reason}")


class Template(msgspec.Struct, frozen=True):
    """Literal texts, and the claims between them: one claim fewer than there are literals."""

    literals: tuple[str, ...]
    claims: tuple[str, ...]

    @property
    def head(self) -> str:
        """What every name made from it begins with."""
        return self.literals[0]

    def render(self, claims: Mapping[str, Any], *, misfits: Misfits) -> str:
        """The name for these claims; raises ClaimError."""
        parts = [self.head]
        for claim, literal in zip(self.claims, self.literals[1:], strict=True):
            parts += [_value(claim, claims.get(claim), stop=literal[:1], misfits=misfits), literal]
        return "".join(parts)

    def can_meet(self, other: "Template") -> bool:
        """Whether both could make the same name, or one a name that begins with the other's.

        Errs on the side of saying yes. Two literal texts do not meet: who wrote the same
        name twice meant it.
        """
        if not (self.claims or other.claims):
            return False
        mine, theirs = _segments(self), _segments(other)
        return len(mine) == len(theirs) and all(map(_segments_meet, mine, theirs))


def parse_template(text: str, *, is_prefix: bool = False) -> Template:
    """Raises ValueError for stray braces, and for a claim whose end could not be told.

    A prefix that ended with a claim would, for `al`, also be one of what begins with
    `alice`.
    """
    pieces = _PIECES.split(text)
    literals, claims = tuple(pieces[::2]), tuple(pieces[1::2])
    if any(set(literal) & {"{", "}"} for literal in literals):
        raise ValueError("has a brace that belongs to no {claim}")
    for number, claim in enumerate(claims, start=1):
        is_last = number == len(claims)
        if not literals[number] and is_last and not is_prefix:
            continue
        if literals[number][:1] not in _STOPS:
            raise ValueError(f"needs one of / - _ . after {{{claim}}}")
    return Template(literals, claims)


def _segments(template: Template) -> list[str]:
    return _CLAIM.join(template.literals).split("/")


def _segments_meet(one: str, other: str) -> bool:
    if _CLAIM not in one and _CLAIM not in other:
        return one == other
    head, other_head = one.partition(_CLAIM)[0], other.partition(_CLAIM)[0]
    return head.startswith(other_head) or other_head.startswith(head)


def _value(claim: str, value: Any, *, stop: str, misfits: Misfits) -> str:
    if not isinstance(value, str):
        raise ClaimError(claim, "is missing" if value is None else "is not a string")
    if not value:
        # Nobody in particular: a digest of it would be one name for all of them.
        raise ClaimError(claim, "is empty")
    if _fits(value, stop=stop):
        return value
    if misfits == REFUSE:
        raise ClaimError(claim, "holds what a name must not hold")
    # JSON can spell half a surrogate pair, which has no UTF-8 of its own.
    return DIGEST_PREFIX + sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _fits(value: str, *, stop: str) -> bool:
    if _VALUE.fullmatch(value) is None or value in _DOTS:
        return False
    # A value that looks like a digest could be another value's.
    return not (stop and stop in value) and _DIGEST.fullmatch(value) is None
