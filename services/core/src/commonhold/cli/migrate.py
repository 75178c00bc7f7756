"""`commonhold migrate`: bring a database to this release's schema.

On argparse alone, so that a service image can run it without the shell's packages.
"""

import argparse
import asyncio
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from commonhold.contract.errors import CommonholdError, ConfigurationError
from commonhold.contract.ids import check_schema_name
from commonhold.migrations import await_database, await_schema, migrate, render_sql
from commonhold.ops.settings import Secret, Setting, database, read_settings, schema_name

SUMMARY = "Bring a database to the schema of this release."
_FAILED = 1
_USAGE = 2


class MigrateSettings(msgspec.Struct, frozen=True, kw_only=True):
    migrate_dsn: Annotated[
        Secret | None,
        Setting("COMMONHOLD_MIGRATE_DSN", database, "a role that owns the schema, past any pooler"),
    ] = None
    postgres_dsn: Annotated[
        Secret | None, Setting("NEOSIAN_POSTGRES_DSN", database, "the database")
    ] = None
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "Postgres schema")] = (
        "commonhold"
    )

    @property
    def dsn(self) -> str:
        chosen = self.migrate_dsn or self.postgres_dsn
        if chosen is None:
            raise ConfigurationError(
                "set COMMONHOLD_MIGRATE_DSN or NEOSIAN_POSTGRES_DSN (or either with _FILE)"
            )
        return chosen.reveal()

    @property
    def serving_dsn(self) -> str:
        """The connection that a service will use, which is the one worth checking."""
        return self.dsn if self.postgres_dsn is None else self.postgres_dsn.reveal()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Returns the exit status: 2 for a wrong invocation, which opens nothing; 1 for a refusal."""
    chosen = _parser().parse_args(arguments)
    try:
        settings = read_settings(MigrateSettings, environment)
        schema = check_schema_name(chosen.schema or settings.schema)
        if chosen.print:
            sys.stdout.write(render_sql(schema=schema))
            return 0
        dsn = settings.serving_dsn if chosen.check else settings.dsn
        _refuse_what_does_not_go_together(chosen)
    except ConfigurationError as error:
        return _complain(error, status=_USAGE)
    try:
        asyncio.run(_act_quietly(dsn, schema=schema, chosen=chosen))
    except CommonholdError as error:
        return _complain(error, status=_FAILED)
    return 0


async def _act_quietly(dsn: str, *, schema: str, chosen: argparse.Namespace) -> None:
    asyncio.get_running_loop().set_exception_handler(_pass_over_abandoned_connections)
    if chosen.check:
        await await_schema(dsn, schema=schema, wait_seconds=chosen.wait, report=_say)
        return
    await await_database(dsn, wait_seconds=chosen.wait, report=_say)
    await migrate(
        dsn,
        schema=schema,
        grant_to=chosen.grant_to,
        allow_downtime=chosen.allow_downtime,
        report=_say,
    )


def _say(line: str) -> None:
    print(line, flush=True)


def _refuse_what_does_not_go_together(chosen: argparse.Namespace) -> None:
    if chosen.check and (chosen.grant_to is not None or chosen.allow_downtime):
        raise ConfigurationError("--check changes nothing: leave out --grant-to, --allow-downtime")


def _wait_seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(text)
    return value


def _pass_over_abandoned_connections(
    loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    # Interrupted while it connects, the driver leaves a future behind that nobody asks.
    if not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="commonhold migrate",
        description=f"{SUMMARY} The database is named by COMMONHOLD_MIGRATE_DSN, else by "
        "NEOSIAN_POSTGRES_DSN; the role must own the schema.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--print", action="store_true", help="print the SQL of all steps and touch no database"
    )
    parser.add_argument(
        "--schema", metavar="NAME", help="Postgres schema (default: COMMONHOLD_SCHEMA, commonhold)"
    )
    parser.add_argument(
        "--grant-to", metavar="ROLE", help="give the serving role what it needs and nothing else"
    )
    parser.add_argument(
        "--allow-downtime",
        action="store_true",
        help="take steps that the release running now cannot work with",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing: status 0 when this release runs on the schema that"
        " NEOSIAN_POSTGRES_DSN finds, else 1",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_wait_seconds,
        default=0.0,
        help="how long to ask again while the database cannot be reached or, with --check, its"
        " schema does not fit",
    )
    return parser


def _complain(error: CommonholdError, *, status: int) -> int:
    print(f"error: {error}", file=sys.stderr)
    return status
