"""The numbered SQL files, read once, with their checksums.

The files name the default schema, so that they are SQL anyone can read, lint and run;
`in_schema` gives the same text for another one.
"""

import hashlib
import re
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec

from commonhold.contract.ids import check_schema_name

_FILE = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
_HEADER = re.compile(r"-- compatible_from: (?P<version>\d+)")


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `compatible_from` is the oldest release schema that can still run after it."""

    version: int
    name: str
    compatible_from: int
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def in_schema(sql: str, schema: str) -> str:
    """The statement with its tables in `schema`; ConfigurationError for an illegal name."""
    return sql.replace("commonhold.", f'"{check_schema_name(schema)}".')


def load_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """All steps in order; ValueError when the numbers have a gap, a repeat or two heads."""
    found = sorted(
        (_parse(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()),
        key=lambda migration: migration.version,
    )
    numbers = [migration.version for migration in found]
    if numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"migrations are not numbered 1, 2, 3, ... without repeats: {numbers}")
    return tuple(found)


def _parse(file_name: str, sql: str) -> Migration:
    named = _FILE.fullmatch(file_name)
    header = _HEADER.match(sql)
    if named is None or header is None:
        raise ValueError(
            f"migration {file_name!r} needs a name like 0001_words.sql"
            " and a first line like '-- compatible_from: 1'"
        )
    return Migration(
        version=int(named["version"]),
        name=named["name"],
        compatible_from=int(header["version"]),
        sql=sql,
    )


MIGRATIONS = load_migrations(resources.files("commonhold.migrations").joinpath("versions"))
SCHEMA_VERSION = MIGRATIONS[-1].version
