"""The named statements of sql/*.sql, one frozen record a file.

A record's fields and a file's names must be the same set: a statement nobody uses and a
use without a statement both stop the import.
"""

import re
from importlib import resources
from typing import TypeVar

import msgspec

from commonhold.migrations.scripts import in_schema

_NAME = re.compile(r"^-- name: (?P<name>[a-z_]+)$", re.MULTILINE)


class DocumentStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/documents.sql."""

    select_document: str
    write_document: str
    create_document: str
    write_document_at_version: str
    select_head_format: str
    delete_document: str
    lock_scope_shared: str
    lock_scope: str
    claim_heads: str
    lock_heads: str
    lock_versions: str
    bury_head: str
    revive_head: str
    insert_version: str
    select_version: str
    list_documents: str
    digest_documents: str
    list_aged_documents: str
    list_versions: str
    list_history: str
    list_history_after: str
    list_document_redactions: str
    blank_head: str
    blank_versions: str
    blank_scope_heads: str
    blank_scope_versions: str
    select_scope_extent: str
    insert_document_redaction: str
    list_scopes: str
    is_scope_occupied: str
    archive_documents: str
    archive_versions: str
    archive_document_redactions: str
    restore_heads: str
    restore_versions: str
    restore_document_redactions: str


class TurnStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/turns.sql."""

    append_turn: str
    list_turns: str
    select_turn: str
    select_last_turn: str
    search_turns: str
    sample_search_texts: str
    append_projections: str
    list_projections: str
    claim_conversation: str
    lock_conversation: str
    blank_turns: str
    blank_projections: str
    insert_turn_redaction: str
    advance_conversation: str
    list_turn_redactions: str
    list_turn_redactions_of: str
    list_conversations: str
    is_conversation_occupied: str
    archive_turns: str
    archive_projections: str
    archive_turn_redactions: str
    restore_conversation: str
    restore_turns: str
    restore_projections: str


class KeyStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/keys.sql."""

    insert_key: str
    select_key: str
    delete_key: str
    store_answer: str
    forget_document_digests: str
    forget_scope_digests: str
    forget_turn_digests: str
    sweep_keys: str
    find_schema_state: str
    select_schema_state: str
    select_encoding: str
    list_missing_timeouts: str


class OutlineStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/outlines.sql."""

    outline_documents: str


class ClaimStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/claims.sql."""

    is_claimed: str
    take_claims: str
    extend_claims: str
    release_claims: str
    hold_claims: str


class CacheStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/cache.sql."""

    select_value: str
    set_value: str
    increment_value: str
    delete_key: str
    record_hit: str
    try_record_hit: str
    count_hits: str
    select_oldest_hit: str
    sweep_values: str
    sweep_series: str


class GardenStatements(msgspec.Struct, frozen=True, kw_only=True):
    """sql/gardens.sql."""

    list_garden_runs: str
    record_garden_run: str
    select_job_backlog: str
    sweep_job_log: str


class Statements(msgspec.Struct, frozen=True, kw_only=True):
    """Every statement, with its tables in one schema."""

    documents: DocumentStatements
    turns: TurnStatements
    keys: KeyStatements
    claims: ClaimStatements
    outlines: OutlineStatements
    cache: CacheStatements
    gardens: GardenStatements


Named = TypeVar(
    "Named",
    DocumentStatements,
    TurnStatements,
    KeyStatements,
    ClaimStatements,
    CacheStatements,
    OutlineStatements,
    GardenStatements,
)


def parse_statements(text: str) -> dict[str, str]:
    """The blocks of a file by name; ValueError for a repeated name."""
    found: dict[str, str] = {}
    headings = list(_NAME.finditer(text))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        name = heading["name"]
        if name in found:
            raise ValueError(f"statement {name!r} is defined twice")
        end = following.start() if following is not None else len(text)
        found[name] = text[heading.end() : end].strip()
    return found


def in_record(kind: type[Named], text: str) -> Named:
    """The blocks of a file as its record; ValueError names what is missing or unused."""
    found = parse_statements(text)
    declared = set(kind.__struct_fields__)
    if found.keys() != declared:
        missing = sorted(declared - found.keys())
        unused = sorted(found.keys() - declared)
        raise ValueError(f"{kind.__name__}: missing {missing}, not declared {unused}")
    return msgspec.convert(found, kind)


def statements_in(schema: str) -> Statements:
    """All statements for a schema; ConfigurationError for an illegal name."""
    return Statements(
        documents=_moved(_DOCUMENTS, schema),
        turns=_moved(_TURNS, schema),
        keys=_moved(_KEYS, schema),
        claims=_moved(_CLAIMS, schema),
        outlines=_moved(_OUTLINES, schema),
        cache=_moved(_CACHE, schema),
        gardens=_moved(_GARDENS, schema),
    )


def _load(kind: type[Named], name: str) -> Named:
    path = resources.files("commonhold.adapters.postgres").joinpath("sql", name)
    return in_record(kind, path.read_text(encoding="utf-8"))


def _moved(record: Named, schema: str) -> Named:
    texts = {name: in_schema(getattr(record, name), schema) for name in record.__struct_fields__}
    return msgspec.convert(texts, type(record))


_DOCUMENTS = _load(DocumentStatements, "documents.sql")
_TURNS = _load(TurnStatements, "turns.sql")
_KEYS = _load(KeyStatements, "keys.sql")
_CLAIMS = _load(ClaimStatements, "claims.sql")
_OUTLINES = _load(OutlineStatements, "outlines.sql")
_CACHE = _load(CacheStatements, "cache.sql")
_GARDENS = _load(GardenStatements, "gardens.sql")
