"""`commonhold` as a process, with just the environment that a test gives it."""

import asyncio
import os
import sys

PATIENCE_SECONDS = 120.0


async def start_shell(*arguments: str, **environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "commonhold.cli", *arguments),
        env={"PATH": os.environ["PATH"], **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def run_shell(*arguments: str, **environment: str) -> tuple[int | None, str, str]:
    """Status, stdout and stderr."""
    process = await start_shell(*arguments, **environment)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()
