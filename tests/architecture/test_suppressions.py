"""Every comment that silences a check says which one, and why."""

import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.support.repository import ROOT, tracked_files

# `noqa: CODE - reason` and `type: ignore[code]  # reason`.
_SILENCES = re.compile(
    r"noqa|type:\s*ignore|pragma:|fmt:\s*(?:off|skip)|ruff:|mypy:", re.IGNORECASE
)
_REASONED = (
    re.compile(r"# noqa: [A-Z]+\d+(?:, [A-Z]+\d+)* - \S.*"),
    re.compile(r"# type: ignore\[[a-z-]+(?:, [a-z-]+)*\]  # \S.*"),
)
_OTHER_FILES = re.compile(
    r"#.*(?:shellcheck disable|hadolint ignore|yamllint disable)|--.*squawk-ignore"
)


def unreasoned(source: str) -> list[str]:
    """The comments of a Python text that silence something without saying why."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [
        text
        for text in comments
        if _SILENCES.match(text.lstrip("# "))
        and not any(form.fullmatch(text) for form in _REASONED)
    ]


@pytest.mark.parametrize("path", [p for p in tracked_files() if p.suffix == ".py"], ids=str)
def test_each_suppression_has_its_code_and_a_reason(path: Path) -> None:
    assert unreasoned((ROOT / path).read_text()) == []


def test_nothing_but_python_silences_a_check() -> None:
    named = Path(__file__).relative_to(ROOT)
    silent = [
        path
        for path in tracked_files()
        if path != named and any(_OTHER_FILES.search(line) for line in _lines(path))
    ]
    assert silent == []


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # noqa",
        "x = 1  # noqa: S105",
        "x = 1  # noqa: S105 -",
        "x = 1  # noqa: S105, ARG002",
        "x = 1  # NOQA",
        "x = 1  #noqa: S105 - spelled otherwise",
        "x = 1  # noqa - no code",
        "x = 1  # type: ignore",
        "x = 1  # type: ignore[misc]",
        "x = 1  # type: ignore  # no code",
        "x = 1  # type: ignore[misc]  #",
        "# ruff: noqa",
        "# mypy: ignore-errors",
        "x = 1  # fmt: skip",
    ],
)
def test_a_suppression_without_its_reason_is_found(line: str) -> None:
    assert len(unreasoned(f"{line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # noqa: S105 - a variable's name",
        "x = 1  # noqa: FBT001, FBT002 - its signature",
        "x = 1  # type: ignore[arg-type]  # a store refuses others",
        "x = '# noqa'",
        "x = 1  # what noqa does",
    ],
)
def test_other_comments_and_reasoned_ones_pass(line: str) -> None:
    assert unreasoned(f"{line}\n") == []


def _lines(path: Path) -> list[str]:
    return (ROOT / path).read_text(errors="replace").splitlines()
