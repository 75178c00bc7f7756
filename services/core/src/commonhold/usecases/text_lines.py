"""The lines of a document: counted and found without making a list of them.

They end on a line feed alone: a carriage return is content, and so is the empty line after
the last line feed. A document may be millions of lines.
"""

_STEP = 65_536


def count_lines(content: str) -> int:
    return content.count("\n") + 1


def line_start(content: str, number: int) -> int:
    """Where a line begins, the first being 1; the document has that many."""
    left, at = number - 1, 0
    while left and (passed := content.count("\n", at, at + _STEP)) < left:
        left -= passed
        at += _STEP
    for _ in range(left):
        at = content.find("\n", at) + 1
    return at
