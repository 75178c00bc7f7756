"""What the files of a scope hold, read and refused as a whole."""

from datetime import datetime

import msgspec

from commonhold.adapters.file import lines
from commonhold.adapters.file.blanks import Loose, loose_version
from commonhold.adapters.file.envelopes import (
    Envelope,
    decode_content,
    decode_envelope,
    sendable,
    split_envelope,
)
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.layout import (
    DOCUMENT_SUFFIX,
    LEDGER_SUFFIX,
    TRAIL,
    document_file,
    documents_folder,
    path_of,
    scope_trail,
    versions_folder,
)
from commonhold.adapters.file.ledgers import Ledger
from commonhold.adapters.file.refusals import astray, unsupported
from commonhold.adapters.file.tree import SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.contract.documents import MemoryDocument, MemoryRedaction


class History(msgspec.Struct, frozen=True):
    """A ledger, and the paths that its rows name."""

    ledger: Ledger
    paths: frozenset[str]


class Held(msgspec.Struct, frozen=True):
    """A live document, and its keys as the file spells them."""

    record: MemoryDocument
    envelope: Envelope


def get_mark(tree: Tree, scope: str, path: str) -> Envelope | None:
    """What stands above the content of a live document, of whatever format that is."""
    file = document_file(scope, path)
    try:
        raw = tree.read(file)
        if raw is None:
            return None
        return decode_envelope(split_envelope(raw)[0], of_any_format=True)
    except RowFaultError as fault:
        raise unsupported(fault, scope=scope, path=path, file=file) from None
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path) from None


def document_paths(tree: Tree, scope: str) -> list[str]:
    return _paths(tree, scope, documents_folder(scope), suffix=DOCUMENT_SUFFIX)


def ledger_paths(tree: Tree, scope: str) -> list[str]:
    return _paths(tree, scope, versions_folder(scope), suffix=LEDGER_SUFFIX)


def read_trail(tree: Tree, scope: str) -> list[MemoryRedaction]:
    """The erasures of a scope, oldest first."""
    file = scope_trail(scope)
    try:
        tree.look_for_file(file)
        return _acts_of(tree.read(file) or b"")
    except RowFaultError as fault:
        raise unsupported(fault, scope=scope, path=TRAIL, file=file) from None
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=TRAIL) from None


def _paths(tree: Tree, scope: str, folder: str, *, suffix: str) -> list[str]:
    try:
        names = [path_of(name, suffix=suffix) for name in tree.files(folder, suffix=suffix)]
    except StrayEntryError as stray:
        path = stray.file.removeprefix(f"{folder}/").removesuffix(suffix)
        raise astray(stray, scope=scope, path=path) from None
    except SpelledOtherwiseError as stray:
        raise astray(stray, scope=scope, path="") from None
    return sorted(name for name in names if name is not None)


def held_document(raw: bytes, *, scope: str, path: str) -> Held:
    header, content = split_envelope(raw)
    envelope = decode_envelope(header)
    record = MemoryDocument(
        scope=scope,
        path=path,
        content=decode_content(content),
        version=envelope.version,
        created_at=envelope.created_at,
        updated_at=envelope.updated_at,
        actor=envelope.actor,
        redacted=envelope.redacted,
        extra=sendable(envelope.extra),
    )
    return Held(record, envelope)


def history_of(raw: bytes) -> History:
    ledger = Ledger.before_rows_of(raw)
    paths: set[str] = set()
    for number, line in enumerate(lines.split_lines(raw), 1):
        mark, fault = _judged(line, number=number)
        if mark.path is not None:
            paths.add(mark.path)
        ledger = ledger.behind(mark.number, mark.moment, fault)
    return History(ledger, frozenset(paths))


def _judged(line: bytes, *, number: int) -> tuple[Loose, RowFaultError | None]:
    """What places a row, and what is wrong with it; RowFaultError for what is no row at all."""
    try:
        row = lines.decode_version(line, number=number)
    except RowFaultError as fault:
        return loose_version(line, number=number), fault
    return Loose(row.version, row.path, row.created_at), None


def erasures_of(raw: bytes) -> dict[str | None, datetime]:
    """The newest erasure by its target; None is the whole scope."""
    newest: dict[str | None, datetime] = {}
    for act in _acts_of(raw):
        newest[act.path] = max(act.created_at, newest.get(act.path, act.created_at))
    return newest


def _acts_of(raw: bytes) -> list[MemoryRedaction]:
    numbered = enumerate(lines.split_lines(raw), 1)
    return [lines.decode_memory_redaction(row, number=number) for number, row in numbered]
