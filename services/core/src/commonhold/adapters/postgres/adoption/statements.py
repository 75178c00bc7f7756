"""The statements of an adoption, with the old tables in one schema and ours in another."""

import re
from importlib import resources
from typing import TypeVar

import msgspec

from commonhold.adapters.postgres.statements import parse_statements
from commonhold.contract.ids import check_schema_name
from commonhold.migrations.scripts import in_schema

_INCLUDED = re.compile(r"\{(?P<name>read_[a-z_]+)\}")


class ScopeStatements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """sql/adopted_scopes.sql."""

    read_state: str
    count_rows: str
    list_scopes: str
    measure_scopes: str
    list_taken_scopes: str
    list_paths: str
    copy_heads: str
    copy_versions: str
    copy_redactions: str
    list_differing_heads: str
    list_differing_versions: str
    list_differing_redactions: str
    list_odd_scope_rows: str


class ConversationStatements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """sql/adopted_conversations.sql."""

    list_conversations: str
    measure_conversations: str
    list_taken_conversations: str
    copy_conversations: str
    list_old_turns: str
    insert_turns: str
    copy_projections: str
    copy_turn_redactions: str
    list_differing_conversations: str
    list_differing_turns: str
    count_turns: str
    list_differing_projections: str
    list_differing_turn_redactions: str
    list_odd_conversation_rows: str


Named = TypeVar("Named", ScopeStatements, ConversationStatements)


def scope_statements(source: str, target: str) -> ScopeStatements:
    return _load(ScopeStatements, "adopted_scopes.sql", source=source, target=target)


def conversation_statements(source: str, target: str) -> ConversationStatements:
    return _load(ConversationStatements, "adopted_conversations.sql", source=source, target=target)


def every_statement(source: str, target: str) -> list[str]:
    scopes, conversations = (
        scope_statements(source, target),
        conversation_statements(source, target),
    )
    return [*msgspec.structs.astuple(scopes), *msgspec.structs.astuple(conversations)]


def _load(kind: type[Named], name: str, *, source: str, target: str) -> Named:
    path = resources.files("commonhold.adapters.postgres").joinpath("sql", name)
    blocks = parse_statements(path.read_text(encoding="utf-8"))
    whole = {name: _put_together(text, blocks) for name, text in blocks.items()}
    old = f'"{check_schema_name(source)}".'
    return msgspec.convert(
        {
            # Ours first: the old schema may have the name that stands for ours.
            name: in_schema(text, target).replace("neosian.", old)
            for name, text in whole.items()
            if name in kind.__struct_fields__ or not name.startswith("read_")
        },
        kind,
    )


def _put_together(text: str, blocks: dict[str, str]) -> str:
    """The block with those that it includes, which include others in their turn."""
    return _INCLUDED.sub(lambda found: _put_together(blocks[found["name"]], blocks), text)
