"""Whether a body is one that costs far more to read than to send.

No call has many values: its arguments are a few, and a long document is one string.
"""

from commonhold.ops.json_values import count_values, outside_texts

MOST_VALUES = 100_000
# A body up to this size holds so few values that they are not counted.
SMALL_BYTES = 2 * MOST_VALUES


def holds_many_values(body: bytes) -> bool:
    """Whether there are more than `MOST_VALUES`; what is inside of texts is none."""
    if len(body) <= SMALL_BYTES or count_values(body) <= MOST_VALUES:
        return False
    values = 0
    for structure in outside_texts(body):
        values += count_values(structure)
        if values > MOST_VALUES:
            return True
    return False
