"""What `tools/list` says of each tool: name, description, schema, annotations.

docs/reference/mcp.md, section 6. Descriptions stay under 1024 characters, since some
providers cut them there.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


def _required(kind: str, description: str) -> dict[str, Any]:
    return {"type": kind, "description": description}


def _optional(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {
        "anyOf": [{**more, "type": kind}, {"type": "null"}],
        "default": None,
        "description": description,
    }


def _object(properties: Json, *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return {**schema, "properties": dict(properties)}


def _tool(
    name: str,
    *,
    description: str,
    schema: Json,
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
) -> Json:
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": repeats,
            "openWorldHint": False,
        },
    }


MEMORY = _tool(
    "memory",
    description=(
        "A persistent directory of text documents that outlives this conversation. Paths are"
        " /{mount}/{document}; the mounts and their documents are in the index that `view` of /"
        " shows. Look at the index first, then read what matters with view. Commands: view (the"
        " index, a directory, or a document with numbered lines), create (a new document, or one"
        " replaced whole), str_replace (one exact occurrence), insert (text after a line), delete,"
        " rename. Keep documents small and on one topic; update rather than duplicate; never store"
        " secrets."
    ),
    schema=_object(
        {
            "command": {
                "enum": list(COMMANDS),
                "type": "string",
                "description": "What to do.",
            },
            "path": _optional(
                "string", "The document, as /{mount}/{document}; of view also a directory or /."
            ),
            "view_range": _optional(
                "array",
                "Of view: first and last line, counted from 1; -1 is the end.",
                items={"type": "integer"},
            ),
            "content": _optional("string", "Of create: the whole text."),
            "file_text": _optional("string", "Of create: another name for content."),
            "old_str": _optional("string", "Of str_replace: text that occurs exactly once."),
            "new_str": _optional("string", "Of str_replace: what takes its place; may be empty."),
            "insert_line": _optional("integer", "Of insert: the line to insert after; 0: the top."),
            "insert_text": _optional("string", "Of insert: the lines to insert."),
            "old_path": _optional("string", "Of rename: the document as it is called now."),
            "new_path": _optional("string", "Of rename: what it will be called."),
        },
        required=("command",),
    ),
    destroys=True,
)

LIST_SKILLS = _tool(
    "list_skills",
    description=(
        "Lists the skills: instructions for a kind of task, kept as documents under skills/ of a"
        " mount. A JSON array of name, description, path and version; an entry with an error"
        " cannot be loaded until its document is mended. Read one with load_skill before doing a"
        " task that it is about."
    ),
    schema=_object({}),
    reads=True,
    repeats=True,
)

LOAD_SKILL = _tool(
    "load_skill",
    description=(
        "Reads the instructions of one skill: a document under skills/ that tells how to do a kind"
        " of task. Takes the name that list_skills shows, or a path /{mount}/skills/{name} when"
        " two mounts have a skill of one name."
    ),
    schema=_object(
        {"name": _required("string", "A name of list_skills, or /{mount}/skills/{name}.")},
        required=("name",),
    ),
    reads=True,
    repeats=True,
)

_CONVERSATION = "The id of the conversation."

RECALL_TURN = _tool(
    "recall_turn",
    description=(
        "Shows one turn of an earlier conversation word for word. Turn numbers are those in"
        " brackets at the head of log lines, in hits of search_history and in documents under"
        " sessions/. Long results of calls are shortened: call=<id> opens one of them whole. A"
        " handle [link <id>:N] in a log line stands for a long address in conversation <id>;"
        " recall the turn to read it in full."
    ),
    schema=_object(
        {
            "turn": _required("integer", "The number in brackets."),
            "conversation": _required("string", _CONVERSATION),
            "call": _optional("string", "The id of one call of the turn, to see its whole result."),
        },
        required=("turn", "conversation"),
    ),
    reads=True,
    repeats=True,
)

SEARCH_HISTORY = _tool(
    "search_history",
    description=(
        "Finds turns of earlier conversations by their words, newest first. Every term of the"
        " query, split at blanks, must occur in the turn as a substring, whatever its case: in what"
        " was said, in a call's name and arguments, or in its result. Shows 10 hits unless limit"
        " says otherwise, at most 50. Open a hit with recall_turn."
    ),
    schema=_object(
        {
            "query": _required("string", "Terms that must all occur."),
            "conversation": _optional("string", "Only this conversation."),
            "limit": {
                "default": 10,
                "type": "integer",
                "description": "The most hits to show, up to 50.",
            },
        },
        required=("query",),
    ),
    reads=True,
    repeats=True,
)

CONTINUE_SESSION = _tool(
    "continue_session",
    description=(
        "Brings earlier work back so that it can be carried on: the pending handoff note, the"
        " newest turns word for word, and a log of the older ones. Call it only when the user asks"
        " to continue earlier work, never for new work. Without arguments it takes what the note"
        " names, or the newest session."
    ),
    schema=_object(
        {
            "conversation": _optional("string", "The conversation to continue."),
            "session": _optional("string", "The id of this very session, when you know it."),
        }
    ),
)

HANDOFF = _tool(
    "handoff",
    description=(
        "Leaves a note for the next session, for when work stops before it is done. A good note"
        " holds the aim, what is done and where it is, what was tried in vain, the next step, and"
        " what waits for an answer; it refers to turns by their numbers in brackets. Under 2048"
        " characters. There is one note a scope: a new one takes the place of the one before."
    ),
    schema=_object(
        {"note": _required("string", "The note, under 2048 characters.")}, required=("note",)
    ),
    destroys=True,
)
