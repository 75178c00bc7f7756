"""The verb `adopt` (docs/reference/cli.md, section 10)."""

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from commonhold.adapters.postgres.adoption import AdoptionReport, OddRow, adopt
from commonhold.cli.consoles import make_console
from commonhold.cli.outcomes import answer
from commonhold.cli.stores import DatabaseSettings, read_database_settings
from commonhold.contract.errors import ConfigurationError
from commonhold.contract.ids import check_schema_name

_FAILED = 1


def adopt_schema(
    *,
    from_schema: Annotated[str, Parameter(help="the schema of generation 4 to copy, e.g. neosian")],
    schema: Annotated[str | None, Parameter(help="ours [default: COMMONHOLD_SCHEMA]")] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="one JSON object")] = False,
) -> int:
    """Copy a database of generation 4 into this release's schema beside it.

    Both are in the database of NEOSIAN_POSTGRES_DSN. The old schema is only read; whatever
    writes to it is stopped meanwhile. A run that was cut is started again.
    """
    source = check_schema_name(from_schema)
    settings = read_database_settings(os.environ, schema=schema)
    if source == settings.schema:
        raise ConfigurationError(f"--from-schema: {source!r} is the schema to copy into")
    report = asyncio.run(_adopt(settings, source))
    answer(_envelope(report, source, settings.schema), _lines(report, source), as_json=as_json)
    left_out = len(report.odd_rows("left out"))
    if left_out:
        print(f"error: left out: {left_out}; they are in {source!r} alone", file=sys.stderr)
    return _FAILED if left_out else 0


async def _adopt(settings: DatabaseSettings, source: str) -> AdoptionReport:
    console = make_console(stderr=True)
    bar = Progress(
        TextColumn("rows"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("rows", total=None)
        return await adopt(
            settings.dsn.reveal(),
            source=source,
            target=settings.schema,
            started=lambda total: bar.update(task, total=total),
            moved=lambda rows: bar.update(task, advance=rows),
        )


def _lines(report: AdoptionReport, source: str) -> Iterator[str]:
    yield from map(str, report.odd)
    scopes, conversations = (
        _plural(report.scopes, "scope"),
        _plural(report.conversations, "conversation"),
    )
    there = f", {report.found} of them there before" if report.found else ""
    yield f"adopted {scopes}, {conversations} from schema {source!r}{there}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _envelope(report: AdoptionReport, source: str, target: str) -> dict[str, Any]:
    return {
        "verb": "adopt",
        "from_schema": source,
        "schema": target,
        "scopes": report.scopes,
        "conversations": report.conversations,
        "found": report.found,
        "rows": report.rows,
        "left_out": _objects(report.odd_rows("left out")),
        "blanked": _objects(report.odd_rows("blanked")),
        "kept_unread": _objects(report.odd_rows("kept unread")),
    }


def _objects(rows: tuple[OddRow, ...]) -> list[dict[str, str]]:
    return [
        {"kind": row.kind, "unit": row.unit, "row": row.name, "reason": row.reason} for row in rows
    ]
