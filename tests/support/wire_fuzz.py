"""Bodies that no client should send, made from those it should.

Everything comes from one seeded generator, so that a failure is repeated by its seed.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

AT = "2026-01-01T00:00:00Z"
SCOPES = ("user:a", "user:a/proj:x", "u:b")
PATHS = ("p", "notes/a", "q.md/r")
IDS = ("c", "c-1", "d.2")

MESSAGE = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "word"},
        {"type": "image", "media_type": "image/png", "data": "aGk="},
        {"type": "compaction", "content": "c"},
    ],
    "reasoning": "r",
    "tool_calls": [{"id": "1", "name": "n", "arguments": {"q": [1, 2.5, None]}}],
    "tool_call_id": None,
    "extra": {"k": {"z": 1}},
}
DOCUMENT = {
    "scope": "u:x",
    "path": "p",
    "content": "x",
    "version": 2,
    "created_at": AT,
    "updated_at": AT,
    "actor": None,
    "redacted": False,
    "extra": {"k": 1},
}
VERSION = {
    "path": "p",
    "version": 1,
    "action": "created",
    "content": "x",
    "actor": "a",
    "created_at": AT,
    "redacted": False,
}
TURN = {
    "conversation_id": "c",
    "turn": 1,
    "messages": [{"role": "user", "content": "word"}],
    "created_at": AT,
    "actor": "a",
    "redacted": False,
}

# A good body of every route; `$` marks what is drawn anew each time.
TEMPLATES: dict[str, dict[str, Any]] = {
    "memory/read": {"scope": "$scope", "path": "$path"},
    "memory/write": {
        "scope": "$scope",
        "path": "$path",
        "content": "x",
        "actor": "me",
        "expected_version": 1,
    },
    "memory/delete": {"scope": "$scope", "path": "$path", "actor": "me"},
    "memory/rename": {"scope": "$scope", "src": "$path", "dst": "$path", "actor": "me"},
    "memory/list_documents": {"scope": "$scope", "prefix": "p", "cursor": None, "limit": 2},
    "memory/versions": {"scope": "$scope", "path": "$path", "cursor": None, "limit": 2},
    "memory/redact": {"scope": "$scope", "path": "$path", "actor": "me"},
    "memory/history": {"scope": "$scope", "since": AT, "cursor": None, "limit": 2},
    "memory/redactions": {"scope": "$scope", "since": AT, "cursor": None, "limit": 2},
    "conversation/append_turn": {"conversation_id": "$id", "messages": [MESSAGE], "actor": "me"},
    "conversation/read_turns": {"conversation_id": "$id", "after": 1, "limit": 2},
    "conversation/last_turn_number": {"conversation_id": "$id"},
    "conversation/search_turns": {"limit": 5, "query": "word", "conversations": ["c", "c-1"]},
    "conversation/append_projections": {
        "conversation_id": "$id",
        "entries": [{"turn": 2, "kind": "log", "text": "t", "span": 1}],
    },
    "conversation/read_projections": {"conversation_id": "$id", "after": 0, "limit": 2},
    "conversation/redact_turns": {
        "conversation_id": "$id",
        "through": None,
        "turns": [1, 2],
        "actor": "me",
    },
    "conversation/turn_redactions": {"limit": 5, "conversations": ["c"], "since": AT},
    "store/scopes": {},
    "store/conversations": {},
    "store/restore_scope": {
        "scope": "$fresh",
        "documents": [DOCUMENT],
        "versions": [VERSION],
        "redactions": [{"path": None, "actor": None, "created_at": AT, "count": 1}],
    },
    "store/restore_conversation": {
        "conversation_id": "$freshid",
        "turns": [TURN],
        "projections": [{"turn": 1, "kind": "digest", "text": "t"}],
        "redactions": [{"turns": [1], "conversation_id": "c", "created_at": AT, "actor": "o"}],
    },
}

STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31 - 1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**100,
    0.0,
    -0.0,
    1.5,
    1e308,
    5e-324,
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfff",
    "é😀\u2028",
    "..",
    "a/../b",
    "a//b",
    "A" * 600,
    "yesterday",
    "2026-01-01",
    "9999-12-31T23:59:59.999999-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-01-01T00:00:00.123456789Z",
    "WyJsaXN0IiwiYSJd",
    "WyJ2ZXJzaW9ucyIsOTk5OTk5OTk5OTk5OTk5OTk5OTld",
    "' OR 1=1 --",
    "%_\\",
    [],
    {},
    [[]],
    [{}],
    {"": {}},
    ["c", "c", 1],
    [None],
    list(range(50)),
)


@dataclass(frozen=True)
class Shot:
    """One request: which route, which bytes, which key if any."""

    route: str
    body: bytes
    key: str | None


def shots(seed: int, count: int) -> Iterator[Shot]:
    """So many requests, the same for the same seed."""
    random = Random(seed)
    routes = list(TEMPLATES)
    for _ in range(count):
        route = random.choice(routes)
        key = random.choice(("k1", "k2", "k3", "", "a b")) if random.random() < 0.05 else None
        yield Shot(route, _body(random, route), key)


def _body(random: Random, route: str) -> bytes:
    if random.random() < 0.03:
        return random.randbytes(random.randrange(0, 200))
    value = _fill(random, TEMPLATES[route])
    for _ in range(random.choice((0, 0, 1, 1, 1, 2, 3))):
        _mutate(random, value)
    raw = json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
        raw = random.choice(RAW_MUTATIONS)(random, raw)
    return raw


def _fill(random: Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _fill(random, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(random, item) for item in value]
    drawn = {
        "$scope": lambda: random.choice(SCOPES),
        "$path": lambda: random.choice(PATHS),
        "$id": lambda: random.choice(IDS),
        "$fresh": lambda: f"f:{random.randrange(10**6)}",
        "$freshid": lambda: f"f-{random.randrange(10**6)}",
    }
    return drawn[value]() if isinstance(value, str) and value in drawn else value


def _mutate(random: Random, root: dict[str, Any]) -> None:
    """Change one place, anywhere in the tree."""
    places = list(_places(root))
    if not places:
        root[random.choice(("scope", "x", ""))] = random.choice(STRANGE)
        return
    holder, key = random.choice(places)
    kind = random.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.extend(_copy(holder[key]) for _ in range(random.randrange(1, 4)))
    elif kind == 3:
        holder[key] = _nested(random, random.choice((3, 30, 250)))
    else:
        holder[key] = _copy(random.choice(STRANGE))


def _copy(value: Any) -> Any:
    # As `deepcopy`, which runs out of stack in trees that JSON still holds.
    return json.loads(json.dumps(value))


def _places(root: Any) -> Iterator[tuple[Any, Any]]:
    pending = [root]
    while pending:
        holder = pending.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])


def _nested(random: Random, depth: int) -> Any:
    value = _copy(random.choice(STRANGE))
    for _ in range(depth):
        value = [value] if random.random() < 0.5 else {"k": value}
    return value


def _cut(random: Random, raw: bytes) -> bytes:
    return raw[: random.randrange(len(raw) + 1)]


def _flip(random: Random, raw: bytes) -> bytes:
    if not raw:
        return raw
    at = random.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << random.randrange(8))]) + raw[at + 1 :]


def _insert(random: Random, raw: bytes) -> bytes:
    at = random.randrange(len(raw) + 1)
    return raw[:at] + random.choice(TOKENS) + raw[at:]


def _number(random: Random, raw: bytes) -> bytes:
    """A number spelled in a way Python does not."""
    for digit in (b": 1", b": 2", b"[1", b" 2"):
        if digit in raw:
            return raw.replace(digit, digit[:-1] + random.choice(NUMBERS), 1)
    return raw


def _repeat_key(random: Random, raw: bytes) -> bytes:
    extra = random.choice((b'"scope": 1, ', b'"path": "z", ', b'"conversation_id": null, '))
    return raw.replace(b"{", b"{" + extra, 1) if raw[:1] == b"{" and raw != b"{}" else raw


def _deepen(random: Random, raw: bytes) -> bytes:
    """Brackets around the limit of 512 levels, and far beyond any parser's."""
    depth = random.choice((505, 511, 512, 600, 5000))
    return raw.replace(b": ", b": " + b"[" * depth + b"]" * depth + b', "d": ', 1)


TOKENS = (
    b"\xef\xbb\xbf",
    b"\xff",
    b"\x00",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"NaN",
    b"Infinity",
    b"\\u0000",
    b"\\ud800",
    b"\n",
    b"//",
    b"'",
    b"\xed\xa0\x80",
)
NUMBERS = (
    b"1e400",
    b"-1e400",
    b"1E5",
    b"-0",
    b"1.0",
    b"01",
    b"+1",
    b"1.",
    b".5",
    b"0x10",
    b"9" * 4300,
    b"9" * 4301,
    b"-" + b"9" * 4300,
    b"1e-400",
)
RAW_MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _cut,
    _flip,
    _insert,
    _number,
    _repeat_key,
    _deepen,
)
