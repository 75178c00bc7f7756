"""Names of the measured rows: numbers of one length.

pgbench makes no text, only numbers. A number is a legal path and conversation id, and a
longer one has the length of a scope: so both sides send parameters of the same size.
"""

FIRST_PATH = 2_000_000_000_000_000
FIRST_SCOPE = 1_000_000_000_000
FIRST_CONVERSATION = 3_000_000_000_000_000
# What pgbench writes stands apart from what the service writes, in rows as many.
FIRST_FLOOR_SCOPE = 100_001_000_000_000_000
FIRST_FLOOR_CONVERSATION = 4_000_000_000_000_000


def scope(number: int) -> str:
    return f"user:{FIRST_SCOPE + number}"


def path(number: int) -> str:
    return str(FIRST_PATH + number)


def conversation(number: int) -> str:
    return str(FIRST_CONVERSATION + number)
