"""Whole units out, in one hold of the root's lock.

docs/reference/stores.md, section 21.
"""

from collections.abc import Iterator
from operator import attrgetter

from commonhold.adapters.file import lines
from commonhold.adapters.file.conversations import Conversations
from commonhold.adapters.file.conversations import read_trail as read_turn_trail
from commonhold.adapters.file.documents import Documents
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.layout import versions_file
from commonhold.adapters.file.records import document_paths, ledger_paths, read_trail
from commonhold.adapters.file.refusals import astray, collision, unsupported
from commonhold.adapters.file.tree import SpelledOtherwiseError, StrayEntryError, Tree
from commonhold.adapters.file.unfit import require_fit_conversation, require_fit_scope
from commonhold.contract.documents import MemoryVersion, ScopeArchive
from commonhold.contract.turns import ConversationArchive


def archive_scope(tree: Tree, documents: Documents, scope: str) -> ScopeArchive:
    read = (documents.read(tree, scope, path) for path in document_paths(tree, scope))
    archive = ScopeArchive(
        scope=scope,
        documents=tuple(document for document in read if document is not None),
        versions=tuple(
            row
            for path in ledger_paths(tree, scope)
            for row in sorted(_rows(tree, scope, path), key=attrgetter("version"))
        ),
        redactions=tuple(sorted(read_trail(tree, scope), key=attrgetter("created_at"))),
    )
    require_fit_scope(tree, archive)
    return archive


def archive_conversation(
    tree: Tree, conversations: Conversations, conversation_id: str
) -> ConversationArchive:
    turns, _ = conversations.read_turns(tree, conversation_id, after=0, limit=None)
    entries, _ = conversations.read_projections(tree, conversation_id, after=0, limit=None)
    acts = sorted(read_turn_trail(tree, conversation_id), key=attrgetter("created_at"))
    archive = ConversationArchive(
        conversation_id=conversation_id, turns=turns, projections=entries, redactions=tuple(acts)
    )
    require_fit_conversation(tree, archive)
    return archive


def _rows(tree: Tree, scope: str, path: str) -> Iterator[MemoryVersion]:
    file = versions_file(scope, path)
    try:
        for number, line in enumerate(tree.lines(file), 1):
            row = lines.decode_version(line, number=number)
            if row.path != path:
                raise collision(scope=scope, path=path, file=file)
            yield row
    except RowFaultError as fault:
        raise unsupported(fault, scope=scope, path=path, file=file) from None
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path) from None
