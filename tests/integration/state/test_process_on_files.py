"""The program over a directory of files: the same wire, on one machine."""

import json
import signal
from pathlib import Path

import pytest

from tests.support.raw_http import request_bytes
from tests.support.service_process import TOKEN, ServiceProcess
from tests.support.state_process import post, rooted_process, state_process

READ = {"scope": "u:a", "path": "p"}
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}


async def ask_capabilities(service: ServiceProcess) -> tuple[str | None, dict[str, object]]:
    """What the service says of idempotency, and its capabilities."""
    async with await service.connect() as connection:
        request = request_bytes("GET", "/v1/capabilities", headers=AUTHORIZED)
        answer = await connection.ask(request)
    return answer.header("commonhold-idempotency"), json.loads(answer.text)


async def test_it_serves_a_directory(tmp_path: Path) -> None:
    async with rooted_process(tmp_path) as service:
        await service.until_ops("/readyz", status=200)
        assert (await post(service, "memory/write", {**READ, "content": "x"})).status == 200
        document = json.loads((await post(service, "memory/read", READ)).text)["document"]
        assert (document["content"], document["actor"]) == ("x", "client:default")
        assert (tmp_path / "u%3Aa/documents/p.md").read_text().endswith("---\nx")
        metrics = (await service.ops("/metrics")).text
        write = 'route="/v1/memory/write",service="state"'
        assert f'commonhold_http_requests_total{{{write},status="200"}} 1.0' in metrics
        for absent in ("pool_connections", "database_up", "idempotent_replays"):
            assert f"commonhold_{absent}" not in metrics
        service.signal(signal.SIGTERM)
        assert await service.exit_status() == 0
        assert [event["root"] for event in service.events("ready")] == [str(tmp_path)]


async def test_it_says_what_files_can_and_keeps_no_keys(tmp_path: Path) -> None:
    async with rooted_process(tmp_path) as service:
        await service.until_ops("/readyz", status=200)
        advertised, capabilities = await ask_capabilities(service)
        assert advertised is None
        assert capabilities == {
            "wire_version": 6,
            "neosian_version": "2.0.0",
            "backend": "FileStore",
            "supports_optimistic_concurrency": True,
            "pageable": True,
            "erasable": True,
            "client": "client:default",
        }
        body = json.dumps({**READ, "content": "x"}).encode()
        async with await service.connect() as connection:
            headers = {**AUTHORIZED, "idempotency-key": "k"}
            refused = await connection.ask(
                request_bytes("POST", "/v1/memory/write", headers=headers, body=body)
            )
        assert (refused.status, json.loads(refused.text)["error"]) == (
            400,
            {
                "code": "value_error",
                "message": "FileStore keeps no idempotency keys",
                "details": {},
            },
        )
        assert json.loads((await post(service, "memory/read", READ)).text) == {"document": None}


async def test_a_broken_file_is_named_in_the_log_and_not_on_the_wire(tmp_path: Path) -> None:
    documents = tmp_path / "u%3Aa/documents"
    documents.mkdir(parents=True)
    (documents / "p.md").write_text("no fence")
    async with rooted_process(tmp_path) as service:
        await service.until_ops("/readyz", status=200)
        answer = await post(service, "memory/read", READ)
        assert (answer.status, json.loads(answer.text)["error"]["code"]) == (
            400,
            "memory_format_unsupported",
        )
        assert "p.md" not in answer.text
        assert (
            await post(service, "memory/write", {**READ, "path": "q", "content": "x"})
        ).status == 200
        clash = await post(service, "memory/write", {**READ, "path": "q.md/b", "content": "x"})
        assert json.loads(clash.text)["error"]["details"]["reason"] == "layout_clash"
        assert (
            'commonhold_conflicts_total{reason="layout_clash"} 1.0'
            in (await service.ops("/metrics")).text
        )
        named = [(event["file"], event["line"]) for event in service.events("file_refused")]
        assert named[0] == ("u%3Aa/documents/p.md", 1)


async def test_two_services_share_a_directory(tmp_path: Path) -> None:
    async with rooted_process(tmp_path) as one, rooted_process(tmp_path) as other:
        for service in (one, other):
            await service.until_ops("/readyz", status=200)
        assert (await post(one, "memory/write", {**READ, "content": "one"})).status == 200
        stale = {**READ, "content": "x", "expected_version": 9}
        assert (await post(other, "memory/write", stale)).status == 400
        written = await post(other, "memory/write", {**READ, "content": "two"})
        assert json.loads(written.text)["document"]["version"] == 2
        seen = json.loads((await post(one, "memory/read", READ)).text)["document"]
        assert seen["content"] == "two"


@pytest.mark.parametrize(
    ("dsn", "settings", "arguments", "says"),
    [
        (
            "postgresql://u@h/d",
            {"COMMONHOLD_ROOT": "/"},
            (),
            "NEOSIAN_POSTGRES_DSN and COMMONHOLD_ROOT are mutually exclusive",
        ),
        (
            "postgresql://u@h/d",
            {},
            ("--root", "/"),
            "NEOSIAN_POSTGRES_DSN and --root are mutually exclusive",
        ),
        ("", {}, (), "NEOSIAN_POSTGRES_DSN must be set"),
        ("", {"COMMONHOLD_ROOT": "/nowhere"}, (), "COMMONHOLD_ROOT must be a directory"),
        ("", {}, ("--root", "/nowhere"), "--root must be a directory"),
    ],
)
async def test_not_exactly_one_store_stops_the_start_with_one_line(
    dsn: str, settings: dict[str, str], arguments: tuple[str, ...], says: str
) -> None:
    async with state_process(dsn, settings=settings, arguments=arguments) as service:
        assert await service.exit_status() == 2
        assert len(service.lines) == 1
        assert service.lines[0].startswith(f"commonhold-state: {says}")
