"""What a new row must follow: the highest number and the newest stamp of a file of rows."""

from datetime import datetime

import msgspec

from commonhold.adapters.file.faults import RowFaultError


class Ledger(msgspec.Struct, frozen=True):
    """`is_torn` says that the last line has no newline, so that one must come first.

    `fault` is that of the first row which only an erasure may pass over.
    """

    last: int = 0
    newest: datetime | None = None
    is_torn: bool = False
    fault: RowFaultError | None = None

    @classmethod
    def before_rows_of(cls, raw: bytes) -> "Ledger":
        """Of a file whose rows are still to be looked at."""
        return cls(is_torn=bool(raw) and not raw.endswith(b"\n"))

    def behind(self, last: int, moment: datetime | None, fault: RowFaultError | None) -> "Ledger":
        """The same with one more row, as far as that says where it stands.

        Of a fault its words alone: one that was raised holds the file that it was found in.
        """
        told = None if fault is None else RowFaultError(fault.reason, line=fault.line)
        return Ledger(
            last=max(self.last, last),
            newest=self.newest if moment is None else self.follow(moment),
            is_torn=self.is_torn,
            fault=self.fault or told,
        )

    def require_rows(self) -> None:
        """RowFaultError when a row is not of this format: no other may follow it."""
        if self.fault is not None:
            raise RowFaultError(self.fault.reason, line=self.fault.line)

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
