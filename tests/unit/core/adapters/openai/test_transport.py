"""A server that misbehaves in every way: one error, and what it says of trying again.

docs/reference/models.md, section 2.
"""

import asyncio
import gzip
import json
import ssl
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from pydantic import BaseModel

from commonhold.adapters.openai import OpenAiLlmProvider, openai_compatible
from commonhold.adapters.resilience import RetryPolicy, is_retryable, with_retry
from commonhold.contract.model_errors import ProviderTransportError
from commonhold.ops.settings import Secret
from tests.support.ports import free_port
from tests.support.scripted_model import (
    Step,
    closes_in_the_middle,
    completion,
    drips,
    hangs,
    hangs_after_the_head,
    pours,
    resets,
    says,
    scripted_model,
    talks_another_protocol,
)
from tests.support.steady_clocks import MovedClock
from tests.unit.core.adapters.openai.conftest import Serve

GOOD = completion('{"text": "x"}')
PAGE = b"<html><body>502 Bad Gateway</body></html>"
LIMIT = 64 * 1024


class Fact(BaseModel):
    text: str


async def _failure(serve: Serve, *steps: Step, **options: Any) -> ProviderTransportError:
    _, provider = await serve(*steps, **options)
    with pytest.raises(ProviderTransportError) as failed:
        await provider.extract("a secret of ours", Fact)
    assert "secret" not in str(failed.value)
    return failed.value


def _told(error: ProviderTransportError) -> tuple[bool, int | None]:
    return error.retryable, error.status


@pytest.mark.parametrize("step", [hangs, hangs_after_the_head, drips])
async def test_a_server_that_does_not_finish_is_left_in_time(serve: Serve, step: Step) -> None:
    error = await _failure(serve, step, timeout_seconds=0.3)
    assert _told(error) == (True, None)
    assert "no answer in time" in str(error)


@pytest.mark.parametrize("step", [resets, closes_in_the_middle, talks_another_protocol])
async def test_a_connection_that_breaks_may_be_tried_again(serve: Serve, step: Step) -> None:
    assert _told(await _failure(serve, step)) == (True, None)


async def test_a_certificate_that_is_not_trusted_stays_so() -> None:
    class Untrusting:
        def post(self, *_args: object, **_options: object) -> None:
            raise aiohttp.ClientConnectorCertificateError(
                connection_key=None,  # type: ignore[arg-type]  # only its name is told
                certificate_error=ssl.SSLCertVerificationError("self-signed"),
            )

    client: Any = Untrusting()
    provider = OpenAiLlmProvider(client, base_url="https://127.0.0.1/v1", model="tiny-1")
    with pytest.raises(ProviderTransportError, match="certificate is not trusted") as failed:
        await provider.extract("hello", Fact)
    assert _told(failed.value) == (False, None)


async def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    async with openai_compatible(
        base_url=f"http://127.0.0.1:{free_port()}/v1", model="tiny-1"
    ) as provider:
        with pytest.raises(ProviderTransportError, match="no answer") as failed:
            await provider.extract("hello", Fact)
    assert _told(failed.value) == (True, None)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_a_status_that_passes(serve: Serve, status: int) -> None:
    error = await _failure(serve, says(b"", status=status))
    assert _told(error) == (True, status)
    assert error.retry_after is None


@pytest.mark.parametrize("status", [201, 301, 307, 400, 401, 403, 404, 409, 413, 422])
async def test_a_status_that_stays(serve: Serve, status: int) -> None:
    error = await _failure(serve, says(GOOD, status=status, headers={"Location": "/elsewhere"}))
    assert _told(error) == (False, status)


async def test_a_redirect_is_not_followed(serve: Serve) -> None:
    model, provider = await serve(
        says(b"", status=307, headers={"Location": "/v1/chat/completions"}), says(GOOD)
    )
    with pytest.raises(ProviderTransportError):
        await provider.extract("hello", Fact)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Thursday, 01-Jan-26 00:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 00:00:30 -0000", 30.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
        ("-1", None),
        ("soon", None),
        ("1e9", None),
        ("inf", None),
        ("", None),
    ],
)
async def test_retry_after_is_read_in_both_forms(
    serve: Serve, header: str, seconds: float | None
) -> None:
    clock = MovedClock(start=datetime(2026, 1, 1, tzinfo=UTC))
    step = says(b"", status=429, headers={"Retry-After": header})
    assert (await _failure(serve, step, clock=clock)).retry_after == seconds


@pytest.mark.parametrize(
    "body",
    [
        PAGE,
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"choices": 7}',
        b'{"choices": [{"message": {"content": 7}}]}',
        json.dumps(GOOD).encode("utf-16"),
        json.dumps(completion('{"text": "é"}'), ensure_ascii=False).encode("latin-1"),
        b'{"choices": ' + b"[" * 100_000,
    ],
    ids=[
        "page",
        "nothing",
        "half",
        "null",
        "array",
        "no list",
        "number",
        "utf-16",
        "latin-1",
        "deep",
    ],
)
async def test_ll_16_a_body_that_is_no_completion(serve: Serve, body: bytes) -> None:
    error = await _failure(serve, says(body, headers={"Content-Type": "text/html"}))
    assert _told(error) == (True, 200)
    assert "not a chat completion" in str(error)


async def test_a_completion_under_another_content_type_is_one(serve: Serve) -> None:
    _, provider = await serve(says(GOOD, headers={"Content-Type": "text/plain; charset=latin-1"}))
    assert await provider.extract("hello", Fact) == Fact(text="x")


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"message": "overloaded", "code": 503}, True),
        ({"message": "no credit", "code": 402}, False),
        ({"message": "bad", "code": "invalid_request"}, False),
        ("bad", False),
    ],
)
async def test_an_error_in_place_of_a_completion(
    serve: Serve, error: object, *, retryable: bool
) -> None:
    failure = await _failure(serve, says({"error": error}))
    assert _told(failure) == (retryable, 200)


async def test_an_answer_without_end_is_cut(serve: Serve) -> None:
    model, provider = await serve(pours, answer_limit_bytes=LIMIT)
    with pytest.raises(ProviderTransportError, match=f"longer than {LIMIT} bytes") as failed:
        await provider.extract("hello", Fact)
    assert _told(failed.value) == (False, 200)
    await asyncio.wait_for(model.abandoned.wait(), 20)


async def test_a_compressed_answer_is_measured_as_it_unfolds(serve: Serve) -> None:
    bomb = gzip.compress(b" " * (8 * 1024 * 1024))
    step = says(bomb, headers={"Content-Encoding": "gzip"})
    error = await _failure(serve, step, answer_limit_bytes=LIMIT)
    assert "longer than" in str(error)


async def test_an_answer_at_the_limit_is_read(serve: Serve) -> None:
    body = json.dumps(GOOD).encode().ljust(LIMIT)
    _, provider = await serve(says(body), answer_limit_bytes=LIMIT)
    assert await provider.extract("hello", Fact) == Fact(text="x")


async def test_ll_18_a_cancellation_passes_and_closes_the_request(serve: Serve) -> None:
    model, provider = await serve(hangs)
    task = asyncio.create_task(provider.extract("hello", Fact))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(model.abandoned.wait(), 20)


async def test_text_that_no_request_can_carry_is_refused_by_name(serve: Serve) -> None:
    model, provider = await serve(says(GOOD))
    with pytest.raises(ValueError, match="'text'"):
        await provider.extract("a\ud800b", Fact)
    with pytest.raises(ValueError, match="'system_prompt'"):
        await provider.extract("hello", Fact, system_prompt="a\ud800b")
    assert model.requests == []


async def test_retry_carries_a_call_over_a_bad_minute(serve: Serve) -> None:
    model, provider = await serve(
        resets,
        says(b"", status=503),
        says(b"", status=429, headers={"Retry-After": "9"}),
        says(GOOD),
    )
    delays: list[float] = []

    async def sleeper(seconds: float) -> None:
        delays.append(seconds)

    retrying = with_retry(is_retryable, RetryPolicy(jitter=0), sleeper=sleeper)
    assert await retrying(provider.extract)("hello", Fact) == Fact(text="x")
    assert delays == [1.0, 2.0, 9.0]
    assert len(model.requests) == 4


async def test_the_key_is_sent_and_never_told(serve: Serve) -> None:
    model, provider = await serve(says(b"", status=401), api_key=Secret("sk-hidden"))
    with pytest.raises(ProviderTransportError) as failed:
        await provider.extract("hello", Fact)
    assert model.requests[0].headers["authorization"] == "Bearer sk-hidden"
    assert "hidden" not in repr(failed.value) + repr(vars(provider)).replace("Bearer sk-hidden", "")


async def test_an_own_session_is_closed_and_a_given_one_is_not() -> None:
    async with scripted_model(says(GOOD)) as model, aiohttp.ClientSession() as session:
        async with OpenAiLlmProvider(session, base_url=model.base_url, model="tiny-1") as borrowing:
            await borrowing.extract("hello", Fact)
        assert not session.closed
        async with openai_compatible(base_url=model.base_url, model="tiny-1") as owning:
            await owning.extract("hello", Fact)
            own = owning._client
        assert own is not None
        assert own.closed
        await owning.close()
        with pytest.raises(RuntimeError, match="closed"):
            await owning.extract("hello", Fact)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"base_url": "127.0.0.1:8080/v1"}, "base_url must be an address"),
        ({"base_url": "ftp://host/v1"}, "base_url must be an address"),
        ({"base_url": "http://"}, "base_url must be an address"),
        ({"base_url": "http://user:secret@host/v1"}, "base_url must not hold credentials"),
        ({"base_url": "http://host/v1?key=secret"}, "base_url must end with its path"),
        ({"model": " "}, "model must not be blank"),
        ({"timeout_seconds": 0}, "timeout_seconds must be positive"),
        ({"api_key": Secret("a\r\nb")}, "api_key must be printable ASCII"),
    ],
)
def test_what_cannot_be_called_is_refused_at_construction(
    options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint) as refused:
        openai_compatible(**{"base_url": "http://host/v1", "model": "tiny-1", **options})
    assert "secret" not in str(refused.value)
