"""What dead processes left under temporary names, which an erasure takes with it.

A draft may hold what is to be erased, and even where nothing else is: a first write, or a
restore, may have left it.
"""

from collections.abc import Iterable

from commonhold.adapters.file.changes import Change
from commonhold.adapters.file.layout import (
    document_file,
    documents_folder,
    scope_folder,
    versions_file,
    versions_folder,
)
from commonhold.adapters.file.refusals import astray
from commonhold.adapters.file.tree import SpelledOtherwiseError, StrayEntryError, Tree


def clear_leftovers(tree: Tree, change: Change, scope: str, path: str | None) -> bool:
    """Have a change remove the drafts beside a path, or all of a scope; whether there are any."""
    try:
        return clear_folders(tree, change, _folders_of(tree, scope, path))
    except (StrayEntryError, SpelledOtherwiseError) as stray:
        raise astray(stray, scope=scope, path=path or "") from None


def clear_folders(tree: Tree, change: Change, folders: Iterable[str]) -> bool:
    leftovers = [leftover for folder in folders for leftover in tree.leftovers(folder)]
    for leftover in leftovers:
        change.remove(leftover)
    return bool(leftovers)


def _folders_of(tree: Tree, scope: str, path: str | None) -> Iterable[str]:
    if path is None:
        tops = (documents_folder(scope), versions_folder(scope))
        below = sorted(folder for top in tops for folder in tree.folders_below(top))
        # Of the scope's own folder nothing below: other scopes are in it.
        return [scope_folder(scope), *below]
    files = (document_file(scope, path), versions_file(scope, path))
    return [file.rpartition("/")[0] for file in files]
