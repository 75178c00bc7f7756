"""What the kernel says of a process's memory."""

import sys
from pathlib import Path


def resident_mib(pid: int) -> float:
    return _status(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Make the kernel count the peak anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, name: str) -> float:
    if sys.platform != "linux":
        raise RuntimeError("memory is read from /proc, which only Linux has")
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no {name}")
