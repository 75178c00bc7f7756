"""The console script `commonhold`.

`migrate` needs nothing beyond the base distribution, since service images run it; every
other verb needs the extra `commonhold[cli]` and is looked up only when it is called.
"""

import importlib
import os
import sys

from commonhold.cli import migrate

_USAGE = 2


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["migrate"]:
        sys.exit(migrate.main(arguments[1:], os.environ))
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
        sys.exit(_USAGE)
    sys.exit(shell.main(arguments))


if __name__ == "__main__":
    main()
