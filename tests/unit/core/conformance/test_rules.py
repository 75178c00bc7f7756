"""What a kit says when a store breaks a rule."""

import inspect
from collections.abc import Callable

import pytest

from commonhold.conformance.rules import CitesRules, Rule
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract import MemoryConflictError, MemoryStoreError

RULE = Rule("4", "identical content is still a new version")


def conflict() -> MemoryConflictError:
    return MemoryConflictError(
        scope="u:a", path="a", reason="version_mismatch", expected_version=1, actual_version=2
    )


def failure_of(check: Callable[[], None]) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    return str(failed.value)


def test_a_broken_rule_names_itself_and_its_page() -> None:
    text = failure_of(lambda: RULE.equal(1, 2))
    assert "identical content is still a new version" in text
    assert "docs/reference/stores.md, section 4" in text
    assert "expected: 2" in text
    assert "seen:     1" in text


def test_another_page_may_state_the_rule() -> None:
    rule = Rule("2", "a prefix is any string", "grammar.md")
    assert "docs/reference/grammar.md, section 2" in failure_of(lambda: rule.holds([]))


def test_a_kept_rule_is_silent() -> None:
    RULE.equal((1, "a"), (1, "a"))
    RULE.holds([0])
    with RULE.refuses(MemoryConflictError, reason="version_mismatch", actual_version=2):
        raise conflict()


def test_no_refusal_breaks_the_rule() -> None:
    def check() -> None:
        with RULE.refuses(ValueError):
            pass

    assert "no refusal" in failure_of(check)


def test_another_refusal_breaks_the_rule() -> None:
    def check() -> None:
        with RULE.refuses(ValueError):
            raise conflict()

    assert "MemoryConflictError" in failure_of(check)


def test_a_refusal_of_a_narrower_class_breaks_the_rule() -> None:
    def check() -> None:
        with RULE.refuses(MemoryStoreError):
            raise conflict()

    assert "expected: MemoryStoreError" in failure_of(check)


def test_other_details_break_the_rule() -> None:
    def check() -> None:
        with RULE.refuses(MemoryConflictError, reason="document_absent"):
            raise conflict()

    assert "'reason': 'version_mismatch'" in failure_of(check)


def test_another_message_breaks_the_rule() -> None:
    def check() -> None:
        with RULE.refuses(ValueError, saying="limit must be >= 1"):
            raise ValueError("limit must be positive")

    assert "limit must be positive" in failure_of(check)


@pytest.mark.parametrize("hook", [name for name in vars(StoreSubject) if name.startswith("plant_")])
async def test_a_missing_hook_fails_by_name(hook: str) -> None:
    plant = getattr(StoreSubject(), hook)
    arguments = range(len(inspect.signature(plant).parameters))
    with pytest.raises(pytest.fail.Exception, match=f"StoreSubject must provide.*{hook}"):
        await plant(*arguments)


class Kit(CitesRules):
    async def test_in_a_rule(self) -> None:
        RULE.holds(condition=True)
        Rule("7", "roles are not searched")
        raise KeyError("role")

    async def test_before_any(self) -> None:
        raise NotImplementedError


async def test_what_a_test_did_not_expect_names_the_rule_it_was_about() -> None:
    with pytest.raises(KeyError) as raised:
        await Kit().test_in_a_rule()
    (note,) = raised.value.__notes__
    assert "roles are not searched" in note
    assert "docs/reference/stores.md, section 7" in note


async def test_what_comes_before_any_rule_names_the_page_of_the_kits() -> None:
    with pytest.raises(NotImplementedError) as raised:
        await Kit().test_before_any()
    assert "docs/reference/kits.md, section 5" in raised.value.__notes__[0]
