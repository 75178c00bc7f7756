"""What RemoteStore adds to a call, beside a bare aiohttp client that sends the same requests.

One call at a time and both clients in one process, in turns of a few calls, so that neither
meets another machine than the other.
"""

import asyncio
import secrets
from collections.abc import Mapping
from statistics import median

import aiohttp
import msgspec

from bench import names, texts
from bench.context import Bench
from bench.findings import Finding, Report, Target
from bench.summaries import Round, side_of
from bench.turns import Call, in_turns
from bench.wire import TOKEN
from commonhold.adapters.remote import RemoteStore, remote_store
from commonhold.ops.settings import Secret

SCOPE = 900_000
_ADDED = Target(at_most=1.25)
_BARE, _STORE = "bare client", "RemoteStore"


def calls(bench: Bench) -> Report:
    """Reads, and writes under a key, of a document of 1 KiB."""
    findings, rounds = asyncio.run(_measure(bench))
    return Report(case="remote", findings=findings, rounds=rounds)


async def _measure(bench: Bench) -> tuple[list[Finding], list[Round]]:
    url = f"http://127.0.0.1:{bench.service.port}"
    findings: list[Finding] = []
    kept: list[Round] = []
    async with (
        remote_store(url, Secret(TOKEN)) as store,
        aiohttp.ClientSession(headers={"authorization": f"Bearer {TOKEN}"}) as session,
    ):
        for name, bare, ours in _pairs(url, session, store):
            await bare()
            rounds = [
                one
                for number in range(bench.scale.flat_rounds)
                for one in await in_turns({_BARE: bare, _STORE: ours}, number=number, bench=bench)
            ]
            findings.append(_added(name, rounds))
            kept += rounds
    return findings, kept


def _pairs(
    url: str, session: aiohttp.ClientSession, store: RemoteStore
) -> tuple[tuple[str, Call, Call], ...]:
    scope, path = names.scope(SCOPE), names.path(0)
    content = texts.content(texts.CONTENT_BYTES)
    read = msgspec.json.encode({"scope": scope, "path": path})
    written = {"scope": scope, "path": path, "content": content, "actor": None}
    write = msgspec.json.encode({**written, "expected_version": None})

    async def post(route: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        async with session.post(f"{url}/v1/{route}", data=body, headers=headers) as answer:
            answer.raise_for_status()
            return await answer.read()

    def keyed() -> Mapping[str, str]:
        return {"idempotency-key": secrets.token_hex(16)}

    return (
        (
            "writes",
            lambda: post("memory/write", write, keyed()),
            lambda: store.write(scope, path, content),
        ),
        ("reads", lambda: post("memory/read", read, {}), lambda: store.read(scope, path)),
    )


def _added(name: str, rounds: list[Round]) -> Finding:
    bare, ours = side_of(rounds, _BARE), side_of(rounds, _STORE)
    halves = ([one.p50_ms or 0.0 for one in rounds if one.side == side] for side in (_STORE, _BARE))
    return Finding(
        what=f"remote: {name} through RemoteStore / a bare client, latency",
        value=median(one / other for one, other in zip(*halves, strict=True)),
        target=_ADDED,
        notes=f"p50 {ours.p50_ms:.3f} ms and {bare.p50_ms:.3f} ms, one call at a time",
    )
