"""What a service does to a call beside answering and refusing it.

No message quotes an answer: it may hold what was stored.
"""

from commonhold.contract.errors import CommonholdError, StoreUnavailableError


class ServiceAwayError(StoreUnavailableError):
    """No answer, half of one, or one that asks to come back.

    `repeats` says whether asking again soon is worth it, `retry_after` how long the service
    asked to be left alone, in seconds.
    """

    def __init__(
        self, reason: str, *, repeats: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.repeats = repeats
        self.retry_after = retry_after


class UnexpectedAnswerError(CommonholdError):
    """An answer that is none of wire 6: what answers there is something else, or is broken.

    The outcome of a mutation is unknown. `status` is None where there was not even one.
    """

    def __init__(self, *, url: str, route: str, fault: str, status: int | None = None) -> None:
        super().__init__(f"{url} answered {route} with {fault}")
        self.url = url
        self.route = route
        self.status = status
