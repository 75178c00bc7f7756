"""How a store deals with its service: time, repetition, and what it will hold."""

import msgspec


class RemoteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Every wait has its end here.

    `timeout_seconds` bounds one exchange, from the connection to the last byte, with all its
    attempts and the pauses between them; `patient_seconds` does so for erasures and restores,
    which must finish. With `retries` reads are repeated, and mutations too where the service
    keeps idempotency keys; without any no key is sent, which is less work for the service.
    """

    timeout_seconds: float = 30.0
    patient_seconds: float = 600.0
    connect_seconds: float = 5.0
    retries: int = 2
    pause_seconds: float = 0.1
    longest_pause_seconds: float = 2.0
    answer_limit_bytes: int = 128 * 1024 * 1024
    connections: int = 100

    def __post_init__(self) -> None:
        for name in ("timeout_seconds", "patient_seconds", "connect_seconds", "connections"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")


DEFAULT_OPTIONS = RemoteOptions()
