"""The flags of a listening service: each wins over its setting, and a bad one is named."""

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.flags import listen_of, listening_parser, schema_of
from commonhold.ops.settings import Address

PARSER = listening_parser("service", description="Serves.", listen="COMMONHOLD_LISTEN")
SETTLED = Address("127.0.0.1", 6367)


@pytest.mark.parametrize(
    ("flags", "listen", "schema"),
    [
        ([], SETTLED, "settled"),
        (["--host", "::1"], Address("::1", 6367), "settled"),
        (["--port", "1"], Address("127.0.0.1", 1), "settled"),
        (["--schema", "other"], SETTLED, "other"),
    ],
)
def test_a_flag_takes_the_place_of_its_setting_alone(
    flags: list[str], listen: Address, schema: str
) -> None:
    parsed = PARSER.parse_args(flags)
    assert (listen_of(parsed, SETTLED), schema_of(parsed, "settled")) == (listen, schema)


@pytest.mark.parametrize("port", ["", "0", "65536", "http"])
def test_what_is_no_port_is_refused_by_name(port: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--port "):
        listen_of(PARSER.parse_args([f"--port={port}"]), SETTLED)


@pytest.mark.parametrize("schema", ["", "Upper", 'x"; --'])
def test_what_is_no_schema_is_refused_by_name(schema: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--schema "):
        schema_of(PARSER.parse_args([f"--schema={schema}"]), "settled")


def test_the_help_names_the_setting_that_is_replaced() -> None:
    assert PARSER.format_help().count("COMMONHOLD_LISTEN") == 2
