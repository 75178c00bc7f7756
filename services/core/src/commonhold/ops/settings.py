"""Settings: one frozen record a program, read once from an explicit mapping.

Names, defaults and rules are in docs/reference/settings.md. A field says its variable, its
parser and its meaning, so that the record is also the table that the documents show.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

from commonhold.contract.errors import ConfigurationError
from commonhold.contract.ids import check_schema_name

FILE_SUFFIX = "_FILE"
OWN_PREFIX = "COMMONHOLD_"
# A device has no end, and no setting is as long.
MOST_FILE_BYTES = 1024 * 1024
_BYTE_ORDER_MARK = "\ufeff"

# Of all programs together, so that one environment can serve several of them.
KNOWN_NAMES = frozenset(
    {
        "COMMONHOLD_BODY_TIMEOUT_SECONDS",
        "COMMONHOLD_DRAIN_SECONDS",
        "COMMONHOLD_GARDENS",
        "COMMONHOLD_GATEWAY_ALLOWED_HOSTS",
        "COMMONHOLD_GATEWAY_ALLOWED_ORIGINS",
        "COMMONHOLD_GATEWAY_BODY_LIMIT_BYTES",
        "COMMONHOLD_GATEWAY_CALLS_PER_CLIENT",
        "COMMONHOLD_GATEWAY_CALL_SECONDS",
        "COMMONHOLD_GATEWAY_CLIENTS",
        "COMMONHOLD_GATEWAY_LISTEN",
        "COMMONHOLD_GATEWAY_MOUNTS",
        "COMMONHOLD_GATEWAY_OPS_LISTEN",
        "COMMONHOLD_GATEWAY_PUBLIC_URL",
        "COMMONHOLD_GATEWAY_SESSIONS",
        "COMMONHOLD_IN_FLIGHT_BYTES",
        "COMMONHOLD_IN_FLIGHT_LIMIT",
        "COMMONHOLD_LOG_FORMAT",
        "COMMONHOLD_LOG_LEVEL",
        "COMMONHOLD_MAINTENANCE_LEASE_SECONDS",
        "COMMONHOLD_MAINTENANCE_OPS_LISTEN",
        "COMMONHOLD_MAINTENANCE_PASS_SECONDS",
        "COMMONHOLD_MAINTENANCE_POLL_SECONDS",
        "COMMONHOLD_MIGRATE_DSN",
        "COMMONHOLD_MODEL_CALLS_PER_MINUTE",
        "COMMONHOLD_MODEL_CIRCUIT_FAILURES",
        "COMMONHOLD_MODEL_CIRCUIT_SECONDS",
        "COMMONHOLD_MODEL_INPUT_USD_PER_MILLION",
        "COMMONHOLD_MODEL_KEY",
        "COMMONHOLD_MODEL_MAX_TOKENS",
        "COMMONHOLD_MODEL_NAME",
        "COMMONHOLD_MODEL_OUTPUT_USD_PER_MILLION",
        "COMMONHOLD_MODEL_SCHEMA",
        "COMMONHOLD_MODEL_THINKING",
        "COMMONHOLD_MODEL_TIMEOUT_SECONDS",
        "COMMONHOLD_MODEL_URL",
        "COMMONHOLD_POOL_SIZE",
        "COMMONHOLD_POOL_WAIT_SECONDS",
        "COMMONHOLD_REVISION",
        "COMMONHOLD_ROOT",
        "COMMONHOLD_SCHEMA",
        "COMMONHOLD_SERVE_TOKEN_PREVIOUS",
        "COMMONHOLD_STATEMENT_TIMEOUT_SECONDS",
        "COMMONHOLD_STATE_LISTEN",
        "COMMONHOLD_STATE_OPS_LISTEN",
        "COMMONHOLD_STATE_URL",
    }
)

# Kubernetes injects these for every Service of a namespace, whatever it is called.
_INJECTED = re.compile(
    r".*(?:_PORT_\d+_(?:TCP|UDP|SCTP).*|_SERVICE_HOST|_SERVICE_PORT.*)", re.DOTALL
)
_INJECTED_URL = re.compile(r"(?:tcp|udp|sctp)://.*", re.DOTALL)

Record = TypeVar("Record", bound=msgspec.Struct)


class Secret:
    """A text that never prints: `reveal()` is the one way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Address(msgspec.Struct, frozen=True):
    """Where to listen. The port is 1 to 65535."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Setting(msgspec.Struct, frozen=True):
    """How one field is read: its variable, what turns the text into a value, what it means.

    `parse` raises ValueError that says what was expected, without the value itself.
    """

    name: str
    parse: Callable[[str], Any]
    meaning: str


def read_settings(record: type[Record], environ: Mapping[str, str]) -> Record:
    """Fill the record, whose fields are `Annotated` with a Setting.

    An empty value counts as unset. Raises ConfigurationError, naming the variable, for a
    missing or bad value, for a value given twice, and for an unknown `COMMONHOLD_` name.
    """
    refuse_unknown(environ)
    values: dict[str, Any] = {}
    for field, setting in settings_of(record).items():
        text = read_text(environ, setting.name)
        if text:
            values[field] = _parse(setting, text)
    missing = [
        settings_of(record)[field.name].name
        for field in msgspec.structs.fields(record)
        if field.required and field.name not in values
    ]
    if missing:
        raise ConfigurationError(f"{missing[0]} must be set (or {missing[0]}{FILE_SUFFIX})")
    return record(**values)


def settings_of(record: type[msgspec.Struct]) -> Mapping[str, Setting]:
    """The Setting of every field, in order."""
    found: dict[str, Setting] = {}
    for field, hint in get_type_hints(record, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{record.__name__}.{field} has no Setting")
        found[field] = next(note for note in get_args(hint) if isinstance(note, Setting))
    return found


def read_text(environ: Mapping[str, str], name: str) -> str:
    """The text of a variable or of the file its twin names; empty when neither is set."""
    direct = environ.get(name, "")
    path = environ.get(name + FILE_SUFFIX, "")
    if direct and path:
        raise ConfigurationError(f"{name} and {name}{FILE_SUFFIX} are both set")
    return _read_file(name + FILE_SUFFIX, path) if path else direct


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raise ConfigurationError for a name that looks like ours and is not: a typo."""
    for name in sorted(environ):
        if name.startswith(OWN_PREFIX) and not _is_known(name, environ[name]):
            raise ConfigurationError(f"{name} is not a setting of Commonhold")


def any_text(text: str) -> str:
    return text


def database(text: str) -> Secret:
    """A connection string; it may hold a password, so it never prints."""
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("must start with postgresql://")
    return Secret(text)


def existing_folder(text: str) -> Path:
    """A directory that is there: one that a typo names is not made; raises ValueError."""
    folder = Path(text)
    if not folder.is_dir():
        raise ValueError("must be a directory that exists")
    return folder.absolute()


def service_url(text: str) -> str:
    """The address of an HTTP service, without a slash at its end; raises ValueError."""
    try:
        parts = urlsplit(text)
        has_address = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_address = False
    if not text.startswith(("http://", "https://")) or not has_address:
        raise ValueError("must be an address like http://host:port")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold credentials")
    if parts.query or parts.fragment:
        raise ValueError("must end with its path")
    return text.rstrip("/")


def schema_name(text: str) -> str:
    try:
        return check_schema_name(text)
    except ConfigurationError:
        raise ValueError("must match [a-z_][a-z0-9_]{0,62}") from None


def address(text: str) -> Address:
    """`host:port`, `[v6]:port`, or `:port` for every interface."""
    host, colon, digits = text.rpartition(":")
    if not colon:
        raise ValueError("must be host:port")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("must be [host]:port for an IPv6 host")
    return Address(host.removeprefix("[").removesuffix("]") or "0.0.0.0", port(digits))  # noqa: S104 - the operator wrote ":port"


def port(text: str) -> int:
    return whole_number(1, 65535)(text)


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """A parser of decimal integers within bounds."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) is None or not least <= int(text) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(text)

    return parse


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A parser of durations within bounds."""

    def parse(text: str) -> float:
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text) is None:
            raise ValueError(f"must be a number of seconds from {least:g} to {most:g}")
        if not least <= float(text) <= most:
            raise ValueError(f"must be a number of seconds from {least:g} to {most:g}")
        return float(text)

    return parse


def source_revision(text: str) -> str:
    """The name of a state of the source, as a label of a metric can show it."""
    if re.fullmatch(r"[\x21-\x7e]{1,80}", text) is None:
        raise ValueError("must be 1 to 80 visible ASCII characters")
    return text


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser of closed sets."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return parse


def _parse(setting: Setting, text: str) -> Any:
    try:
        return setting.parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{setting.name} {error}") from None


def _read_file(name: str, path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_FILE_BYTES + 1)
        text = raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigurationError(f"{name} names a file that cannot be read: {reason}") from None
    if len(raw) > MOST_FILE_BYTES:
        raise ConfigurationError(f"{name} names a file larger than {MOST_FILE_BYTES} bytes")
    if text.startswith(_BYTE_ORDER_MARK):
        raise ConfigurationError(f"{name} names a file that begins with a byte order mark")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def _is_known(name: str, value: str) -> bool:
    if name in KNOWN_NAMES or name.removesuffix(FILE_SUFFIX) in KNOWN_NAMES:
        return True
    if _INJECTED.fullmatch(name) is not None:
        return True
    return name.endswith("_PORT") and _INJECTED_URL.fullmatch(value) is not None
