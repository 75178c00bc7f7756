"""The commands that the pages show people: which test runs each block, or why none does.

A block of a shell says so in a remark right above it, which a reader's browser hides: `run by`
and the test, or `not run:` and the reason. The named test takes the blocks from the page, by the
fixture `shown_commands`, so that it runs what stands there.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.support.markdown import REPOSITORY, pages, remarked_fences

SHELLS = {"sh", "bash", "shell", "console"}
FIXTURE = "shown_commands"
_RUN_BY = "run by "
_NOT_RUN = re.compile(r"not run: .{12,}")
# A command in a sentence that could be pasted: a program, and a flag or what a flag needs.
_INLINE = re.compile(
    r"`((?:kubectl|helm|curl|psql|pg_dump|pg_restore|commonhold(?:-\w+)?) [^`]*(?<=\s)-[^`]*)`"
)
# A word that stands for the reader's own.
_PLACEHOLDER = re.compile(r"…|\b[A-Z]{3,}\b")
# Pages of facts and decisions, which tell nobody to run something.
_ELSEWHERE = ("docs/reference/", "docs/adr/", "changelog.d/", "CHANGELOG.md")


class Block(msgspec.Struct, frozen=True, kw_only=True):
    page: str
    language: str
    commands: str
    remark: str

    @property
    def runner(self) -> str | None:
        """The test that is said to run it."""
        return self.remark.removeprefix(_RUN_BY) if self.remark.startswith(_RUN_BY) else None


def telling_pages() -> list[Path]:
    """Return the pages that tell people what to do."""
    named = ((path, str(path.relative_to(REPOSITORY))) for path in pages())
    return [path for path, name in named if not name.startswith(_ELSEWHERE)]


def blocks_of(page: Path) -> list[Block]:
    place = str(page.relative_to(REPOSITORY))
    return [
        Block(page=place, language=language, commands=body, remark=remark)
        for language, body, remark in remarked_fences(page.read_text())
    ]


def blocks_run_by(test: str) -> dict[str, list[str]]:
    """Return the commands that this test is said to run, by page."""
    found: dict[str, list[str]] = {}
    for page in telling_pages():
        for block in blocks_of(page):
            if block.runner == test:
                found.setdefault(block.page, []).append(block.commands)
    return found


def faults_of(block: Block) -> list[str]:
    """Say what is missing above the block."""
    if not block.language:
        return ["a block says no language: `text` for what is none"]
    if block.language not in SHELLS:
        return []
    if block.runner is None:
        said = _NOT_RUN.fullmatch(block.remark) is not None
        return [] if said else [f"no test and no reason above: {block.commands.splitlines()[0]}"]
    return [] if block.runner in tests_that_run(block.runner) else [f"no such test: {block.runner}"]


def commands_in_sentences(page: Path) -> list[str]:
    """Return whole commands that stand in a sentence and in no block of the page."""
    return pasted_in(page.read_text(), blocks="".join(block.commands for block in blocks_of(page)))


def pasted_in(text: str, *, blocks: str) -> list[str]:
    found = _INLINE.findall(text)
    return [each for each in found if each not in blocks and not _PLACEHOLDER.search(each)]


def tests_that_run(test: str) -> set[str]:
    """Return the tests of the named one's module that take commands from pages."""
    place = test.partition("::")[0]
    path = REPOSITORY / place
    if not (place.startswith("tests/") and path.is_file()):
        return set()
    return {f"{place}::{name}" for name in _takers(ast.parse(path.read_text()).body)}


def _takers(nodes: list[ast.stmt]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.ClassDef(name=name, body=body):
                yield from (f"{name}::{inner}" for inner in _takers(body))
            case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
                if FIXTURE in {argument.arg for argument in (*args.args, *args.kwonlyargs)}:
                    yield name
