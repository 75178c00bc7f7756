"""The files of the migrations: one line of numbers, and states that go together."""

import re
from pathlib import Path

import pytest

from commonhold.migrations import SCHEMA_VERSION, SchemaState, explain, is_compatible
from commonhold.migrations.indexes import BUILT_AHEAD
from commonhold.migrations.scripts import MIGRATIONS, Migration, load_migrations


def test_the_migrations_have_a_single_head_and_no_gap() -> None:
    assert [migration.version for migration in MIGRATIONS] == list(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: migration.name)
def test_an_index_on_a_table_of_an_earlier_step_is_one_that_is_built_ahead(
    migration: Migration,
) -> None:
    indexed = re.findall(
        r"CREATE (?:UNIQUE )?INDEX.*?ON (commonhold\.\w+)", migration.sql, re.DOTALL
    )
    made = re.findall(r"CREATE (?:UNLOGGED )?TABLE (commonhold\.\w+)", migration.sql)
    ahead = [found["table"] for found in BUILT_AHEAD.finditer(migration.sql)]
    assert ahead == [table for table in indexed if table not in made]


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("0001_a.sql", "0003_b.sql"), "not numbered"),
        (("0001_a.sql", "0002_b.sql", "0002_c.sql"), "not numbered"),
        (("0002_a.sql",), "not numbered"),
        (("1_a.sql",), "needs a name"),
        (("0001_A.sql",), "needs a name"),
    ],
)
def test_a_gap_a_second_head_or_a_bad_name_stops_the_import(
    names: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).write_text("-- compatible_from: 1\nSELECT 1;\n")
    with pytest.raises(ValueError, match=complaint):
        load_migrations(tmp_path)


def test_a_file_without_its_header_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "0001_a.sql").write_text("SELECT 1;\n")
    with pytest.raises(ValueError, match="compatible_from"):
        load_migrations(tmp_path)


@pytest.mark.parametrize(
    ("state", "compatible", "words"),
    [
        (None, False, "run `commonhold migrate`"),
        (SchemaState(SCHEMA_VERSION - 1, 1), False, "run `commonhold migrate`"),
        (SchemaState(SCHEMA_VERSION + 5, SCHEMA_VERSION + 1), False, "run a newer release"),
        (SchemaState(SCHEMA_VERSION, 1), True, ""),
        (SchemaState(SCHEMA_VERSION + 5, SCHEMA_VERSION), True, ""),
    ],
)
def test_a_release_runs_between_its_own_version_and_compatible_from(
    state: SchemaState | None, *, compatible: bool, words: str
) -> None:
    assert is_compatible(state) is compatible
    if not compatible:
        assert words in explain(state, schema="commonhold")
