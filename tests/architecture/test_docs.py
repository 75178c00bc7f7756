"""The documentation holds together: links lead somewhere, and what is cited exists."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from tests.support.markdown import (
    REFERENCE,
    REPOSITORY,
    anchors,
    fences,
    headings,
    links,
    pages,
    remarked_fences,
    section,
    tables,
)
from tests.support.repository import tracked_files
from tests.support.shown_commands import (
    Block,
    blocks_of,
    blocks_run_by,
    commands_in_sentences,
    faults_of,
    pasted_in,
    telling_pages,
)

SOURCES = sorted(
    path
    for pattern in ("services/**/*.py", "services/**/*.sql", "tests/**/*.py", "bench/**/*.py")
    for path in REPOSITORY.glob(pattern)
    if path != Path(__file__)
)
MEMBERS = "services/*/pyproject.toml"
ARCHITECTURE = REPOSITORY / "docs/architecture.md"
SCHEMA = "services/core/src/commonhold/migrations/schema.sql"
CITATION = re.compile(
    r"(?<![\w/])(?:docs/reference/)?"
    r"(?P<page>grammar|stores|errors|memory-tool|mcp|wire|schema|settings|metrics|kits|cli|models|cache|filestore|maintenance)\.md\)?,"
    r' (?:(?:section )?"(?P<title>[^"]+)"|sections? (?P<numbers>\d+(?:(?:, | and | to )\d+)*))'
)
MARGIN = re.compile(r"\s*\n\s*(?:#|--)?\s*")


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def _unknown_sections(text: str) -> list[str]:
    """Return the citations in the text that name a section no page has."""
    found = CITATION.finditer(MARGIN.sub(" ", text))
    return [cited[0] for cited in found if not _exists(cited)]


def _exists(cited: re.Match[str]) -> bool:
    titles = headings((REFERENCE / f"{cited['page']}.md").read_text())
    if cited["title"] is not None:
        return any(re.fullmatch(rf"\d+\. {re.escape(cited['title'])}", title) for title in titles)
    numbers = {title.split(".")[0] for title in titles}
    return set(re.findall(r"\d+", cited["numbers"])) <= numbers


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, fragment = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (fragment and fragment not in anchors(target.read_text())):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("path", [*SOURCES, *pages()], ids=_name)
def test_every_section_that_is_cited_exists(path: Path) -> None:
    assert _unknown_sections(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(docs/reference/stores.md, section 4)", []),
        (
            "# as docs/reference/wire.md,\n    # section 99 says",
            ["docs/reference/wire.md, section 99"],
        ),
        ("wire.md, sections 1 to 77", ["wire.md, sections 1 to 77"]),
        ('stores.md, section "Guarded"', []),
        ('schema.md, "Versions"', []),
        ('stores.md, section "Guards"', ['stores.md, section "Guards"']),
    ],
)
def test_a_citation_of_a_missing_section_is_found(text: str, expected: list[str]) -> None:
    assert _unknown_sections(text) == expected


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    named = re.findall(
        r"(?:^|`)make ([a-z][a-z -]*?)(?=`|\s{2}|\n|$)", page.read_text(), re.MULTILINE
    )
    assert {target for command in named for target in command.split()} <= targets


def test_every_dependency_of_a_member_is_among_the_chosen_parts() -> None:
    parts = section(ARCHITECTURE.read_text(), "7. Chosen parts")
    members = [tomllib.loads(path.read_text()) for path in REPOSITORY.glob(MEMBERS)]
    asked = [
        requirement
        for member in members
        for requirement in (
            *member["project"]["dependencies"],
            *chain(*member["project"].get("optional-dependencies", {}).values()),
        )
    ]
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in asked} - {"commonhold"}
    assert names
    assert [name for name in sorted(names) if name not in parts] == []


def test_the_map_shows_every_folder() -> None:
    (drawn,) = fences(section(ARCHITECTURE.read_text(), "1. Map"), "text")
    parts = [path.parts[:-1] for path in tracked_files()]
    top = {folders[0] for folders in parts if folders and not folders[0].startswith(".")}
    missing = {folder for folder in top if not re.search(rf"^{folder}/", drawn, re.MULTILINE)}
    for parent in ("tests", "docs"):
        (line,) = re.findall(rf"^{parent}/ .*", drawn, re.MULTILINE)
        within = {folders[1] for folders in parts if folders[:1] == (parent,) and folders[1:]}
        missing |= {f"{parent}/{folder}" for folder in within if f" {folder}/" not in line}
    assert missing == set()


def test_the_page_has_every_table_of_the_schema() -> None:
    (rows, *_) = tables(section(ARCHITECTURE.read_text(), "4. Data"))
    listed = [name for row in rows for name in row[0].split(", ")]
    schema = (REPOSITORY / SCHEMA).read_text()
    made = re.findall(r"^CREATE (?:UNLOGGED )?TABLE commonhold\.(\w+)", schema, re.MULTILINE)
    assert made
    assert sorted(listed) == sorted(made)


def test_every_decision_is_in_the_index() -> None:
    index = (REPOSITORY / "docs/adr/README.md").read_text()
    numbered = {path.name for path in REPOSITORY.glob("docs/adr/[0-9]*.md")}
    assert {link for link in links(index) if link[0].isdigit()} == numbered


def test_every_page_of_the_reference_is_in_its_index() -> None:
    listed = set(links((REFERENCE / "README.md").read_text()))
    assert {path.name for path in REFERENCE.glob("*.md")} - {"README.md"} <= listed


@pytest.mark.parametrize("page", telling_pages(), ids=_name)
def test_every_command_of_a_page_is_run_by_a_test_or_says_why_not(page: Path) -> None:
    assert [fault for block in blocks_of(page) for fault in faults_of(block)] == []


@pytest.mark.parametrize("page", telling_pages(), ids=_name)
def test_a_command_that_could_be_pasted_stands_in_a_block(page: Path) -> None:
    assert commands_in_sentences(page) == []


def test_a_command_in_a_sentence_is_found() -> None:
    text = "Say `helm upgrade x --wait`, then `commonhold migrate --grant-to ROLE`, or `helm test`."
    assert pasted_in(text, blocks="") == ["helm upgrade x --wait"]
    assert pasted_in(text, blocks="helm upgrade x --wait\n") == []


@pytest.mark.parametrize(
    ("remark", "fault"),
    [
        ("", "no test and no reason above: make run"),
        ("not run: no", "no test and no reason above: make run"),
        ("tested somewhere", "no test and no reason above: make run"),
        ("run by tests/e2e/test_gone.py::test_it", "no such test: tests/e2e/test_gone.py::test_it"),
        ("run by tests/conftest.py::test_it", "no such test: tests/conftest.py::test_it"),
        (
            # A test that is there, and takes nothing from a page.
            "run by tests/architecture/test_docs.py::test_every_decision_is_in_the_index",
            "no such test: tests/architecture/test_docs.py::test_every_decision_is_in_the_index",
        ),
    ],
)
def test_a_block_without_a_test_or_a_reason_is_found(remark: str, fault: str) -> None:
    block = Block(page="README.md", language="sh", commands="make run\n", remark=remark)
    assert faults_of(block) == [fault]


def test_a_block_of_no_language_is_found() -> None:
    (block,) = (
        Block(page="README.md", language=language, commands=body, remark=remark)
        for language, body, remark in remarked_fences(
            "1. In a list:\n\n   ```\n   make run\n   ```\n"
        )
    )
    assert block.commands == "make run\n"
    assert faults_of(block) == ["a block says no language: `text` for what is none"]


def test_a_block_is_given_to_the_test_that_its_remark_names() -> None:
    runners = [block.runner for page in telling_pages() for block in blocks_of(page)]
    named = {runner for runner in runners if runner is not None}
    assert named
    assert all(blocks_run_by(test) for test in named)
