"""The verbs `export` and `import` (docs/reference/cli.md, section 9).

What moves a store is looked up only when a verb is called: it brings clients and parsers
that no other verb needs.
"""

import importlib
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from commonhold.cli.stores import read_store_settings

Folder = Annotated[Path, Parameter(help="the archive: a directory of files")]
Scopes = Annotated[
    tuple[str, ...] | None, Parameter(negative="", help="move this scope (repeatable)")
]
Conversations = Annotated[
    tuple[str, ...] | None, Parameter(negative="", help="move this conversation (repeatable)")
]
Url = Annotated[str | None, Parameter(help="a service; its token is in NEOSIAN_CLIENT_TOKEN")]
Root = Annotated[Path | None, Parameter(help="a directory of files as the store")]
Schema = Annotated[str | None, Parameter(help="Postgres schema [default: COMMONHOLD_SCHEMA]")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="one JSON object")]


def export_store(
    folder: Folder,
    /,
    *,
    scope: Scopes = None,
    conversation: Conversations = None,
    url: Url = None,
    root: Root = None,
    schema: Schema = None,
    as_json: AsJson = False,
) -> int:
    """Copy a store, whole or what is named of it, into a directory of files.

    The store is the database in NEOSIAN_POSTGRES_DSN, or a service, or another directory.
    """
    transfers = importlib.import_module("commonhold.cli.transfers")
    status: int = transfers.run_export(
        folder,
        transfers.choose_units(scope, conversation),
        read_store_settings(os.environ, url=url, root=root, schema=schema),
        as_json=as_json,
    )
    return status


def import_store(
    folder: Folder,
    /,
    *,
    scope: Scopes = None,
    conversation: Conversations = None,
    url: Url = None,
    root: Root = None,
    schema: Schema = None,
    as_json: AsJson = False,
) -> int:
    """Copy a directory of files, whole or what is named of it, into a store.

    Nothing is written when a place in the store is taken.
    """
    transfers = importlib.import_module("commonhold.cli.transfers")
    status: int = transfers.run_import(
        folder,
        transfers.choose_units(scope, conversation),
        read_store_settings(os.environ, url=url, root=root, schema=schema),
        as_json=as_json,
    )
    return status
