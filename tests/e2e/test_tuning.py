"""The page on tuning: what it has an operator ask is answered."""

from collections.abc import Callable
from pathlib import Path

from tests.support.shells import typed


async def test_the_questions_of_the_page_have_answers(
    database_dsn: str, tmp_path: Path, shown_commands: Callable[[str], list[str]]
) -> None:
    (script,) = shown_commands("docs/howto/tune.md")
    said = typed(script, folder=tmp_path, given={"OWNER_DSN": database_dsn})
    assert said.startswith("turns_search\n")
    assert "document_versions " in said
    assert "turns_by_time " in said
