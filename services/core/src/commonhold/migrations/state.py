"""Which schema a database has, and whether this release runs on it."""

import msgspec

from commonhold.migrations.scripts import SCHEMA_VERSION


class SchemaState(msgspec.Struct, frozen=True):
    """The newest migration applied, and the oldest release schema that still runs."""

    version: int
    compatible_from: int


def is_compatible(state: SchemaState | None) -> bool:
    """Whether this release may serve (docs/reference/schema.md, "Versions")."""
    return (
        state is not None
        and state.version >= SCHEMA_VERSION
        and state.compatible_from <= SCHEMA_VERSION
    )


def encoding_fault(encoding: str) -> str | None:
    """Why a database of that encoding is refused, for a log line; None for a good one."""
    if encoding == "UTF8":
        return None
    return (
        f"the database is encoded in {encoding}, which cannot hold every text:"
        " make one with ENCODING 'UTF8'"
    )


def explain(state: SchemaState | None, *, schema: str) -> str:
    """Why this release does not run on that state, and what to do, for a log line."""
    if state is None:
        return f"schema {schema!r} holds no Commonhold tables: run `commonhold migrate`"
    if state.version < SCHEMA_VERSION:
        return (
            f"schema {schema!r} is at version {state.version},"
            f" this release needs {SCHEMA_VERSION}: run `commonhold migrate`"
        )
    return (
        f"schema {schema!r} runs releases from schema version {state.compatible_from},"
        f" this release has {SCHEMA_VERSION}: run a newer release"
    )
