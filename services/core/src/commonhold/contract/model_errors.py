"""What can go wrong with a call of a model (docs/reference/models.md, section 4).

They never cross the wire. A message never quotes the text that was sent; what an answer
said stands in an attribute, or in at most 200 characters of the message where noted.
"""

import msgspec

from commonhold.contract.errors import CommonholdError

_EXCERPT_CHARACTERS = 200


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the server reports them; reasoning is part of the completion."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What a call took, by the server's report. The cost is None without usage or prices."""

    model: str
    usage: TokenUsage | None
    cost_micro_usd: int | None


class KnowledgeError(CommonholdError):
    """The root of what models and the state around them refuse."""

    code = "knowledge_error"


class LlmProviderError(KnowledgeError):
    """Any failure of a language model. `spend` is set when the server billed the call."""

    code = "llm_error"

    def __init__(self, message: str, *, model: str, spend: Spend | None = None) -> None:
        super().__init__(f"[{model}] {message}")
        self.model = model
        self.spend = spend


class EmptyCompletionError(LlmProviderError):
    """An answer without usable content."""

    code = "llm_empty"

    def __init__(
        self, *, model: str, finish_reason: str | None, spend: Spend | None = None
    ) -> None:
        super().__init__(
            f"the answer has no content (finish reason {finish_reason!r})",
            model=model,
            spend=spend,
        )
        self.finish_reason = finish_reason


class TruncatedCompletionError(EmptyCompletionError):
    """The answer was cut off at the token limit, so that nothing of it is used."""

    code = "llm_truncated"

    def __init__(self, *, model: str, spend: Spend | None = None) -> None:
        super().__init__(model=model, finish_reason="length", spend=spend)


class RefusedCompletionError(LlmProviderError):
    """The model refused, or a content filter did. Asking again does not help."""

    code = "llm_refused"

    def __init__(self, *, model: str, spend: Spend | None = None) -> None:
        super().__init__("the model refused to answer", model=model, spend=spend)


class MalformedCompletionError(LlmProviderError):
    """A JSON object that does not fit the schema; `cause` says where, and may quote it."""

    code = "llm_malformed"

    def __init__(self, *, model: str, schema: str, cause: str, spend: Spend | None = None) -> None:
        self.schema = schema
        self.cause = cause
        super().__init__(self._told(), model=model, spend=spend)

    def _told(self) -> str:
        return f"the answer does not fit the schema {self.schema}"


class UnstructuredCompletionError(MalformedCompletionError):
    """Not a JSON object at all: the server most likely ignored the response format.

    The message shows at most 200 characters of it.
    """

    code = "llm_unstructured"

    def __init__(
        self, *, model: str, schema: str, content: str, spend: Spend | None = None
    ) -> None:
        self.content = content
        super().__init__(model=model, schema=schema, cause="not a JSON object", spend=spend)

    def _told(self) -> str:
        shown = self.content[:_EXCERPT_CHARACTERS]
        return f"the answer is not a JSON object for the schema {self.schema}: {shown!r}"


class ProviderTransportError(LlmProviderError):
    """No answer of the model: connection, time limit, HTTP status, or not its protocol.

    `retryable` says whether the same call may fare better later, and `retry_after`, in
    seconds, when at the earliest the server said.
    """

    code = "llm_transport"

    def __init__(
        self,
        message: str,
        *,
        model: str,
        retryable: bool,
        status: int | None = None,
        retry_after: float | None = None,
        spend: Spend | None = None,
    ) -> None:
        super().__init__(message, model=model, spend=spend)
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after


class RateLimitExceeded(KnowledgeError):  # noqa: N818 - the name of the contract
    """The window is full; `retry_after` seconds until a place is free."""

    code = "rate_limit_exceeded"
    retryable = True

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpen(KnowledgeError):  # noqa: N818 - the name of the contract
    """The breaker refused the call; `retry_after` seconds until it lets one through."""

    code = "circuit_open"
    retryable = True

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RetryExhausted(KnowledgeError):  # noqa: N818 - the name of the contract
    """Every attempt failed; the last failure is the cause."""

    code = "retry_exhausted"

    def __init__(self, message: str, *, attempts: int) -> None:
        super().__init__(message)
        self.attempts = attempts
