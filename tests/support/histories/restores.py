"""Whether racing restores into one unit left exactly one archive, whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from commonhold.contract.documents import ScopeArchive
from tests.support.histories.conversations import ConversationState, spoken
from tests.support.histories.records import (
    Act,
    Attempt,
    Refused,
    Violation,
    gather_acts,
    is_mutation,
)
from tests.support.histories.timelines import maker_of

OCCUPIED = "target_occupied"


def check_scope_restores(attempts: Iterable[Attempt], state: ScopeArchive) -> list[Violation]:
    within = [one for one in attempts if one.request.get("scope") == state.scope]
    acts = gather_acts(within)
    restores = [act for act in acts.values() if act.route == "store/restore_scope"]
    landed = {
        act.name: [
            *((row.path, row.version) for row in state.versions if _is_of(row.actor, act)),
            *(("trail", row.count) for row in state.redactions if _is_of(row.actor, act)),
        ]
        for act in restores
    }
    wanted = {
        act.name: [
            *((row["path"], row["version"]) for row in act.request["versions"]),
            *(("trail", row["count"]) for row in act.request["redactions"]),
        ]
        for act in restores
    }
    return [*_check_winner(acts, restores, landed=landed, wanted=wanted)]


def check_conversation_restores(
    attempts: Iterable[Attempt], state: ConversationState
) -> list[Violation]:
    within = [
        one for one in attempts if one.request.get("conversation_id") == state.conversation_id
    ]
    acts = gather_acts(within)
    restores = [act for act in acts.values() if act.route == "store/restore_conversation"]
    landed = {
        act.name: [
            *((row["turn"], *spoken(row)) for row in state.turns if _is_of(row["actor"], act)),
            *(row["text"] for row in state.projections if act.name in row["text"].split()),
        ]
        for act in restores
    }
    wanted = {
        act.name: [
            *((row["turn"], *spoken(row)) for row in act.request["turns"]),
            *(row["text"] for row in act.request["projections"]),
        ]
        for act in restores
    }
    return [*_check_winner(acts, restores, landed=landed, wanted=wanted)]


def _is_of(actor: str | None, act: Act) -> bool:
    return maker_of(actor) == act.name


def _check_winner(
    acts: Mapping[str, Act],
    restores: Sequence[Act],
    *,
    landed: Mapping[str, Sequence[Any]],
    wanted: Mapping[str, Sequence[Any]],
) -> Iterator[Violation]:
    winners = [act for act in restores if act.answer is not None or landed[act.name]]
    if len(winners) > 1:
        yield Violation("restored_twice", "unit", f"{[act.name for act in winners]}")
    for act in restores:
        if not landed[act.name] and act.answer is None:
            yield from _check_refusal(acts, act)
        elif not act.may_have_happened:
            yield Violation("refused_left_effect", act.name, f"{landed[act.name]}")
        elif sorted(map(str, landed[act.name])) != sorted(map(str, wanted[act.name])):
            yield Violation("restore_torn", act.name, f"{landed[act.name]}")
    for winner in winners:
        for act in _mutations(acts):
            if act is not winner and act.answer is not None and act.ended < winner.began:
                yield Violation("restored_over", winner.name, f"{act} came before")


def _check_refusal(acts: Mapping[str, Act], restore: Act) -> Iterator[Violation]:
    """Refused only for a unit that somebody had filled by then."""
    if not isinstance(restore.outcome, Refused):
        return
    if restore.outcome.details.get("reason") != OCCUPIED:
        yield Violation("impossible_observation", restore.name, f"{restore}")
    elif not any(
        act.may_have_happened and act is not restore and act.began <= restore.ended
        for act in _mutations(acts)
    ):
        yield Violation("impossible_observation", restore.name, f"nothing occupied: {restore}")


def _mutations(acts: Mapping[str, Act]) -> list[Act]:
    return [act for act in acts.values() if is_mutation(act.route)]
