"""The flags of a listening service's program, which win over its environment.

docs/reference/settings.md.
"""

import argparse

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import Address, port, schema_name


def listening_parser(program: str, *, description: str, listen: str) -> argparse.ArgumentParser:
    """`--host`, `--port` and `--schema`; `listen` names the setting that the first two replace."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--host", help=f"address to listen on, instead of {listen}")
    parser.add_argument("--port", help=f"port to listen on, instead of {listen}")
    parser.add_argument("--schema", help="Postgres schema, instead of COMMONHOLD_SCHEMA")
    return parser


def listen_of(flags: argparse.Namespace, settled: Address) -> Address:
    """Raises ConfigurationError for a port that is none."""
    return Address(
        settled.host if flags.host is None else flags.host,
        settled.port if flags.port is None else _port(flags.port),
    )


def schema_of(flags: argparse.Namespace, settled: str) -> str:
    """Raises ConfigurationError for an illegal name."""
    if flags.schema is None:
        return settled
    try:
        return schema_name(flags.schema)
    except ValueError as error:
        raise ConfigurationError(f"--schema {error}") from None


def _port(text: str) -> int:
    try:
        return port(text)
    except ValueError as error:
        raise ConfigurationError(f"--port {error}") from None
