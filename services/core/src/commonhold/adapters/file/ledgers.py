"""What a new row must follow: the highest number and the newest stamp of a file of rows."""

from datetime import datetime

import msgspec


class Ledger(msgspec.Struct, frozen=True):
    """`is_torn` says that the last line has no newline, so that one must come first."""

    last: int = 0
    newest: datetime | None = None
    is_torn: bool = False

    def follow(self, moment: datetime) -> datetime:
        """`moment`, or the newest stamp when that is later."""
        return moment if self.newest is None else max(moment, self.newest)

    def after(self, moment: datetime | None) -> "Ledger":
        """The same, not older than a stamp of something else."""
        if moment is None:
            return self
        return msgspec.structs.replace(self, newest=self.follow(moment))

    def joined(self, line: bytes) -> bytes:
        return b"\n" + line if self.is_torn else line
