"""What is remembered of a file of rows is small, whatever the file holds."""

from pathlib import Path

import pytest

from commonhold.adapters.file import FileStore
from commonhold.adapters.file.faults import RowFaultError
from commonhold.adapters.file.ledgers import Ledger
from commonhold.adapters.file.records import history_of
from commonhold.contract import MemoryFormatError

ROW = (
    '{"neosian_format":1,"path":"a","version":1,"action":"patched","content":"x",'
    '"created_at":"2026-01-02T03:04:05Z"}\n'
)


def test_a_fault_is_kept_by_its_words_alone() -> None:
    """One that was raised holds, by its frames, the whole file that it was found in."""
    ledger = history_of(ROW.encode()).ledger
    assert ledger.fault is not None
    assert ledger.fault.__traceback__ is None
    with pytest.raises(RowFaultError, match="line 1"):
        ledger.require_rows()


def test_the_first_fault_is_the_one_that_is_told() -> None:
    faults = [RowFaultError(f"line {line}", line=line) for line in (1, 2)]
    ledger = Ledger().behind(1, None, faults[0]).behind(2, None, faults[1])
    with pytest.raises(RowFaultError, match=r"^line 1$"):
        ledger.require_rows()


async def test_a_refused_write_is_refused_again_from_memory(tmp_path: Path) -> None:
    file = tmp_path / "user%3Aa/versions/a.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(ROW)
    async with FileStore(tmp_path) as store:
        for _ in range(2):
            with pytest.raises(MemoryFormatError):
                await store.write("user:a", "a", "more")
