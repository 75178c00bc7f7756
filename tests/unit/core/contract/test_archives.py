"""Rows that no store lands are refused by their name: the unit, the row, and why."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from commonhold.conformance.archives import (
    act,
    conversation_archive,
    document,
    erased,
    scope_archive,
    turn,
    version,
)
from commonhold.conformance.portability_extras import UNFIT
from commonhold.conformance.portability_refusals import BAD_SCOPE_ROWS, BAD_TURN_ROWS
from commonhold.conformance.samples import SCOPE, THREAD, says
from commonhold.contract import ConversationProjection
from commonhold.contract.archives import (
    UnfitRowError,
    judge_conversation,
    judge_scope,
    landed_conversation,
    landed_scope,
)

_replace = msgspec.structs.replace

UNSTORABLE_SCOPE_ROWS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "document": ("documents", (document("a", 1, content="\0"),)),
    "document extra": ("documents", (_replace(document("a", 1), extra={"k": ["\ud800"]}),)),
    "version": ("versions", (version("a", 1, content="\0"),)),
    "act": ("redactions", (_replace(act("a"), actor="\0"),)),
}
UNSTORABLE_TURN_ROWS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "turn": ("turns", (_replace(turn(1), messages=(says("\0"),)),)),
    "projection": ("projections", (ConversationProjection(turn=1, kind="log", text="\0"),)),
    "act": ("redactions", (_replace(erased(1), actor="\ud800"),)),
}
SCOPE_ROWS = {**BAD_SCOPE_ROWS, **{f"text of {k}": v for k, v in UNSTORABLE_SCOPE_ROWS.items()}}
TURN_ROWS = {**BAD_TURN_ROWS, **{f"text of {k}": v for k, v in UNSTORABLE_TURN_ROWS.items()}}
SCOPE_NAMES = {
    "documents": rf"document '[ab]' in scope '{SCOPE}': .",
    "versions": rf"version -?\d+ of '[ab]' in scope '{SCOPE}': .",
    "redactions": rf"erasure 1( of 'a')? in scope '{SCOPE}': .",
}
TURN_NAMES = {
    "turns": rf"turn \d+ in conversation '{THREAD}': .",
    "projections": rf"projection 1, of turn \d+, in conversation '{THREAD}': .",
    "redactions": rf"erasure 1 in conversation '{THREAD}': .",
}


@pytest.mark.parametrize("case", SCOPE_ROWS)
def test_a_bad_row_of_a_scope_is_told_by_its_name(case: str) -> None:
    kind, rows = SCOPE_ROWS[case]
    archive = _replace(scope_archive(), **{kind: rows})
    with pytest.raises(ValueError, match=SCOPE_NAMES[kind]) as refusal:
        landed_scope(archive)
    with pytest.raises(UnfitRowError) as judged:
        judge_scope(archive)
    assert str(judged.value) == str(refusal.value)
    assert (judged.value.kind, judged.value.index) == (kind, len(rows) - 1)


@pytest.mark.parametrize("case", TURN_ROWS)
def test_a_bad_row_of_a_conversation_is_told_by_its_name(case: str) -> None:
    kind, rows = TURN_ROWS[case]
    archive = _replace(conversation_archive(), **{kind: rows})
    with pytest.raises(ValueError, match=TURN_NAMES[kind]) as refusal:
        landed_conversation(archive)
    with pytest.raises(UnfitRowError) as judged:
        judge_conversation(archive)
    assert str(judged.value) == str(refusal.value)
    assert (judged.value.kind, judged.value.index) == (kind, len(rows) - 1)


@pytest.mark.parametrize("case", UNFIT)
def test_what_is_wrong_with_extra_names_the_document(case: str) -> None:
    row = _replace(document("a", 1), extra=UNFIT[case])
    told = re.escape(f"document 'a' in scope '{SCOPE}': parameter 'extra' ")
    with pytest.raises(ValueError, match=told):
        landed_scope(_replace(scope_archive(), documents=(row,)))
