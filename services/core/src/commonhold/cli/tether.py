"""Become a command that ends when the process that started it ends.

Run as a script, with nothing but the standard library, between fork and exec of a child.
A separate program instead of `preexec_fn`, since that runs Python in a fork of a process
that may have threads.

    python -I -S tether.py PARENT SIGNAL UID GID COMMAND [ARGUMENT...]

UID and GID are `-` to stay who we are. On Linux the kernel sends SIGNAL to the command
when the *thread* that started it ends; elsewhere the command outlives a parent that is killed.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, death_signal, uid, gid, *command = arguments
    if uid != "-":
        _become(int(uid), int(gid))
    # After the change of user, which clears the setting.
    if sys.platform == "linux":
        _follow(int(parent), int(death_signal))
    os.execv(command[0], command)  # noqa: S606 - replacing this process is the purpose


def _become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def _follow(parent: int, death_signal: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")
    # A parent that ended before the setting took hold sends nothing.
    if os.getppid() != parent:
        sys.exit("tether: the parent has already ended")


if __name__ == "__main__":
    main(sys.argv[1:])
