"""Messages and their codec (docs/reference/stores.md, section 6).

A message is decoded once, at the door, into records whose JSON form is the wire's own
key for key, so that what is stored comes back as it was sent: key order and numbers
inside `arguments` and `extra` included.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


class TextBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """Exactly one of `data` (base64, with a `media_type`) and `url`."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class DocumentBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="document"):
    """Exactly one of `data` (base64, with a `media_type`) and `url`."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class CompactionBlock(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"
):
    content: str | None = None
    encrypted_content: str | None = None


ContentBlock: TypeAlias = TextBlock | ImageBlock | DocumentBlock | CompactionBlock


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """`extra` is UNSET when there is none: the key is then absent from the JSON form."""

    id: str
    name: str
    arguments: Mapping[str, Any] = {}
    extra: Any = UNSET


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """`extra` is UNSET when there is none: the key is then absent from the JSON form."""

    role: Role
    content: str | tuple[ContentBlock, ...] | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    extra: Any = UNSET


_encoder = msgspec.json.Encoder()
_stored = msgspec.json.Decoder(tuple[Message, ...])
_objects = msgspec.json.Decoder(list[dict[str, Any]])


def decode_message(raw: Mapping[str, Any]) -> Message:
    """One message from its JSON object; unknown keys are dropped.

    Raises ValueError with the literals of docs/reference/stores.md, section 6.
    """
    if "role" not in raw:
        raise ValueError("malformed request: 'role'")
    role = raw["role"]
    _require_role(role)
    return Message(
        role=role,
        content=_decode_content(raw.get("content")),
        reasoning=_optional_text(raw, "reasoning", "message"),
        tool_calls=_decode_tool_calls(raw.get("tool_calls")),
        tool_call_id=_optional_text(raw, "tool_call_id", "message") or None,
        extra=raw.get("extra") or UNSET,
    )


def decode_messages(raw: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Each message in order; the first bad one is refused as by `decode_message`."""
    return tuple(decode_message(item) for item in raw)


def encode_messages(messages: tuple[Message, ...]) -> bytes:
    """The stored form: a compact UTF-8 JSON array, read back by `load_messages`."""
    return _encoder.encode(messages)


def load_messages(stored: str | bytes) -> tuple[Message, ...]:
    """Messages from their stored form, or from whatever else the codec takes.

    Raises the ValueError of `decode_message`, or msgspec's for no array of objects.
    """
    try:
        return settle_messages(_stored.decode(stored))
    except msgspec.ValidationError:
        # Not as this release stores it: another program's null for an empty list, or a fault
        # that the codec has a name for.
        return decode_messages(_objects.decode(stored))


def message_fault(error: Exception) -> str:
    """What is wrong with a row whose messages `load_messages` refused."""
    if isinstance(error, msgspec.MsgspecError | RecursionError):
        return "has no message array"
    return f"has a malformed message: {error}"


def settle_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Messages made by hand, in the form in which `decode_message` would have given them.

    Every store keeps that form and no other. Raises ValueError for a role or a block that the
    codec refuses.
    """
    return tuple(map(_settled, messages))


def _settled(message: Message) -> Message:
    _require_role(message.role)
    content = message.content
    if content is not None and not isinstance(content, str):
        content = tuple(map(_settled_block, content))
    if (
        content == message.content
        and message.tool_call_id != ""
        and not _has_empty_extra(message)
        and not any(map(_has_empty_extra, message.tool_calls))
    ):
        return message
    return msgspec.structs.replace(
        message,
        content=content,
        tool_calls=tuple(map(_without_empty_extra, message.tool_calls)),
        tool_call_id=message.tool_call_id or None,
        extra=message.extra or UNSET,
    )


def _settled_block(block: ContentBlock) -> ContentBlock:
    if not isinstance(block, ImageBlock | DocumentBlock):
        return block
    media_type, data, url = _settled_source(
        block.media_type, block.data, block.url, type(block).__name__
    )
    return msgspec.structs.replace(block, media_type=media_type, data=data, url=url)


def _has_empty_extra(value: Message | ToolCall) -> bool:
    return value.extra is not UNSET and not value.extra


def _without_empty_extra(call: ToolCall) -> ToolCall:
    return msgspec.structs.replace(call, extra=UNSET) if _has_empty_extra(call) else call


def _require_role(role: Any) -> None:
    if role not in ROLES:
        raise ValueError(f"{role!r} is not a valid Role")


def _decode_content(raw: Any) -> str | tuple[ContentBlock, ...] | None:
    if raw is None or isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        raise ValueError("message parameter 'content' must be a string, null or a list of blocks")
    return tuple(_decode_block(block) for block in raw)


def _decode_block(raw: Any) -> ContentBlock:
    if not isinstance(raw, dict):
        raise ValueError("content block must be an object")
    kind = raw.get("type")
    decode = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if decode is None:
        raise ValueError(f"Unknown content block type: {kind!r}")
    return decode(raw)


def _decode_text_block(raw: Mapping[str, Any]) -> TextBlock:
    if "text" not in raw:
        raise ValueError("malformed request: 'text'")
    text = raw["text"]
    if not isinstance(text, str):
        raise ValueError("content block parameter 'text' must be a string")
    return TextBlock(text=text)


def _decode_image_block(raw: Mapping[str, Any]) -> ImageBlock:
    media_type, data, url = _decode_source(raw, "ImageBlock")
    return ImageBlock(media_type=media_type, data=data, url=url)


def _decode_document_block(raw: Mapping[str, Any]) -> DocumentBlock:
    media_type, data, url = _decode_source(raw, "DocumentBlock")
    return DocumentBlock(media_type=media_type, data=data, url=url)


def _decode_source(raw: Mapping[str, Any], block: str) -> tuple[str | None, str | None, str | None]:
    media_type = _optional_text(raw, "media_type", "content block")
    data = _optional_text(raw, "data", "content block")
    url = _optional_text(raw, "url", "content block")
    return _settled_source(media_type, data, url, block)


def _settled_source(
    media_type: str | None, data: str | None, url: str | None, block: str
) -> tuple[str | None, str | None, str | None]:
    if (data is None) == (url is None):
        raise ValueError(f"{block} requires exactly one of 'data' or 'url'")
    if data is None:
        return media_type, None, url
    if media_type is None:
        raise ValueError(f"{block} requires media_type with base64 data")
    return media_type, "".join(data.split()), None


def _decode_compaction_block(raw: Mapping[str, Any]) -> CompactionBlock:
    return CompactionBlock(
        content=_optional_text(raw, "content", "content block"),
        encrypted_content=_optional_text(raw, "encrypted_content", "content block"),
    )


_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], ContentBlock]] = {
    "text": _decode_text_block,
    "image": _decode_image_block,
    "document": _decode_document_block,
    "compaction": _decode_compaction_block,
}


def _decode_tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise ValueError("message parameter 'tool_calls' must be a list of objects")
    return tuple(_decode_tool_call(item) for item in raw)


def _decode_tool_call(raw: Mapping[str, Any]) -> ToolCall:
    arguments = raw.get("arguments")
    call = {name: _required_call_text(raw, name) for name in ("id", "name")}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ValueError("tool call parameter 'arguments' must be an object")
    return ToolCall(
        id=call["id"], name=call["name"], arguments=arguments, extra=raw.get("extra") or UNSET
    )


def _required_call_text(raw: Mapping[str, Any], name: str) -> str:
    if name not in raw:
        raise ValueError(f"malformed request: {name!r}")
    value = raw[name]
    if not isinstance(value, str):
        raise ValueError(f"tool call parameter {name!r} must be a string")
    return value


def _optional_text(raw: Mapping[str, Any], name: str, where: str) -> str | None:
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{where} parameter {name!r} must be a string")
    return value
