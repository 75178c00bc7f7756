"""The reference repeats facts of the code; each repetition is compared with its source."""

import json
import re
from typing import Any, get_args

import pytest

from commonhold.contract import errors, ids
from tests.support.markdown import (
    REPOSITORY,
    fences,
    headings,
    literals,
    reference,
    section,
    tables,
)

ERROR_CLASSES = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.CommonholdError)
}
# These two are built by the service from plain refusals, not by a store.
EDGE_CODES = {"value_error", "forbidden"}
EXAMPLES = [
    json.loads(line)["error"]
    for line in fences(section(reference("errors.md"), "5. Literal examples"), "json")[
        0
    ].splitlines()
]
SCHEMA_SQL = REPOSITORY / "services/core/src/commonhold/migrations/schema.sql"


class TestErrors:
    def test_every_code_is_described_and_no_other(self) -> None:
        page = section(reference("errors.md"), "2. Codes on the wire")
        tabled = {code for rows in tables(page) for row in rows for code in literals(row[0])}
        prose = set(re.findall(r"`((?:neosian|memory|agent|store)_[a-z_]+)`", page))
        assert tabled | prose == ERROR_CLASSES.keys() | EDGE_CODES

    def test_every_conflict_reason_is_described(self) -> None:
        page = section(reference("errors.md"), "3. `memory_conflict` reasons")
        assert set(get_args(errors.MemoryConflictReason)) <= set(literals(page))

    @pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["code"])
    def test_an_example_is_what_its_class_says(self, example: dict[str, Any]) -> None:
        if example["code"] in EDGE_CODES:
            assert example["details"] == {}
            return
        built = ERROR_CLASSES[example["code"]](**example["details"])
        assert (built.message, built.details) == (example["message"], example["details"])


class TestGrammars:
    @pytest.mark.parametrize(
        ("title", "pattern"),
        [
            ("1. Scope", ids._SCOPE),
            ("2. Document path", ids._PATH),
            ("3. Conversation id", ids._CONVERSATION_ID),
            ("4. Actor", ids._ACTOR),
            ("7. Postgres schema name", ids._SCHEMA_NAME),
        ],
    )
    def test_a_regex_is_the_one_that_is_run(self, title: str, pattern: re.Pattern[str]) -> None:
        page = section(reference("grammar.md"), title)
        assert rf"\A{pattern.pattern}\Z" in literals(page)

    @pytest.mark.parametrize(
        ("title", "check"),
        [
            ("1. Scope", ids.check_scope),
            ("2. Document path", ids.check_path),
            ("3. Conversation id", ids.check_conversation_id),
            ("4. Actor", ids.check_actor),
        ],
    )
    def test_the_examples_of_a_grammar_are_judged_as_tabled(self, title: str, check: Any) -> None:
        rules, examples = list(tables(section(reference("grammar.md"), title)))[:2]
        for values, verdict in examples:
            for text in _values(values):
                if verdict == "accepted":
                    assert check(text) == text
                elif number := re.search(r"#(\d)", verdict):
                    with pytest.raises(errors.CommonholdError) as refusal:
                        check(text)
                    assert refusal.value.details["reason"] in literals(rules[int(number[1]) - 1][2])


def _values(cell: str) -> list[str]:
    """Return the values of a cell; a sum, such as a letter times a number, is for people."""
    if " + " in cell or "×" in cell:
        return []
    return [value.replace(r"\n", "\n") for value in literals(cell)]


class TestSchema:
    def test_the_page_has_every_table_and_column_of_the_schema(self) -> None:
        described = dict(_described_tables(reference("schema.md")))
        assert described == dict(_declared_tables(SCHEMA_SQL.read_text()))

    def test_the_page_has_every_index_of_the_schema(self) -> None:
        page = section(reference("schema.md"), "7. Indexes")
        described = {row[0] for rows in tables(page) for row in rows}
        declared = set(re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", SCHEMA_SQL.read_text()))
        assert described == declared


def _described_tables(page: str) -> Any:
    parts = re.split(r"^\*\*(\w+)\*\*", page, flags=re.MULTILINE)[1:]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        rows = next(iter(tables(text)))
        yield name, {row[0]: (row[1], row[2], row[3].strip("`")) for row in rows}


def _declared_tables(sql: str) -> Any:
    for name, body in re.findall(
        r"CREATE (?:UNLOGGED )?TABLE commonhold\.(\w+) \((.*?)^\)", sql, re.MULTILINE | re.DOTALL
    ):
        yield name, dict(filter(None, map(_column, body.splitlines())))


def _column(line: str) -> tuple[str, tuple[str, str, str]] | None:
    line = line.strip().rstrip(",")
    found = re.match(r"(\w+) (?:commonhold\.)?(\w+(?: \[\])?)", line)
    if found is None or found[1] in {"CONSTRAINT", "CHECK"}:
        return None
    default = re.search(r"(?<!BY )DEFAULT (\S+)", line)
    # An identity column is never null, whether or not it says so.
    is_null = "yes" if not re.search("NOT NULL|IDENTITY", line) else "no"
    return found[1], (found[2].replace(" ", ""), is_null, default[1] if default else "")


def test_every_page_of_the_contract_numbers_its_sections_from_one() -> None:
    for name in (
        "grammar.md",
        "stores.md",
        "errors.md",
        "memory-tool.md",
        "mcp.md",
        "wire.md",
        "schema.md",
        "filestore.md",
    ):
        numbers = [
            title.split(". ")[0]
            for title in headings(reference(name))
            if re.match(r"\d+\. ", title)
        ]
        assert numbers == [str(number) for number in range(1, len(numbers) + 1)], name
