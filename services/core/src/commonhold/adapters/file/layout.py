"""Where things are in a root: names of the contract to names of files and back.

docs/reference/filestore.md, section 1. Every file is named relative to the root, with `/`.
"""

from collections.abc import Callable

from commonhold.contract.errors import CommonholdError
from commonhold.contract.ids import check_conversation_id, check_path, check_scope

LOCK_NAME = ".store.lock"
TEMPORARY = ".neosian-tmp-"
CONVERSATIONS = "conversations"
DOCUMENTS = "documents"
VERSIONS = "versions"
TRAIL = "redactions.jsonl"
TURNS = "turns.jsonl"
PROJECTIONS = "projections.jsonl"
DOCUMENT_SUFFIX = ".md"
LEDGER_SUFFIX = ".jsonl"

_COLON = "%3A"
_SUFFIXES = {DOCUMENTS: DOCUMENT_SUFFIX, VERSIONS: LEDGER_SUFFIX}


def scope_folder(scope: str) -> str:
    """A folder a segment; of what a scope may hold only the colon needs an escape."""
    return scope.replace(":", _COLON)


def documents_folder(scope: str) -> str:
    return f"{scope_folder(scope)}/{DOCUMENTS}"


def versions_folder(scope: str) -> str:
    return f"{scope_folder(scope)}/{VERSIONS}"


def document_file(scope: str, path: str) -> str:
    return f"{documents_folder(scope)}/{path}{DOCUMENT_SUFFIX}"


def versions_file(scope: str, path: str) -> str:
    return f"{versions_folder(scope)}/{path}{LEDGER_SUFFIX}"


def scope_trail(scope: str) -> str:
    return f"{scope_folder(scope)}/{TRAIL}"


def conversation_folder(conversation_id: str) -> str:
    return f"{CONVERSATIONS}/{conversation_id}"


def turns_file(conversation_id: str) -> str:
    return f"{CONVERSATIONS}/{conversation_id}/{TURNS}"


def projections_file(conversation_id: str) -> str:
    return f"{CONVERSATIONS}/{conversation_id}/{PROJECTIONS}"


def conversation_trail(conversation_id: str) -> str:
    return f"{CONVERSATIONS}/{conversation_id}/{TRAIL}"


def draft_name(number: int) -> str:
    """By its last letter none that a folder of a document can have."""
    return f"{TEMPORARY}{number}~"


def is_temporary(name: str) -> bool:
    """A document's name may begin as a temporary file's does, and then ends as its own."""
    return name.startswith(TEMPORARY) and not name.endswith((DOCUMENT_SUFFIX, LEDGER_SUFFIX))


def is_folder_of_the_layout(name: str) -> bool:
    """Whether no document's folder can have the name, so that what has it and is none is astray."""
    *above, last = name.split("/")
    if name == CONVERSATIONS or above == [CONVERSATIONS]:
        return True
    return all(_COLON in part for part in above) and (
        _COLON in last or (bool(above) and last in (DOCUMENTS, VERSIONS))
    )


def scope_of(folder: str) -> str | None:
    """The scope that a folder holds; None for a foreign one."""
    if not all(_COLON in name for name in folder.split("/")):
        return None
    scope = folder.replace(_COLON, ":")
    return scope if _is_good(scope, check_scope) and scope_folder(scope) == folder else None


def path_of(name: str, *, suffix: str) -> str | None:
    """The document path that a file under `documents` or `versions` holds, if it is one."""
    path = name.removesuffix(suffix)
    return path if path != name and _is_good(path, check_path) else None


def conversation_of(folder: str) -> str | None:
    return folder if _is_good(folder, check_conversation_id) else None


def kind_of(file: str) -> str | None:
    """The folder or the fixed name by which the layout has a file; None for any other file."""
    folder, _, name = file.rpartition("/")
    if folder.startswith(f"{CONVERSATIONS}/"):
        return name if _is_conversation(folder) and name in (TURNS, PROJECTIONS, TRAIL) else None
    scope, inside = _split_scope(file)
    if scope is None or inside == TRAIL:
        return None if scope is None else TRAIL
    kind, _, path = inside.partition("/")
    suffix = _SUFFIXES.get(kind)
    return kind if suffix is not None and path_of(path, suffix=suffix) is not None else None


def may_hold_leftovers(folder: str) -> bool:
    """Whether an erasure looks there: in a unit's folder, or anywhere in a scope's two trees."""
    if _is_conversation(folder):
        return True
    scope, inside = _split_scope(folder)
    names = inside.split("/") if inside else []
    return scope is not None and (
        not names or (names[0] in _SUFFIXES and not {"", ".", ".."}.intersection(names))
    )


def _is_conversation(folder: str) -> bool:
    above, _, name = folder.rpartition("/")
    return above == CONVERSATIONS and conversation_of(name) is not None


def _split_scope(file: str) -> tuple[str | None, str]:
    """The scope whose folder a name begins with, and what is behind it."""
    names = file.split("/")
    depth = next((at for at, name in enumerate(names) if _COLON not in name), len(names))
    return scope_of("/".join(names[:depth])), "/".join(names[depth:])


def _is_good(name: str, check: Callable[[str], str]) -> bool:
    try:
        check(name)
    except CommonholdError:
        return False
    return True
