"""The verb `conformance`: the kit of the wire over a running service.

docs/reference/cli.md, section 8. The kit ships with an extra of its own and is looked up
only when the verb is called.
"""

import asyncio
import importlib
import os
from typing import Annotated

from cyclopts import Parameter

from commonhold.cli.client_settings import check_url, read_client_token
from commonhold.cli.errors import UsageError

_FAILED = 1
_KIT_PACKAGES = frozenset({"aiohttp", "pytest", "pytest_asyncio"})


def check_service(
    *,
    url: Annotated[str, Parameter(help="the service; its token is in NEOSIAN_CLIENT_TOKEN")],
    only: Annotated[
        tuple[str, ...] | None,
        Parameter(negative="", help="cases whose group and name hold this text (repeatable)"),
    ] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="one JSON object")] = False,
) -> int:
    """Hold a service that speaks wire 6 to its contract, case by case.

    What it writes goes to scopes and conversations of its own, and is erased behind each case.
    """
    token = read_client_token(os.environ)
    try:
        kit = importlib.import_module("commonhold.cli.wire_kit")
    except ModuleNotFoundError as error:
        if error.name not in _KIT_PACKAGES:
            raise
        raise UsageError("conformance needs: pip install 'commonhold[conformance]'") from None
    cases = kit.choose_cases(only or ())
    passed = asyncio.run(kit.certify(check_url(url), token, cases=cases, as_json=as_json))
    return 0 if passed else _FAILED
