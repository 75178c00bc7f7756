"""`commonhold-gateway`: settings, then the service until it is stopped."""

import os
import sys

import uvloop

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.logging import configure_logging
from commonhold_gateway.app import serve
from commonhold_gateway.settings import load_settings


def main() -> None:
    try:
        settings = load_settings(sys.argv[1:], os.environ)
        configure_logging(level=settings.log_level, form=settings.log_format)
        uvloop.run(serve(settings))
    except ConfigurationError as error:
        sys.stderr.write(f"commonhold-gateway: {error.message}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
