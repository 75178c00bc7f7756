"""Whole numbers as a command line writes them.

The parser's own reading rounds 1.5 to 2, which for what is erased is one turn too many.
"""

import re
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter, Token


def whole_number(_kind: object, tokens: Sequence[Token]) -> int:
    """Decimal digits with a sign at most; ValueError for anything else."""
    text = tokens[0].value
    if re.fullmatch("-?[0-9]+", text) is None:
        raise ValueError(f"takes a whole number, got {text!r}")
    return int(text)


WholeNumber: TypeAlias = Annotated[int, Parameter(converter=whole_number)]
