"""The mounts of a memory verb, from its flags or the environment (cli.md, section 6)."""

from collections.abc import Mapping, Sequence

from commonhold.cli.errors import UsageError
from commonhold.contract.errors import MemoryStoreError
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.mounts import MountTable, bare_scope_mount

SCOPE_VARIABLE = "NEOSIAN_SCOPE"


def choose_mounts(
    tokens: Sequence[str], scope: str | None, environment: Mapping[str, str]
) -> MountTable:
    """`--mount` or `--scope`, else NEOSIAN_SCOPE; UsageError for none, both, or a bad one."""
    if tokens and scope is not None:
        raise UsageError("--mount and --scope are mutually exclusive")
    try:
        if tokens:
            return parse_mounts(list(tokens))
        chosen = scope if scope is not None else environment.get(SCOPE_VARIABLE, "")
        if not chosen and scope is None:
            raise UsageError(f"name what to work on: --mount, --scope or {SCOPE_VARIABLE}")
        return MountTable((bare_scope_mount(chosen),))
    except MemoryStoreError as error:
        raise UsageError(f"[{error.code}] {error}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
