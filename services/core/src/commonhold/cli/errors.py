"""How a command fails in front of a person."""

from commonhold.contract.errors import CommonholdError


class CommandError(CommonholdError):
    """The command ran and could not do its work; the message says what to do about it."""


class StoppedError(CommandError):
    """Someone asked to stop before everything was up; that is no failure of a server."""

    def __init__(self) -> None:
        super().__init__("stopped")


class UsageError(CommandError):
    """The invocation is wrong; nothing was opened."""
