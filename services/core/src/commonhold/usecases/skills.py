"""The skills of a caller: which there are, and one whole (docs/reference/memory-tool.md, 14)."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from commonhold.contract.documents import MemoryDocument
from commonhold.contract.stores import MemoryReader
from commonhold.usecases.built_in_skills import BUILT_IN_SKILLS
from commonhold.usecases.envelopes import ToolResult, succeed
from commonhold.usecases.failures import CommandError, answer_failure
from commonhold.usecases.mounts import Mount, MountTable
from commonhold.usecases.skill_files import SkillFile, SkillFileError, parse_skill
from commonhold.usecases.virtual_paths import Place, resolve, virtual_path

_PREFIX = "skills/"


class SkillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list: a description, or the error that keeps the document from being one.

    Built-in skills have neither path nor version.
    """

    name: str
    description: str | None = None
    error: str | None = None
    path: str | None = None
    version: int | None = None

    def fields(self) -> dict[str, Any]:
        return {
            name: value for name, value in msgspec.structs.asdict(self).items() if value is not None
        }


async def list_skills(documents: MemoryReader, table: MountTable) -> ToolResult:
    """A JSON array of the skills, by mount and path, then the built-in ones."""
    try:
        rows = await read_skills(documents, table)
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure("list_skills", error, changes=False)
    return succeed(json.dumps([row.fields() for row in rows]), hint=_authoring_hint(table))


async def load_skill(documents: MemoryReader, table: MountTable, name: str) -> ToolResult:
    """The body of a skill, by its virtual path or by its name; the first of a name counts."""
    try:
        return await _load_skill(documents, table, name)
    except Exception as error:  # noqa: BLE001 - the outermost frame of a tool: all is answered
        return answer_failure("load_skill", error, changes=False)


async def read_skills(documents: MemoryReader, table: MountTable) -> list[SkillRow]:
    rows = [
        _row(place, document)
        for mount in table.mounts
        async for place, document in _skill_documents(documents, mount)
    ]
    built_in = [
        SkillRow(name=name, description=skill.description)
        for name, skill in BUILT_IN_SKILLS.items()
    ]
    return rows + built_in


async def find_skill(documents: MemoryReader, table: MountTable, name: str) -> SkillFile | None:
    """The first valid skill at a virtual path or of a name; documents that are none do not count.

    Raises PathInvalidError when the path leads nowhere.
    """
    for place in _places(table, name):
        document = await documents.read(place.scope, place.document_path)
        if document is None or document.redacted:
            continue
        try:
            return _parse(place, document)
        except SkillFileError:
            continue
    return BUILT_IN_SKILLS.get(name)


async def _skill_documents(
    documents: MemoryReader, mount: Mount
) -> AsyncIterator[tuple[Place, MemoryDocument]]:
    for entry in await documents.list_documents(mount.scope, prefix=_PREFIX):
        if entry.redacted or not _is_skill_path(entry.path):
            continue
        document = await documents.read(mount.scope, entry.path)
        if document is not None and not document.redacted:
            yield Place(mount, entry.path), document


def _row(place: Place, document: MemoryDocument) -> SkillRow:
    name = place.document_path.removeprefix(_PREFIX)
    try:
        skill = _parse(place, document)
    except SkillFileError as error:
        return SkillRow(name=name, error=str(error), path=str(place), version=document.version)
    return SkillRow(
        name=name,
        description=skill.description,
        path=str(place),
        version=document.version,
    )


async def _load_skill(documents: MemoryReader, table: MountTable, name: str) -> ToolResult:
    for place in _places(table, name):
        document = await documents.read(place.scope, place.document_path)
        if document is not None and not document.redacted:
            return _loaded(place, document)
    if name in BUILT_IN_SKILLS:
        return succeed(BUILT_IN_SKILLS[name].body)
    available = dict.fromkeys(
        row.name for row in await read_skills(documents, table) if row.error is None
    )
    raise CommandError(
        f"Skill {name!r} not found", hint=f"Available skills: {', '.join(available)}"
    )


def _places(table: MountTable, name: str) -> Sequence[Place]:
    """Where a skill may be: at its virtual path alone, or under its name in every mount."""
    if name.startswith("/"):
        place = resolve(table, name)
        return [place] if _is_skill_path(place.document_path) else []
    if "/" in name:
        return []
    return [Place(mount, f"{_PREFIX}{name}") for mount in table.mounts]


def _loaded(place: Place, document: MemoryDocument) -> ToolResult:
    where = f"{place} (version {document.version})"
    try:
        skill = _parse(place, document)
    except SkillFileError as error:
        raise CommandError(str(error), hint=f"Fix {where} with str_replace.") from error
    return succeed(skill.body, hint=where)


def _parse(place: Place, document: MemoryDocument) -> SkillFile:
    name = place.document_path.removeprefix(_PREFIX)
    return parse_skill(document.content, name=name, where=str(place))


def _is_skill_path(document_path: str) -> bool:
    return document_path.startswith(_PREFIX) and "/" not in document_path.removeprefix(_PREFIX)


def _authoring_hint(table: MountTable) -> str | None:
    writable = [mount for mount in table.mounts if not mount.read_only]
    if not writable:
        return None
    mount = next((mount for mount in writable if mount.is_open), writable[0])
    address = virtual_path(mount, f"{_PREFIX}<name>")
    return (
        f"To add a skill, create {address} with a frontmatter that has a description, then the "
        "instructions; revise it with str_replace."
    )
