"""The page of the files is compared with what writes and reads them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from commonhold.adapters.file import envelopes, layout, lines
from commonhold.adapters.file.calls import FILE_MODE, FOLDER_MODE
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.locks import POLL_SECONDS
from commonhold.adapters.file.store import LOCK_WAIT_SECONDS
from commonhold.contract import extras
from tests.support.markdown import fences, literals, reference, section, tables

PAGE = reference("filestore.md")


def again(line: bytes) -> bytes:
    """The line written anew from what was read, by the fields that tell its kind."""
    fields = json.loads(line).keys()
    for field, decode, encode in KINDS:
        if field in fields:
            return encode(decode(line))
    raise AssertionError(line)


KINDS: tuple[tuple[str, Callable[[bytes], Any], Callable[[Any], bytes]], ...] = (
    ("content", lambda line: lines.decode_version(line, number=1), lines.encode_version),
    (
        "count",
        lambda line: lines.decode_memory_redaction(line, number=1),
        lines.encode_memory_redaction,
    ),
    (
        "messages",
        lambda line: lines.decode_turn(line, number=1, conversation_id="c"),
        lines.encode_turn,
    ),
    ("span", lambda line: lines.decode_projection(line, number=1), lines.encode_projection),
    (
        "turns",
        lambda line: lines.decode_turn_redaction(line, number=1, conversation_id="c"),
        lines.encode_turn_redaction,
    ),
)
EXAMPLES = [line.encode() for body in fences(PAGE, "json") for line in body.splitlines()]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_row_is_what_is_written(line: bytes) -> None:
    assert again(line) == line + b"\n"


def test_the_example_document_is_what_is_written() -> None:
    (raw,) = fences(section(PAGE, "2. Document file"), "markdown")
    header, content = envelopes.split_envelope(raw.encode())
    envelope = envelopes.decode_envelope(header)
    assert envelopes.encode_document(envelope, content.decode()) == raw.encode()


def test_every_key_of_a_document_is_described_in_order() -> None:
    keys = next(iter(tables(section(PAGE, "2. Document file"))))
    described = [name for row in keys for name in literals(row[0])]
    assert described == [*extras.RESERVED_KEYS, "extra"]


HEAD = "neosian_format: 1\nversion: 1\n"
STAMPS = "created_at: '2026-01-02T03:04:05Z'\nupdated_at: '2026-01-02T03:04:05Z'\n"
BROKEN = {
    "missing envelope fence": b"",
    "unterminated envelope fence": b"---\nversion: 1\n",
    "envelope is not UTF-8": f"---\n{HEAD}{STAMPS}x: \xe9\n---\n".encode("latin-1"),
    "content is not UTF-8": f"---\n{HEAD}{STAMPS}---\n\xe9".encode("latin-1"),
    "invalid envelope YAML": b"---\n]\n---\n",
    "envelope is not a mapping": b"---\n- 1\n---\n",
    "missing neosian_format": f"---\nversion: 1\n{STAMPS}---\n".encode(),
    "format 2 is newer than 1": f"---\nneosian_format: 2\nversion: 1\n{STAMPS}---\n".encode(),
    "missing or invalid version": f"---\nneosian_format: 1\n{STAMPS}---\n".encode(),
    "missing or invalid created_at timestamp": f"---\n{HEAD}---\n".encode(),
    "naive created_at timestamp": f"---\n{HEAD}created_at: 2026-01-02T03:04:05\n---\n".encode(),
    "actor must be a string": f"---\n{HEAD}{STAMPS}actor: 1\n---\n".encode(),
    "redacted must be a boolean": f"---\n{HEAD}{STAMPS}redacted: 1\n---\n".encode(),
    "envelope is nested too deep": f"---\n{HEAD}{STAMPS}x: {'[' * 201}{']' * 201}\n---\n".encode(),
    "envelope holds too many values": f"---\n{HEAD}{STAMPS}x: [{'0,' * 10**5}]\n---\n".encode(),
    "envelope holds a number out of range": f"---\n{HEAD}{STAMPS}x: .inf\n---\n".encode(),
    "envelope holds a set that is no JSON": f"---\n{HEAD}{STAMPS}x: !!set {{a}}\n---\n".encode(),
    "envelope has the key '1' twice": f"---\n{HEAD}{STAMPS}1: a\n'1': b\n---\n".encode(),
}


def test_every_reason_of_a_document_is_described() -> None:
    reasons = list(tables(section(PAGE, "2. Document file")))[-1]
    assert [literals(row[0])[0] for row in reasons] == list(BROKEN)


@pytest.mark.parametrize("reason", BROKEN)
def test_a_described_reason_is_given(reason: str) -> None:
    with pytest.raises(RowFaultError) as fault:
        read(BROKEN[reason])
    assert fault.value.reason == reason


def read(raw: bytes) -> None:
    header, content = envelopes.split_envelope(raw)
    envelopes.sendable(envelopes.decode_envelope(header).extra)
    envelopes.decode_content(content)


def test_the_layout_is_the_one_that_is_used() -> None:
    entries = next(iter(tables(section(PAGE, "1. Layout"))))
    assert [literals(row[0])[0] for row in entries] == [
        layout.LOCK_NAME,
        f"{layout.scope_folder('user:ada')}/",
        f"{layout.scope_folder('user:ada/proj:erp')}/",
        layout.document_file("u:x", "<path>").removeprefix("u%3Ax/"),
        layout.versions_file("u:x", "<path>").removeprefix("u%3Ax/"),
        layout.TRAIL,
        f"{layout.conversation_folder('<id>')}/",
    ]
    assert f"files {FILE_MODE:04o}, folders {FOLDER_MODE:04o}" in PAGE
    assert f"`{layout.TEMPORARY}`" in PAGE
    assert f"polled every {POLL_SECONDS * 1000:g} ms" in PAGE
    assert f"at most {LOCK_WAIT_SECONDS:g} seconds" in PAGE
