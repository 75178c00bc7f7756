"""The console script `commonhold`.

`migrate` needs nothing beyond the base distribution, since service images run it; every
other verb needs the extra `commonhold[cli]` and is looked up only when it is called.
"""

import importlib
import os
import signal
import sys
from types import FrameType

from commonhold.cli import migrate
from commonhold.ops.logging import configure_logging

_USAGE = 2
_INTERRUPTED = 130


def main() -> None:
    try:
        sys.exit(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["migrate"]:
        # The first process of a container is not ended by a signal that it does not handle.
        signal.signal(signal.SIGTERM, _end)
        return migrate.main(arguments[1:], os.environ)
    try:
        shell = importlib.import_module("commonhold.cli.shell")
    except ModuleNotFoundError as error:
        if error.name not in {"cyclopts", "rich"}:
            raise
        print(
            "error: only `commonhold migrate` is installed here; "
            "for the other commands: pip install 'commonhold[cli]'",
            file=sys.stderr,
        )
        return _USAGE
    configure_logging(level="warning")
    status: int = shell.main(arguments)
    return status


if __name__ == "__main__":
    main()
