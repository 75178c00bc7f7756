"""The database schema: numbered SQL, its runner, and what versions go together."""

from commonhold.migrations.runner import MigrationError, MigrationReport, migrate, render_sql
from commonhold.migrations.scripts import SCHEMA_VERSION
from commonhold.migrations.state import SchemaState, encoding_fault, explain, is_compatible
from commonhold.migrations.waiting import await_database, await_schema

__all__ = [
    "SCHEMA_VERSION",
    "MigrationError",
    "MigrationReport",
    "SchemaState",
    "await_database",
    "await_schema",
    "encoding_fault",
    "explain",
    "is_compatible",
    "migrate",
    "render_sql",
]
