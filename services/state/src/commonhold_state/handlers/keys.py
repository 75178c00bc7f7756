"""What was answered under a key, without asking for it again (docs/reference/wire.md, 14)."""

from commonhold.contract import ConversationTurn, IdempotencyKey, MemoryDocument, Remembered
from commonhold.wire.answers import RecallAnswer, RememberedCall
from commonhold.wire.parameters import required_text
from commonhold.wire.shapes import encode
from commonhold_state.calls import Call
from commonhold_state.idempotency import given_digest


async def recall(call: Call) -> bytes:
    remembering = call.backend.remembering
    key = IdempotencyKey(client=call.client.actor, value=required_text(call.body, "key"))
    digest = given_digest(required_text(call.body, "digest"), name="digest")
    found = await call.measure("recall", remembering.recall(key=key, digest=digest))
    return encode(RecallAnswer(None if found is None else _told(found)))


def _told(found: Remembered) -> RememberedCall:
    answer = found.answer
    if isinstance(answer, MemoryDocument):
        return RememberedCall(operation=found.operation, document=answer)
    if isinstance(answer, ConversationTurn):
        return RememberedCall(operation=found.operation, turn=answer)
    return RememberedCall(operation=found.operation, value=answer)
