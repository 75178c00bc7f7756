"""Where verbs print for people: colour and moving bars on a terminal, plain lines elsewhere."""

from rich.console import Console

_PLAIN_WIDTH = 110


def make_console(*, stderr: bool = False) -> Console:
    """Lines do not wrap; NO_COLOR is kept to."""
    console = Console(highlight=False, markup=False, soft_wrap=True, stderr=stderr)
    if not console.is_terminal:
        console.width = _PLAIN_WIDTH
    return console
