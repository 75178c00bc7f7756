"""Reading settings (docs/reference/settings.md)."""

from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.settings import (
    KNOWN_NAMES,
    MOST_FILE_BYTES,
    Address,
    Secret,
    Setting,
    address,
    any_text,
    one_of,
    read_settings,
    schema_name,
    seconds,
    whole_number,
)


class Example(msgspec.Struct, frozen=True, kw_only=True):
    dsn: Annotated[Secret, Setting("NEOSIAN_POSTGRES_DSN", Secret, "the database")]
    size: Annotated[int, Setting("COMMONHOLD_POOL_SIZE", whole_number(1, 99), "connections")] = 10
    schema: Annotated[str, Setting("COMMONHOLD_SCHEMA", schema_name, "schema")] = "commonhold"
    url: Annotated[str | None, Setting("COMMONHOLD_STATE_URL", any_text, "where")] = None


DSN = {"NEOSIAN_POSTGRES_DSN": "postgresql://u:hunter2@h/db"}


def refusal(environ: dict[str, str]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_settings(Example, environ)
    return caught.value.message


def test_values_are_typed_and_the_rest_has_defaults() -> None:
    settings = read_settings(Example, {**DSN, "COMMONHOLD_POOL_SIZE": "7", "PATH": "/bin"})
    assert settings.dsn.reveal() == DSN["NEOSIAN_POSTGRES_DSN"]
    assert (settings.size, settings.schema, settings.url) == (7, "commonhold", None)


def test_an_empty_value_counts_as_unset() -> None:
    settings = read_settings(Example, {**DSN, "COMMONHOLD_POOL_SIZE": ""})
    assert settings.size == 10
    assert "NEOSIAN_POSTGRES_DSN must be set" in refusal({"NEOSIAN_POSTGRES_DSN": ""})


def test_a_missing_value_names_its_variable() -> None:
    message = refusal({})
    assert message == "NEOSIAN_POSTGRES_DSN must be set (or NEOSIAN_POSTGRES_DSN_FILE)"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMONHOLD_POOL_SIZE", "0"),
        ("COMMONHOLD_POOL_SIZE", "100"),
        ("COMMONHOLD_POOL_SIZE", "1.0"),
        ("COMMONHOLD_POOL_SIZE", "-1"),
        ("COMMONHOLD_POOL_SIZE", " 1"),
        ("COMMONHOLD_POOL_SIZE", "١"),
        ("COMMONHOLD_POOL_SIZE", "9" * 5000),
        ("COMMONHOLD_SCHEMA", "Robert'); drop"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str) -> None:
    assert refusal({**DSN, name: value}).startswith(f"{name} must ")


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", "a"), ("a\n", "a"), ("a\n\n", "a\n"), ("a\r\n", "a"), ("a\r", "a\r"), (" a ", " a ")],
)
def test_a_file_gives_its_text_less_one_newline(tmp_path: Path, text: str, value: str) -> None:
    path = tmp_path / "dsn"
    path.write_bytes(text.encode())
    settings = read_settings(Example, {"NEOSIAN_POSTGRES_DSN_FILE": str(path)})
    assert settings.dsn.reveal() == value


def test_a_value_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dsn"
    path.write_text("x")
    message = refusal({**DSN, "NEOSIAN_POSTGRES_DSN_FILE": str(path)})
    assert message == "NEOSIAN_POSTGRES_DSN and NEOSIAN_POSTGRES_DSN_FILE are both set"


def test_a_file_that_cannot_be_read_names_its_variable(tmp_path: Path) -> None:
    missing = {"NEOSIAN_POSTGRES_DSN_FILE": str(tmp_path / "none")}
    assert refusal(missing).startswith("NEOSIAN_POSTGRES_DSN_FILE names a file that cannot be read")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff")
    assert "not UTF-8" in refusal({"NEOSIAN_POSTGRES_DSN_FILE": str(binary)})
    told = refusal({"NEOSIAN_POSTGRES_DSN_FILE": str(tmp_path)})
    assert told == "NEOSIAN_POSTGRES_DSN_FILE names a file that cannot be read: Is a directory"


@pytest.mark.parametrize("path", ["/dev/zero", None])
def test_a_file_without_end_is_read_no_further_than_a_setting_is_long(
    tmp_path: Path, path: str | None
) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (MOST_FILE_BYTES + 1))
    told = refusal({"NEOSIAN_POSTGRES_DSN_FILE": path or str(large)})
    assert told == f"NEOSIAN_POSTGRES_DSN_FILE names a file larger than {MOST_FILE_BYTES} bytes"


def test_a_byte_order_mark_is_no_part_of_a_value(tmp_path: Path) -> None:
    marked = tmp_path / "marked"
    marked.write_text("postgresql://h/d", encoding="utf-8-sig")
    told = refusal({"NEOSIAN_POSTGRES_DSN_FILE": str(marked)})
    assert told == "NEOSIAN_POSTGRES_DSN_FILE names a file that begins with a byte order mark"


@pytest.mark.parametrize(
    "name",
    [
        "COMMONHOLD_POOLSIZE",
        "COMMONHOLD_",
        "COMMONHOLD_POOL_SIZE_FILE_FILE",
        "COMMONHOLD_STATE_PORT",
        "COMMONHOLD_pool_size",
    ],
)
def test_an_unknown_name_of_ours_stops_the_start(name: str) -> None:
    assert refusal({**DSN, name: "6367"}) == f"{name} is not a setting of Commonhold"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COMMONHOLD_STATE_PORT", "tcp://10.0.0.1:6367"),
        ("COMMONHOLD_STATE_PORT_6367_TCP", "tcp://10.0.0.1:6367"),
        ("COMMONHOLD_STATE_PORT_6367_TCP_ADDR", "10.0.0.1"),
        ("COMMONHOLD_STATE_SERVICE_HOST", "10.0.0.1"),
        ("COMMONHOLD_STATE_SERVICE_PORT", "6367"),
        ("COMMONHOLD_STATE_SERVICE_PORT_HTTP", "6367"),
        ("COMMONHOLD_GARDENS", "anything"),
        ("COMMONHOLD_MODEL_KEY_FILE", "/nowhere"),
        ("POOL_SIZE", "x"),
    ],
)
def test_names_of_other_programs_and_of_kubernetes_are_left_alone(name: str, value: str) -> None:
    assert read_settings(Example, {**DSN, name: value}).size == 10


def test_no_setting_has_a_shape_that_kubernetes_injects() -> None:
    for name in KNOWN_NAMES:
        assert not name.endswith(("_PORT", "_SERVICE_HOST"))
        assert "_SERVICE_PORT" not in name


def test_secrets_never_print() -> None:
    settings = read_settings(Example, DSN)
    assert "hunter2" not in f"{settings!r} {settings} {settings.dsn!r} {settings.dsn}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("127.0.0.1:6367", Address("127.0.0.1", 6367)),
        (":9368", Address("0.0.0.0", 9368)),
        ("[::1]:80", Address("::1", 80)),
        ("host:65535", Address("host", 65535)),
    ],
)
def test_addresses(text: str, value: Address) -> None:
    assert address(text) == value


@pytest.mark.parametrize("text", ["6367", "h:", "h:0", "h:65536", "h:x", "::1:80", "h:-1", ""])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        address(text)


def test_an_address_prints_as_it_is_written() -> None:
    assert [str(Address("::1", 80)), str(Address("h", 1))] == ["[::1]:80", "h:1"]


@pytest.mark.parametrize("text", ["0", "61", "1e1", "nan", "inf", "-1", "", "1.", "1 "])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"seconds from 0\.5 to 60"):
        seconds(0.5, 60)(text)


def test_good_durations_and_choices() -> None:
    assert (seconds(0.5, 60)("0.5"), seconds(0.5, 60)("60")) == (0.5, 60.0)
    assert one_of("a", "b")("b") == "b"
    with pytest.raises(ValueError, match="must be one of a, b"):
        one_of("a", "b")("c")
