"""Reports as JSON: the keys and order of docs/reference/maintenance.md, sections 5 and 6."""

from datetime import datetime
from typing import Any

import msgspec

from commonhold.contract.clock import format_timestamp
from commonhold.usecases.upkeep.erasures import ConversationErasure
from commonhold.usecases.upkeep.prunes import PruneReport
from commonhold.usecases.upkeep.reports import PassReport


def pass_object(report: PassReport) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(report)
    for skip in fields["skipped"]:
        del skip["document"]
    if report.put_off_seconds is None:
        del fields["put_off_seconds"]
    return fields


def erasure_object(erasure: ConversationErasure, *, client: str | None = None) -> dict[str, Any]:
    fields: dict[str, Any] = {"verb": "redact", **msgspec.to_builtins(erasure)}
    unfinished = fields.pop("unfinished")
    fields["client"] = client
    return fields if unfinished is None else fields | {"unfinished": unfinished}


def prune_object(report: PruneReport, *, client: str | None = None) -> dict[str, Any]:
    fields = {
        "verb": "prune",
        "cutoff": format_seconds(report.cutoff),
        "dry_run": report.dry_run,
        "turns": report.turns,
        "conversations": [
            {
                "conversation_id": one.conversation_id,
                "turns": one.turns,
                "last_at": format_seconds(one.last_at),
            }
            for one in report.conversations
        ],
        "documents": msgspec.to_builtins(report.documents),
        "client": client,
        "skipped": msgspec.to_builtins((*report.spared, *report.kept)),
    }
    unfinished = [str(one) for one in report.unfinished]
    return fields | {"unfinished": unfinished} if unfinished else fields


def format_seconds(moment: datetime) -> str:
    return format_timestamp(moment.replace(microsecond=0))
