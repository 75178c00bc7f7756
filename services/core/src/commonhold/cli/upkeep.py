"""The verbs `memory maintain`, `redact` and `prune` (docs/reference/cli.md, sections 6 and 7).

Everything a verb is told is checked before a store is opened.
"""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from commonhold.cli.errors import UsageError
from commonhold.cli.memory_mounts import choose_mounts
from commonhold.cli.outcomes import answer
from commonhold.cli.stores import OperatedStore, StoreSettings, open_store, read_store_settings
from commonhold.cli.whole_numbers import WholeNumber
from commonhold.contract.clock import SystemClock
from commonhold.contract.errors import ActorInvalidError, ConversationIdInvalidError
from commonhold.contract.ids import check_actor, check_conversation_id
from commonhold.usecases.upkeep.durations import parse_duration
from commonhold.usecases.upkeep.erasures import (
    ConversationErasure,
    Selection,
    redact_conversation,
)
from commonhold.usecases.upkeep.expirations import expire_documents
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.passes import Garden, maintain
from commonhold.usecases.upkeep.protections import DEFAULT_MIN_AGE_DAYS
from commonhold.usecases.upkeep.prunes import PruneReport, prune
from commonhold.usecases.upkeep.reports import PassReport
from commonhold.usecases.upkeep.result_json import (
    erasure_object,
    format_seconds,
    pass_object,
    prune_object,
)

_FAILED = 1
_MODEL_PACKAGES = frozenset({"aiohttp", "pydantic", "yarl"})
_ONE_SELECTOR = "give exactly one of --all, --through N or --turns N[,N...]"

Actor = Annotated[str, Parameter(help="the name on every change: KIND:ID[/...]")]
Schema = Annotated[str | None, Parameter(help="Postgres schema [default: COMMONHOLD_SCHEMA]")]
Root = Annotated[Path | None, Parameter(help="a directory of files, of this machine")]
Url = Annotated[str | None, Parameter(help="a state service; its token is in NEOSIAN_CLIENT_TOKEN")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="one JSON object")]
DryRun = Annotated[bool, Parameter(negative="", help="plan only; change nothing")]
Held = Annotated[
    tuple[str, ...] | None,
    Parameter(negative="", help="a prefix that a legal hold keeps (repeatable)"),
]

Pass: TypeAlias = Callable[[OperatedStore, Garden], Coroutine[None, None, PassReport]]

DEFAULT_ACTOR = "cli:local"


def maintain_mounts(
    *,
    mount: Annotated[
        tuple[str, ...] | None,
        Parameter(negative="", help="scope=...,path=...[,ro|,eo] (repeatable)"),
    ] = None,
    scope: Annotated[
        str | None, Parameter(help="one scope, at /memories [default: NEOSIAN_SCOPE]")
    ] = None,
    model: Annotated[
        str | None, Parameter(help="ask this model too; COMMONHOLD_MODEL_URL is its server")
    ] = None,
    min_age_days: Annotated[
        WholeNumber, Parameter(help="leave alone what changed in so many days")
    ] = DEFAULT_MIN_AGE_DAYS,
    dry_run: DryRun = False,
    actor: Actor = DEFAULT_ACTOR,
    url: Url = None,
    root: Root = None,
    schema: Schema = None,
    as_json: AsJson = False,
) -> int:
    """Delete empty documents and byte-identical copies, and let a model merge and mend."""
    if min_age_days < 0:
        raise UsageError("--min-age-days must not be negative")
    garden = Garden(
        mounts=choose_mounts(mount or (), scope, os.environ),
        actor=_checked_actor(actor),
        min_age_days=min_age_days,
        dry_run=dry_run,
    )
    settings = read_store_settings(os.environ, url=url, root=root, schema=schema)
    run = _maintain if model is None else _maintenance_with(model)
    report = asyncio.run(_run_pass(settings, garden, run))
    answer(pass_object(report), _pass_lines(report), as_json=as_json)
    if report.degraded is not None:
        _complain(f"{report.degraded}; what is listed was done")
    for failure in report.failed:
        _complain(f"{failure.path} failed: {failure.reason}; what is listed was done")
    return 0 if report.is_whole else _FAILED


def redact_turns(
    conversation: str,
    /,
    *,
    everything: Annotated[
        bool, Parameter(name="--all", negative="", help="all turns, and session documents")
    ] = False,
    through: Annotated[WholeNumber | None, Parameter(help="turns 1 to N")] = None,
    turns: Annotated[str | None, Parameter(help="turns N,N,...")] = None,
    actor: Actor = DEFAULT_ACTOR,
    url: Url = None,
    root: Root = None,
    schema: Schema = None,
    as_json: AsJson = False,
) -> int:
    """Erase turns of a conversation for good."""
    selection = _selection(everything=everything, through=through, turns=turns)
    _checked_actor(actor)
    try:
        check_conversation_id(conversation)
    except ConversationIdInvalidError as error:
        raise UsageError(f"[{error.code}] {error}") from None
    settings = read_store_settings(os.environ, url=url, root=root, schema=schema)
    erasure, client = asyncio.run(_redact(settings, conversation, selection=selection, actor=actor))
    answer(erasure_object(erasure, client=client), _erasure_lines(erasure), as_json=as_json)
    if erasure.unfinished is not None:
        _complain(erasure.unfinished)
        return _FAILED
    return 0


def prune_store(
    *,
    older_than: Annotated[str, Parameter(help="quiet for so long: <N>d or <N>h")],
    scope: Annotated[
        tuple[str, ...] | None,
        Parameter(
            negative="",
            help="a prefix of scopes whose documents go instead of conversations (repeatable)",
        ),
    ] = None,
    dry_run: DryRun = False,
    hold_conversation: Held = None,
    hold_scope: Held = None,
    actor: Actor = DEFAULT_ACTOR,
    url: Url = None,
    root: Root = None,
    schema: Schema = None,
    as_json: AsJson = False,
) -> int:
    """Erase conversations that have long been quiet, or documents long unchanged."""
    try:
        age = parse_duration(older_than)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _checked_actor(actor)
    if "" in (scope or ()):
        raise UsageError("--scope takes the beginning of a scope; an empty one begins them all")
    holds = Holds(conversations=hold_conversation or (), scopes=hold_scope or ())
    settings = read_store_settings(os.environ, url=url, root=root, schema=schema)

    async def run() -> tuple[PruneReport, str | None]:
        async with open_store(settings) as opened:
            erase = prune if scope is None else partial(expire_documents, scopes=scope)
            report = await erase(
                opened.store,
                older_than=age,
                clock=SystemClock(),
                holds=holds,
                actor=actor,
                dry_run=dry_run,
            )
            return report, opened.client

    report, client = asyncio.run(run())
    answer(prune_object(report, client=client), _prune_lines(report), as_json=as_json)
    for shortfall in report.unfinished:
        _complain(str(shortfall))
    return _FAILED if report.unfinished else 0


async def _run_pass(settings: StoreSettings, garden: Garden, run: Pass) -> PassReport:
    async with open_store(settings) as opened:
        return await run(opened.store, garden)


async def _maintain(store: OperatedStore, garden: Garden) -> PassReport:
    return await maintain(store, garden, clock=SystemClock())


def _maintenance_with(model: str) -> Pass:
    """A pass that asks the model; UsageError where its packages are not installed."""
    try:
        models = importlib.import_module("commonhold.cli.models")
    except ModuleNotFoundError as error:
        if error.name not in _MODEL_PACKAGES:
            raise
        raise UsageError("--model needs: pip install 'commonhold[models]'") from None
    provider = models.choose_provider(os.environ, name=model)
    return partial(models.maintain_with, provider)


async def _redact(
    settings: StoreSettings, conversation: str, *, selection: Selection, actor: str
) -> tuple[ConversationErasure, str | None]:
    async with open_store(settings) as opened:
        erasure = await redact_conversation(
            opened.store, conversation, selection=selection, actor=actor
        )
        return erasure, opened.client


def _checked_actor(actor: str) -> str:
    try:
        return check_actor(actor)
    except ActorInvalidError as error:
        raise UsageError(f"[{error.code}] {error}") from None


def _selection(*, everything: bool, through: int | None, turns: str | None) -> Selection:
    if sum((everything, through is not None, turns is not None)) != 1:
        raise UsageError(_ONE_SELECTOR)
    try:
        return Selection(through=through, turns=None if turns is None else tuple(_numbers(turns)))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        if re.fullmatch("-?[0-9]{1,18}", part) is None:
            raise UsageError(f"--turns takes numbers joined by commas, got {text!r}")
        yield int(part)


def _pass_lines(report: PassReport) -> Iterator[str]:
    """One line a write; what was skipped is in the JSON."""
    yield from map(str, report.writes)
    if not report.writes:
        yield "nothing to do"
    if report.usage is not None:
        tokens = report.usage["total_tokens"]
        cost = report.cost_micro_usd
        price = "" if cost is None else f", ${cost / 1_000_000:.6f}"
        yield f"model pass: {report.model or 'failed'}, {tokens} tokens{price}"


def _erasure_lines(erasure: ConversationErasure) -> Iterator[str]:
    if erasure.count:
        yield f"redacted {_turns(erasure.count)} of {erasure.conversation_id}"
    else:
        yield f"no turns matched in {erasure.conversation_id}"
    for document in erasure.documents:
        yield f"redacted /{document.path} in {document.scope}"


def _prune_lines(report: PruneReport) -> Iterator[str]:
    verb = "would redact" if report.dry_run else "redacted"
    cutoff = format_seconds(report.cutoff)
    for one in report.conversations:
        yield f"{one.conversation_id}  {_turns(one.turns)}  last {format_seconds(one.last_at)}"
    if report.conversations:
        count = len(report.conversations)
        conversations = "1 conversation" if count == 1 else f"{count} conversations"
        yield f"{verb} {conversations}, {_turns(report.turns)} older than {cutoff}"
    elif not report.documents:
        yield f"nothing older than {cutoff}"
    for document in report.documents:
        yield f"{verb} /{document.path} in {document.scope}"
    for spared in report.spared:
        yield f"kept {spared.conversation_id}: {spared.reason}"
    for kept in report.kept:
        yield f"kept /{kept.path} in {kept.scope}: {kept.reason}"


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _complain(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
