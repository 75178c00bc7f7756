"""The operator's shell: what each verb is called and takes, and how it fails."""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from commonhold.cli import adoption, conformance, demo, dev, exports, migrate, upkeep
from commonhold.cli.consoles import make_console
from commonhold.cli.errors import UsageError
from commonhold.cli.local_folder import find_local_folder
from commonhold.cli.outcomes import report_failure, report_usage
from commonhold.contract.errors import CommonholdError, ConfigurationError

_FAILED = 1
_USAGE = 2

app = App(
    name="commonhold",
    help="The operator's shell of Commonhold.",
    help_format="plaintext",
    result_action="return_value",
)


@app.command(name="dev")
def run_dev() -> None:
    """Start everything on a private Postgres and say how to reach it.

    The data stays in .commonhold of this clone (or of this folder). Settings of the services
    are taken from the environment.
    """
    dev.run_services(find_local_folder(Path.cwd()), os.environ, say=_say)


@app.command(name="demo")
def run_demo(
    folder: Annotated[Path | None, Parameter(help="Markdown to load [default: docs]")] = None,
    /,
    *,
    url: Annotated[
        str | None, Parameter(help="another service; its token is in NEOSIAN_CLIENT_TOKEN")
    ] = None,
) -> None:
    """Store, search, edit and erase real documents over HTTP, and show each step.

    Works on what `commonhold dev` started in this clone, in a scope of its own.
    """
    local = find_local_folder(Path.cwd())
    root = demo.choose_input(folder, local)
    with contextlib.closing(demo.connect(local, os.environ, url=url)) as client:
        gateway = demo.find_gateway(local, url=url)
        demo.Demo(client, make_console(), gateway=gateway).run(root)


@app.command(name="migrate", help=migrate.SUMMARY)
def run_migrate(*tokens: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    return migrate.main(tokens, os.environ)


memory = App(name="memory", help="Documents through mounts.")
app.command(memory)
memory.command(name="maintain")(upkeep.maintain_mounts)
app.command(name="redact")(upkeep.redact_turns)
app.command(name="prune")(upkeep.prune_store)
app.command(name="export")(exports.export_store)
app.command(name="import")(exports.import_store)
app.command(name="adopt")(adoption.adopt_schema)
app.command(name="conformance")(conformance.check_service)


def main(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit status of docs/reference/cli.md, section 2."""
    try:
        status = app(arguments, exit_on_error=False, print_error=True)
    except CycloptsError as error:
        report_usage(str(error), arguments)
        return _USAGE
    except (UsageError, ConfigurationError) as error:
        print(f"error: {error}", file=sys.stderr)
        report_usage(str(error), arguments)
        return _USAGE
    except CommonholdError as error:
        report_failure(error, str(error), arguments)
        return _FAILED
    except OSError as error:
        # A folder of another user, a full disk: the system's own words say it.
        report_failure(error, f"{error.strerror or error}: {error.filename}", arguments)
        return _FAILED
    return status if isinstance(status, int) else 0


def _say(line: str) -> None:
    try:
        print(line, flush=True)
    except OSError:
        # The terminal is gone; what is left to do is to stop in order.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for the rest of the process
