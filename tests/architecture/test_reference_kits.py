"""The page of the kits is compared with the kits, and the rules they cite with the reference."""

import inspect
import re
from pathlib import Path

import pytest

from commonhold import conformance
from commonhold.conformance.language_models import (
    LlmProviderCompliance,
    MeteredLlmProviderCompliance,
)
from commonhold.conformance.subjects import StoreSubject
from commonhold.conformance.wire import CASES
from tests.support.markdown import REPOSITORY, headings, literals, reference, section, tables

KITS = [
    getattr(conformance, name)
    for name in conformance.__all__
    if name.endswith(("Contract", "Compliance"))
] + [LlmProviderCompliance, MeteredLlmProviderCompliance]
MODULES = sorted(REPOSITORY.glob("services/core/src/commonhold/conformance/**/*.py"))
RULE = re.compile(r'(?P<call>Rule|rule|promise)\(\s*"(?P<section>[^"]*)"')
# What a rule cites when it names no page: `rule` is that of the caches' kits, `promise` that of
# the language models'.
PAGES = {"Rule": "stores.md", "rule": "cache.md", "promise": "models.md"}


def _own_sentences(kit: type) -> list[str]:
    """Return the tests of a kit as sentences; a kit inside another is listed once."""
    inner = {
        name for other in KITS if other is not kit and issubclass(kit, other) for name in dir(other)
    }
    functions = inspect.getmembers(kit, inspect.isfunction)
    tests = [name for name, _ in functions if name.startswith("test_") and name not in inner]
    return [name.removeprefix("test_").replace("_", " ") for name in tests]


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.__name__)
def test_the_page_has_every_test_of_a_kit(kit: type) -> None:
    listed = re.findall(r"^- (.+)$", section(reference("kits.md"), kit.__name__), re.MULTILINE)
    assert sorted(listed) == sorted(_own_sentences(kit))


def test_the_page_has_every_case_of_the_wire() -> None:
    page = section(reference("kits.md"), "7. The kit of the wire")
    listed = {row[0]: row[1].split("; ") for row in list(tables(page))[-1]}
    cases: dict[str, list[str]] = {}
    for case in CASES:
        cases.setdefault(case.group, []).append(case.name)
    assert listed == cases


def test_the_page_has_every_hook() -> None:
    hooks = next(iter(tables(section(reference("kits.md"), "2. Hooks"))))
    described = [literals(hook)[0].partition("(")[0] for hook, _ in hooks]
    assert described == [name for name in vars(StoreSubject) if name.startswith("plant_")]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_rule_cites_a_section_that_exists(module: Path) -> None:
    text = module.read_text()
    for call, page in PAGES.items():
        numbered = {title.split(". ")[0] for title in headings(reference(page))}
        cited = {found["section"] for found in RULE.finditer(text) if found["call"] == call}
        assert cited <= numbered
