"""dsn.py PARTS FILE PARAMETERS: a DSN from files named after its parts, each percent-encoded."""

import pathlib
import sys
import urllib.parse

parts, file, parameters = sys.argv[1:]


def part(name: str) -> str:
    text = pathlib.Path(parts, name).read_text(encoding="utf-8")
    return urllib.parse.quote(text.removesuffix("\n"), safe="")


host = urllib.parse.unquote(part("host"))
dsn = (
    f"postgresql://{part('username')}:{part('password')}"
    f"@{f'[{host}]' if ':' in host else host}:{part('port')}/{part('database')}"
)
pathlib.Path(file).write_text(f"{dsn}?{parameters}" if parameters else dsn, encoding="utf-8")
