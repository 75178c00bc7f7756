"""The program with issuers in its file: two users on Postgres, and a file that stops it."""

from pathlib import Path

from tests.support.gateway_process import gateway_process
from tests.support.issuers import RESOURCE, local_issuer
from tests.support.mcp_clients import bearer, mcp_client, texts
from tests.support.oauth_doors import entry
from tests.support.raw_http import request_bytes

METADATA = request_bytes(
    "GET", "/.well-known/oauth-protected-resource/mcp", headers={"host": "memory.example.org"}
)


def settings(path: Path) -> dict[str, str]:
    return {
        "COMMONHOLD_GATEWAY_CLIENTS": str(path),
        "COMMONHOLD_GATEWAY_PUBLIC_URL": RESOURCE,
        "COMMONHOLD_GATEWAY_MOUNTS": "",
    }


async def test_two_users_of_an_issuer_are_apart_and_the_program_says_so(
    database_dsn: str, tmp_path: Path
) -> None:
    path = tmp_path / "clients.toml"
    async with local_issuer() as issuer:
        path.write_text(entry(issuer.url))
        async with gateway_process(database_dsn, settings=settings(path)) as service:
            await service.until_ops("/readyz", status=200)
            async with await service.connect() as connection:
                assert RESOURCE in (await connection.ask(METADATA)).text
            url = f"http://127.0.0.1:{service.port}/mcp"
            tokens = {user: issuer.token(sub=user) for user in ("alice", "bob")}
            for user, token in tokens.items():
                async with mcp_client(url, headers=bearer(token)) as client:
                    made = {"command": "create", "path": f"/user/{user}", "file_text": user}
                    await client.call_tool("memory", made)
                    seen = await client.call_tool("memory", {"command": "view", "path": "/user"})
                    others = set(tokens) - {user}
                    assert user in texts(seen)[0]
                    assert not any(other in texts(seen)[0] for other in others)
            metrics = (await service.ops("/metrics")).text
            assert 'commonhold_oauth_key_fetches_total{issuer="acme",outcome="ok"} 1.0' in metrics
            said = "\n".join(service.lines)
            assert not any(token.split(".")[2] in said for token in tokens.values())


async def test_a_mistake_in_an_issuer_stops_the_start(database_dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    path.write_text(entry("http://id.example.org"))
    async with gateway_process(database_dsn, settings=settings(path)) as service:
        assert await service.exit_status() == 2
        (line,) = service.lines
        assert "line 4: must be an https:// URL" in line
