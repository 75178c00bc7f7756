"""Rate limit, circuit breaker and retry: what stands between a caller and a remote model.

They need a cache and nothing of the network, and default to one in memory
(docs/reference/cache.md, sections 6 to 9).
"""

from commonhold.adapters.resilience.circuits import CircuitBreaker
from commonhold.adapters.resilience.rate_limits import RateLimiter
from commonhold.adapters.resilience.retries import (
    NO_RETRIES,
    RetryPolicy,
    is_retryable,
    with_retry,
)

__all__ = [
    "NO_RETRIES",
    "CircuitBreaker",
    "RateLimiter",
    "RetryPolicy",
    "is_retryable",
    "with_retry",
]
