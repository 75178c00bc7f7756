"""Legal holds: what retention must not erase and maintenance must not touch."""

import msgspec


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """Scopes and conversations by prefix, as plain text.

    A prefix reaches further than a name (`chat-1` holds `chat-10` too): a hold that holds
    too much can be mended, one that holds too little cannot. An empty prefix holds all.
    """

    scopes: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()

    def holds_scope(self, scope: str) -> bool:
        return scope.startswith(self.scopes)

    def holds_conversation(self, conversation_id: str) -> bool:
        return conversation_id.startswith(self.conversations)


NO_HOLDS = Holds()
