"""The script that pgbench runs is the store's statement, parameters named."""

import re

from bench.pgbench import Floor, Numbers
from commonhold.adapters.postgres.statements import statements_in

SQL = statements_in("commonhold")


def test_the_script_is_the_statement_with_names_for_numbers() -> None:
    floor = Floor(
        statement="SELECT $2, $1::text, $2;",
        parameters=(("scope", Numbers(100, 10)), ("content", "x y")),
    )
    assert floor.script() == (
        "\\set scope random(100, 109)\nSELECT :content, :scope::text, :content;\n"
    )
    assert floor.constants() == {"content": "x y"}


def test_no_parameter_of_a_measured_statement_is_left_unnamed() -> None:
    names = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]
    for statement in (SQL.documents.write_document, SQL.turns.append_turn):
        script = Floor(statement=statement, parameters=names).script()
        assert not re.search(r"\$\d", script)
        assert script.count(";") == statement.count(";")
