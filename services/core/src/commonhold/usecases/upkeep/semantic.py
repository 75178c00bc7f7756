"""The stage that asks a model once and carries out what it proposes, within the protections.

docs/reference/maintenance.md, section 4.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog

from commonhold.contract.language_models import LlmProvider, Metered, extract_metered
from commonhold.contract.model_errors import CircuitOpen, RateLimitExceeded, Spend
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.upkeep.editors import FencedEditor
from commonhold.usecases.upkeep.erasure_watch import ErasureWatch
from commonhold.usecases.upkeep.evidence import Evidence, gather
from commonhold.usecases.upkeep.executions import Execution
from commonhold.usecases.upkeep.fences import TendedStore, VersionFence
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.instructions import instructions
from commonhold.usecases.upkeep.operations import MAX_OPERATIONS, Operations
from commonhold.usecases.upkeep.protections import (
    CIRCUIT_OPEN,
    RATE_LIMITED,
    UNLISTED,
    AgeFloor,
)
from commonhold.usecases.upkeep.reports import ModelUse, PassLog, in_a_line
from commonhold.usecases.virtual_paths import virtual_path

logger = structlog.get_logger(__name__)

TOO_MANY = "too many operations"


def new_token() -> str:
    return secrets.token_hex(8)


class SemanticStage:
    """The stage over one model; `tokens` makes the fences of a message.

    `pick` chooses, below a number, where the part begins that a model is shown of more
    documents than one message can name.

    The model is called once, without retries: whoever repeats a call repeats the text in
    it, and that may have been erased meanwhile.
    """

    def __init__(
        self,
        model: LlmProvider,
        *,
        tokens: Callable[[], str] = new_token,
        pick: Callable[[int], int] = secrets.randbelow,
    ) -> None:
        self._model = model
        self._tokens = tokens
        self._pick = pick

    async def run(
        self,
        documents: TendedStore,
        mounts: MountTable,
        *,
        fence: VersionFence,
        floor: AgeFloor,
        holds: Holds,
        log: PassLog,
    ) -> ModelUse:
        """Ask, and carry out. A failed call leaves everything as it is, and says so."""
        shown = [
            mount
            for mount in mounts.mounts
            if not mount.read_only and not holds.holds_scope(mount.scope)
        ]
        watch = ErasureWatch(documents, _scopes(shown))
        await watch.start()
        evidence = await gather(documents, shown, floor, new_token=self._tokens, pick=self._pick)
        for name in evidence.unlisted:
            log.skip("scan", f"/{name}", UNLISTED, document=f"/{name}")
        if not evidence.shown:
            return ModelUse()
        try:
            reply = await self._ask(evidence)
        except (CircuitOpen, RateLimitExceeded) as refusal:
            return _put_off(refusal, shown, log)
        except Exception as error:  # noqa: BLE001 - no failure of a model ends a pass
            # Its text may quote what was sent, so only its type is told.
            logger.warning("upkeep_model_failed", error=type(error).__name__)
            return _use(getattr(error, "spend", None), degraded=_failed(error))
        use = _use(reply.spend, model=self._model.model)
        if len(reply.answer.ops) > MAX_OPERATIONS:
            return msgspec.structs.replace(use, degraded=TOO_MANY)
        execution = Execution(
            FencedEditor(documents, fence, told=dict(evidence.shown)),
            mounts,
            floor=floor,
            holds=holds,
            watch=watch,
            shown=evidence.shown,
        )
        for operation in reply.answer.ops:
            await execution.perform(operation, log)
        return use

    async def _ask(self, evidence: Evidence) -> Metered[Operations]:
        return await extract_metered(
            self._model,
            evidence.text,
            Operations,
            system_prompt=instructions(evidence.token),
        )


def _scopes(mounts: list[Mount]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mount.scope for mount in mounts))


def _put_off(
    refusal: CircuitOpen | RateLimitExceeded, mounts: list[Mount], log: PassLog
) -> ModelUse:
    """Nothing was sent: each mount that would have been shown is a skip."""
    reason = CIRCUIT_OPEN if isinstance(refusal, CircuitOpen) else RATE_LIMITED
    for mount in mounts:
        root = virtual_path(mount, "")
        log.skip("ask", root, reason, document=root)
    return ModelUse(degraded=_failed(refusal), put_off_seconds=round(refusal.retry_after, 3))


def _failed(error: Exception) -> str:
    return f"Maintenance failed: {type(error).__name__}"


def _use(spend: Spend | None, *, model: str | None = None, degraded: str | None = None) -> ModelUse:
    """`model` None is a call that failed; what it cost is told all the same."""
    if spend is None:
        return ModelUse(model=model, degraded=degraded)
    usage: Mapping[str, Any] | None = (
        None if spend.usage is None else msgspec.to_builtins(spend.usage)
    )
    return ModelUse(
        model=None if degraded else in_a_line(spend.model),
        usage=usage,
        cost_micro_usd=spend.cost_micro_usd,
        degraded=degraded,
    )
