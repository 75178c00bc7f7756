"""Tokens and money of a call (docs/reference/models.md, section 5)."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, TypeGuard

import msgspec

from commonhold.contract.model_errors import TokenUsage


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens, which are micro-dollars for one."""

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal

    def cost_micro_usd(self, usage: TokenUsage) -> int:
        """Rounded up, so that a report never says less than was spent."""
        exact = (
            usage.prompt_tokens * self.input_usd_per_million
            + usage.completion_tokens * self.output_usd_per_million
        )
        return int(exact.to_integral_value(rounding=ROUND_CEILING))


def read_usage(reported: Mapping[str, Any] | None) -> TokenUsage | None:
    """The counts of an answer; None when the server reports none that can be counted."""
    if reported is None:
        return None
    prompt, completion = reported.get("prompt_tokens"), reported.get("completion_tokens", 0)
    if not _is_count(prompt) or not _is_count(completion):
        return None
    total = reported.get("total_tokens")
    return TokenUsage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=total if _is_count(total) else prompt + completion,
    )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
