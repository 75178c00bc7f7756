"""The driver's connection under one name: asyncpg's class takes parameters only in its stubs."""

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

__all__ = ["Connection"]
