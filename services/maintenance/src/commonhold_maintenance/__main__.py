"""`commonhold-maintenance`: settings, then the worker until it is stopped, or every pass once."""

import os
import sys

import uvloop

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.logging import configure_logging
from commonhold_maintenance.app import read_gardening, run_once, serve
from commonhold_maintenance.settings import load_settings


def main() -> None:
    try:
        options, settings = load_settings(sys.argv[1:], os.environ)
        configure_logging(level=settings.log_level, form=settings.log_format)
        gardening = read_gardening(settings, os.environ, dry_run=options.dry_run)
        if options.once:
            raise SystemExit(uvloop.run(run_once(settings, gardening)))
        uvloop.run(serve(settings, gardening))
    except ConfigurationError as error:
        sys.stderr.write(f"commonhold-maintenance: {error.message}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
