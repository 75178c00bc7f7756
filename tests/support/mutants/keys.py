"""Bugs of answers told again, and of acts by version under keys."""

from typing import Any

import msgspec

from commonhold.adapters.in_memory import InMemoryStore
from commonhold.adapters.in_memory.answers import Answers, Names, Once
from commonhold.contract import IdempotencyKey, MemoryDocument, Remembered
from commonhold.contract.stores import Mutations
from tests.support.mutants.registry import KEYED_CONDITIONS, RECALLS, breaks


class _Recalls(InMemoryStore):
    """A store whose memory of answers a mutant bends."""

    answers: type[Answers] = Answers

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        bent = self.answers(self._documents._clock)
        self._answers = self._documents._answers = self._conversations._answers = bent


@breaks(RECALLS, "the_store_remembers")
class CannotRecall(InMemoryStore):
    recall = None  # type: ignore[assignment]  # the bug


@breaks(RECALLS, "a_new_key_recalls_nothing_and_stays_free", "a_refusal_is_not_recalled")
class TakesTheKeyByAsking(InMemoryStore):
    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        found = await super().recall(key=key, digest=digest)
        if found is None:
            await self.guarded(key=key, digest=digest).delete("asked:for", "nothing")
        return found


@breaks(RECALLS, "an_answer_is_recalled_without_its_mutation")
class RecallsEveryAnswerAsANumber(InMemoryStore):
    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        found = await super().recall(key=key, digest=digest)
        if found is not None and isinstance(found.answer, bool):
            return Remembered(found.operation, int(found.answer))
        return found


class _TrustingAnswers(Answers):
    def recall(self, *, key: IdempotencyKey, digest: bytes) -> Names | None:
        known = self._answers.get(key)
        return super().recall(key=key, digest=(known and known.digest) or digest)


@breaks(RECALLS, "an_answer_is_recalled_without_its_mutation")
class RecallsForAnyDigest(_Recalls):
    answers = _TrustingAnswers


class _ClientlessAnswers(Answers):
    def recall(self, *, key: IdempotencyKey, digest: bytes) -> Names | None:
        known = (one for one in self._answers if one.value == key.value)
        return super().recall(key=next(known, key), digest=digest)


@breaks(RECALLS, "clients_recall_their_own_keys")
class RecallsForAnyClient(_Recalls):
    answers = _ClientlessAnswers


@breaks(RECALLS, "the_row_is_recalled_and_not_the_head")
class RecallsTheHead(InMemoryStore):
    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        found = await super().recall(key=key, digest=digest)
        if found is not None and isinstance(found.answer, MemoryDocument):
            head = await self.read(found.answer.scope, found.answer.path)
            return Remembered(found.operation, head or found.answer)
        return found


class _KeepingAnswers(Answers):
    def forget_turns(self, *_arguments: Any) -> None:
        pass


@breaks(RECALLS, "erased_text_is_not_recalled")
class ConfirmsErasedTurns(_Recalls):
    answers = _KeepingAnswers


@breaks(RECALLS, "erased_text_is_not_recalled")
class RecallsWhatItFirstTold(InMemoryStore):
    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        found = await super().recall(key=key, digest=digest)
        if found is not None and isinstance(found.answer, MemoryDocument):
            return Remembered(found.operation, msgspec.structs.replace(found.answer, content="s"))
        return found


class _EternalAnswers(Answers):
    def _sweep(self, now: Any) -> None:
        pass


@breaks(RECALLS, "an_answer_is_recalled_for_a_day")
class RecallsForEver(_Recalls):
    answers = _EternalAnswers


@breaks(RECALLS, "a_running_call_is_not_waited_for")
class AnswersBeforeItIsDone(InMemoryStore):
    def guarded(self, **options: Any) -> Any:
        started = self.__dict__.setdefault("started", set())
        started.add(options["key"])
        return super().guarded(**options)

    async def recall(self, *, key: IdempotencyKey, digest: bytes) -> Remembered | None:
        if key in self.__dict__.get("started", ()):
            self.__dict__["started"].discard(key)
            return Remembered("write", None)
        return await super().recall(key=key, digest=digest)


class _Views(InMemoryStore):
    """A store whose view a mutant bends."""

    def guarded(self, **options: Any) -> Any:
        view = super().guarded(**options)
        self.bend(view, key=options["key"])
        return view

    def bend(self, view: Mutations, *, key: IdempotencyKey) -> None:
        raise NotImplementedError


@breaks(KEYED_CONDITIONS, "the_view_is_conditional")
class HasNoConditionsUnderKeys(_Views):
    def bend(self, view: Any, *, key: IdempotencyKey) -> None:
        view.delete_if = None
        view.__class__ = type("View", (), {"write": view.write})


@breaks(
    KEYED_CONDITIONS,
    "a_replay_answers_though_the_condition_fell",
    "racing_acts_under_one_key_happen_once",
    "another_request_under_the_key_is_refused",
    "after_a_redaction_a_replay_is_empty",
)
class ActsOutsideTheKey(_Views):
    def bend(self, view: Any, *, key: IdempotencyKey) -> None:
        view.create_if_absent = self.create_if_absent
        view.delete_if, view.rename_if = self.delete_if, self.rename_if


@breaks(
    KEYED_CONDITIONS,
    "the_first_use_of_a_key_is_the_act_itself",
    "a_refused_act_leaves_the_key_free",
    "of_racing_keys_one_act_succeeds",
)
class DropsConditionsUnderKeys(_Views):
    def bend(self, view: Any, *, key: IdempotencyKey) -> None:
        async def create_if_absent(scope: str, path: str, content: str, **more: Any) -> Any:
            return await view.write(scope, path, content, **more)

        async def delete_if(scope: str, path: str, *, actor: str | None = None, **_: Any) -> Any:
            return await view.delete(scope, path, actor=actor)

        async def rename_if(scope: str, src: str, dst: str, **more: Any) -> Any:
            if await self.read(scope, src) is None:
                return await self.read(scope, dst)
            return await view.rename(scope, src, dst, actor=more.get("actor"))

        view.create_if_absent, view.delete_if, view.rename_if = (
            create_if_absent,
            delete_if,
            rename_if,
        )


class _GrudgingAnswers(Answers):
    """Takes the key before knowing whether the act succeeds."""

    def once(self, once: Once[Any], *, key: IdempotencyKey, digest: bytes) -> Any:
        used: dict[IdempotencyKey, bytes] = self.__dict__.setdefault("used", {})
        if used.setdefault(key, digest) != digest:
            raise ValueError("idempotency key was used for another request")
        return super().once(once, key=key, digest=digest)


@breaks(KEYED_CONDITIONS, "a_refused_act_leaves_the_key_free")
class RemembersRefusedActs(_Recalls):
    answers = _GrudgingAnswers
