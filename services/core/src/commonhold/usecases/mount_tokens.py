"""Mounts as one word of a command line or a variable (docs/reference/memory-tool.md, section 3)."""

from commonhold.usecases.mounts import Mount, MountTable

_FORM = "expected scope=...,path=...[,ro|,eo]"
_FLAGS = {"ro": "read_only", "eo": "edit_only"}
_NAMES = {"scope", "path"}


class MountTokenError(ValueError):
    """A token that is not of the form; a usage error, so nothing was opened yet."""


def parse_mount(token: str) -> Mount:
    """Read `scope=S,path=P[,ro|,eo]`, the parts in any order.

    Raises MountTokenError for the form, and ScopeInvalidError or PathInvalidError for
    what stands in it.
    """
    values: dict[str, str] = {}
    flags: set[str] = set()
    for part in token.split(","):
        name, equals, value = part.partition("=")
        if equals and name in _NAMES and name not in values:
            values[name] = value
        elif part in _FLAGS and not flags:
            flags.add(part)
        else:
            raise MountTokenError(
                f"malformed --mount {token!r}: {_FORM} (offending part: {part!r})"
            )
    if values.keys() != _NAMES:
        raise MountTokenError(f"--mount {token!r} needs both scope= and path=")
    return Mount(
        scope=values["scope"],
        mount_path=values["path"],
        read_only="ro" in flags,
        edit_only="eo" in flags,
    )


def parse_mounts(tokens: list[str]) -> MountTable:
    """Read a whole configuration; ValueError when it is empty or a path repeats."""
    return MountTable(tuple(parse_mount(token) for token in tokens))
