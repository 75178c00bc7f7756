"""The file of COMMONHOLD_GARDENS: gardens, and what retention erases and keeps.

docs/reference/maintenance.md, section 9. Every mistake names its line.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

import msgspec

from commonhold.ops.settings_files import (
    Place,
    SettingsFileError,
    located,
    mistakes_at,
    read_settings_file,
)
from commonhold.usecases.mount_entries import MountEntry, mount_of
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.upkeep.durations import parse_duration
from commonhold.usecases.upkeep.holds import Holds
from commonhold.usecases.upkeep.passes import Garden
from commonhold.usecases.upkeep.protections import DEFAULT_MIN_AGE_DAYS
from commonhold_maintenance.schedules import MOST_JITTER, Schedule

VARIABLE = "COMMONHOLD_GARDENS"
GARDENS = "gardens"
RETENTION = "retention"
# What `/` and `:` would end is an actor's id.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_INTERVAL = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Times(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    interval: str | None = None
    cron: str | None = None
    jitter: float = MOST_JITTER


class GardenEntry(Times, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mounts: tuple[MountEntry, ...]
    min_age_days: int = DEFAULT_MIN_AGE_DAYS
    model: bool = False
    dry_run: bool = False


class RuleEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scope: str | None = None
    conversations: str | None = None
    redact_older_than: str | None = None
    hold: bool = False


class RetentionEntry(Times, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rules: tuple[RuleEntry, ...] = ()
    dry_run: bool = False


class ScheduledGarden(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    garden: Garden
    schedule: Schedule
    asks_model: bool = False


class ErasureRule(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations, or documents of scopes, whose name starts with `prefix` and their age."""

    about: Literal["conversations", "scope"] = "conversations"
    prefix: str
    older_than: timedelta


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    rules: tuple[ErasureRule, ...]
    schedule: Schedule
    dry_run: bool = False


class GardensFile(msgspec.Struct, frozen=True, kw_only=True):
    gardens: tuple[ScheduledGarden, ...]
    holds: Holds
    retention: Retention | None = None


def read_gardens(path: str) -> GardensFile:
    """Raises ConfigurationError, with the line, for a file that cannot be read or is wrong."""
    return read_settings_file(path, variable=VARIABLE, parse=parse_gardens)


def parse_gardens(document: Mapping[str, Any]) -> GardensFile:
    """As `read_gardens`, from a decoded document; raises SettingsFileError.

    Also for one with nothing to do in it, holds at most.
    """
    for name in document:
        if name not in {GARDENS, RETENTION}:
            raise SettingsFileError(f"unknown section {name!r}", place=(name,))
    section = document.get(GARDENS, {})
    if not isinstance(section, Mapping):
        raise SettingsFileError("gardens are named: [gardens.NAME]", place=(GARDENS,))
    entry = _decode(document.get(RETENTION, {}), RetentionEntry, place=(RETENTION,))
    holds, rules = _rules(entry)
    if not section and not rules:
        raise SettingsFileError(
            "nothing to do: no [gardens.NAME], and no rule with redact_older_than",
            place=(GARDENS,),
        )
    return GardensFile(
        gardens=tuple(
            _garden(name, value, holds=holds, place=(GARDENS, name))
            for name, value in section.items()
        ),
        holds=holds,
        retention=_retention(entry, rules) if rules else None,
    )


def only_planned(file: GardensFile) -> GardensFile:
    """The same gardens, and nothing that they would write is written."""
    gardens = tuple(
        msgspec.structs.replace(one, garden=msgspec.structs.replace(one.garden, dry_run=True))
        for one in file.gardens
    )
    retention = file.retention
    if retention is not None:
        retention = msgspec.structs.replace(retention, dry_run=True)
    return msgspec.structs.replace(file, gardens=gardens, retention=retention)


def _garden(name: str, value: Any, *, holds: Holds, place: Place) -> ScheduledGarden:
    if _NAME.fullmatch(name) is None or name == RETENTION:
        raise SettingsFileError(
            f"{name!r} names no garden: lower-case letters, digits, '.', '_' and '-',"
            f" and not {RETENTION!r}",
            place=place,
        )
    entry = _decode(value, GardenEntry, place=place)
    with mistakes_at((*place, "min_age_days")):
        garden = Garden(
            mounts=_mounts(entry, place=place),
            actor=f"gardener:{name}",
            min_age_days=entry.min_age_days,
            dry_run=entry.dry_run,
            holds=holds,
        )
    return ScheduledGarden(
        name=name,
        garden=garden,
        schedule=_schedule(entry, place=place),
        asks_model=entry.model,
    )


def _mounts(entry: GardenEntry, *, place: Place) -> MountTable:
    mounts: list[Mount] = []
    for number, mount in enumerate(entry.mounts):
        with mistakes_at((*place, "mounts", number)):
            mounts.append(mount_of(mount))
            # Said of the mount that repeats a path, not of the table as a whole.
            MountTable(tuple(mounts))
    with mistakes_at((*place, "mounts")):
        return MountTable(tuple(mounts))


def _schedule(entry: Times, *, place: Place) -> Schedule:
    if entry.cron is not None and entry.interval is not None:
        raise SettingsFileError("give cron or interval, not both", place=(*place, "cron"))
    with mistakes_at((*place, "jitter" if entry.cron is None else "cron")):
        schedule = Schedule(cron=entry.cron, jitter=entry.jitter)
    if entry.interval is None:
        return schedule
    with mistakes_at((*place, "interval")):
        return msgspec.structs.replace(schedule, interval=_interval(entry.interval))


def _interval(text: str) -> timedelta:
    found = _INTERVAL.fullmatch(text)
    if found is None or int(found["number"]) == 0:
        raise ValueError(f"not an interval: {text!r} (e.g. 24h, 30m or 7d)")
    return timedelta(**{_UNITS[found["unit"]]: int(found["number"])})


def _rules(entry: RetentionEntry) -> tuple[Holds, tuple[ErasureRule, ...]]:
    scopes: list[str] = []
    conversations: list[str] = []
    erasures: list[ErasureRule] = []
    for number, rule in enumerate(entry.rules):
        with mistakes_at((RETENTION, "rules", number)):
            _check_rule(rule)
            if rule.redact_older_than is not None:
                erasures.append(_erasure(rule, parse_duration(rule.redact_older_than)))
            elif rule.scope is not None:
                scopes.append(rule.scope)
            else:
                conversations.append(rule.conversations or "")
    return Holds(scopes=tuple(scopes), conversations=tuple(conversations)), tuple(erasures)


def _erasure(rule: RuleEntry, older_than: timedelta) -> ErasureRule:
    if rule.scope is not None:
        return ErasureRule(about="scope", prefix=rule.scope, older_than=older_than)
    return ErasureRule(prefix=rule.conversations or "", older_than=older_than)


def _check_rule(rule: RuleEntry) -> None:
    if (rule.scope is None) == (rule.conversations is None):
        raise ValueError("a rule is about scope or conversations, a prefix of either")
    if rule.hold == (rule.redact_older_than is not None):
        raise ValueError("a rule says redact_older_than or hold = true")


def _retention(entry: RetentionEntry, rules: tuple[ErasureRule, ...]) -> Retention:
    return Retention(
        rules=rules, schedule=_schedule(entry, place=(RETENTION,)), dry_run=entry.dry_run
    )


def _decode(value: Any, kind: type[Any], *, place: Place) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise located(str(error), place=place) from None
