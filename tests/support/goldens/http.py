"""HTTP around the routes (docs/reference/wire.md, section 2), over any store."""

import json

import pytest

from commonhold_state.routes import TABLE
from tests.support.goldens.expectations import assert_ok, assert_plain, assert_refused
from tests.support.raw_http import chunked, request_bytes
from tests.support.wire_service import TOKEN, Wire

LIMIT = 67108864
TOO_LARGE = f"request body exceeds {LIMIT} bytes"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
READ = b'{"scope":"u:a","path":"p"}'


class HttpGoldens:
    """Gates in their order, statuses, headers and bodies."""

    async def test_health_needs_no_token(self, wire: Wire) -> None:
        assert_ok(await wire.ask("GET", "/health", token=None), '{"status":"ok"}')
        assert_ok(await wire.ask("GET", "/health?x=1", token="wrong"), '{"status":"ok"}')

    async def test_capabilities(self, wire: Wire, backend_name: str) -> None:
        answer = await wire.ask("GET", "/v1/capabilities")
        assert_ok(
            answer,
            f'{{"wire_version":6,"neosian_version":"2.0.0","backend":"{backend_name}","supports_optimistic_concurrency":true,"pageable":true,"erasable":true,"client":"client:default"}}',
        )
        assert answer.header("commonhold-idempotency") == "1"

    async def test_head_answers_as_get_without_a_body(self, wire: Wire) -> None:
        for path in ("/health", "/v1/capabilities"):
            got, head = await wire.ask("GET", path), await wire.ask("HEAD", path)
            assert (head.status, head.body) == (200, b"")
            assert {k for k, _ in head.headers} == {k for k, _ in got.headers}
            assert head.header("content-length") == got.header("content-length")

    @pytest.mark.parametrize("token", [None, "", "wrong", TOKEN.upper(), TOKEN + "x", TOKEN[:-1]])
    async def test_without_a_right_token_everything_else_is_401(
        self, wire: Wire, token: str | None
    ) -> None:
        for method, path in (
            ("POST", "/v1/memory/read"),
            ("GET", "/v1/memory/read"),
            ("GET", "/v1/capabilities"),
            ("GET", "/nothing"),
            ("GET", "/health/"),
            ("POST", "/mcp"),
            ("OPTIONS", "/v1/memory/read"),
        ):
            answer = await wire.ask(method, path, token=token, body=b"not JSON")
            assert (answer.status, answer.body) == (401, b"unauthorized")
            assert answer.header("www-authenticate") == "Bearer"
            assert answer.header("content-length") == "12"
            assert answer.header("content-type") is None

    @pytest.mark.parametrize(
        "value",
        [
            TOKEN,
            f"bearer {TOKEN}",
            f"BEARER {TOKEN}",
            f"Bearer  {TOKEN}",
            f"Bearer{TOKEN}",
            f"Bearer\t{TOKEN}",
            f"Basic {TOKEN}",
            f"Bearer {TOKEN} x",
            f"Bearer {TOKEN}, Bearer {TOKEN}",
            "Bearer é",
            "Bearer ",
        ],
    )
    async def test_the_scheme_is_exact(self, wire: Wire, value: str) -> None:
        answer = await wire.ask(
            "GET", "/v1/capabilities", token=None, headers={"authorization": value}
        )
        assert answer.status == 401

    async def test_space_around_the_header_value_is_trimmed(self, wire: Wire) -> None:
        headers = {"AUTHORIZATION": f"  Bearer {TOKEN}\t "}
        answer = await wire.ask("GET", "/v1/capabilities", token=None, headers=headers)
        assert answer.status == 200

    async def test_of_two_tokens_the_first_counts(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            for first, second, status in ((TOKEN, "wrong", 200), ("wrong", TOKEN, 401)):
                head = f"Bearer {first}\r\nauthorization: Bearer {second}"
                request = request_bytes("GET", "/v1/capabilities", headers={"authorization": head})
                assert (await connection.ask(request)).status == status

    @pytest.mark.parametrize(
        "path",
        [
            "/",
            "/v1",
            "/v1/memory",
            "/v1/memory/nothing",
            "/v1//memory/read",
            "/v1/Memory/Read",
            "/V1/memory/read",
            "/v1/memory/read/",
            "/v1/memory/search",
            "/openapi.json",
            "/contracts",
            "/docs",
            "/health/",
            "/mcp",
            "/metrics",
            "/livez",
        ],
    )
    async def test_an_unknown_path_is_404_by_any_method(self, wire: Wire, path: str) -> None:
        for method in ("GET", "POST", "PUT", "OPTIONS"):
            assert_plain(await wire.ask(method, path, body=READ), 404, "Not Found")
        answer = await wire.ask("HEAD", path)
        assert (answer.status, answer.body) == (404, b"")

    @pytest.mark.parametrize("path", ["memory/changes", "memory/prune_changes"])
    async def test_a_route_of_the_change_feed_says_that_there_is_none(
        self, wire: Wire, path: str, backend_name: str
    ) -> None:
        for body in ("{}", '{"scope":"user:a"}', '{"scope":1,"foo":[]}'):
            assert_refused(
                await wire.post(path, body),
                f"{backend_name} does not support a change feed",
                code="agent_configuration_error",
            )
        for body, message in (("[]", "an object"), ("", "JSON")):
            assert_refused(await wire.post(path, body), f"request body must be {message}")

    @pytest.mark.parametrize("path", list(TABLE))
    async def test_a_post_route_allows_nothing_else(self, wire: Wire, path: str) -> None:
        for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "TRACE"):
            answer = await wire.ask(method, path)
            assert answer.status == 405
            assert answer.header("allow") == "POST"
            assert answer.body == (b"" if method == "HEAD" else b"Method Not Allowed")
            assert answer.header("content-type") == "text/plain; charset=utf-8"

    async def test_the_get_routes_allow_get_and_head(self, wire: Wire) -> None:
        for path in ("/health", "/v1/capabilities"):
            for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
                answer = await wire.ask(method, path)
                assert_plain(answer, 405, "Method Not Allowed")
                assert set((answer.header("allow") or "").split(", ")) == {"HEAD", "GET"}

    async def test_a_query_string_is_ignored(self, wire: Wire) -> None:
        for target in ("/v1/memory/read?x=1", "/v1/memory/read?", "/v1/memory/read?/../x"):
            answer = await wire.ask("POST", target, body=READ)
            assert_ok(answer, '{"document":null}')

    async def test_an_absolute_target_is_understood(self, wire: Wire) -> None:
        answer = await wire.ask("POST", "http://somewhere/v1/memory/read", body=READ)
        assert_ok(answer, '{"document":null}')

    async def test_a_declared_size_above_the_limit_is_413_on_any_path(self, wire: Wire) -> None:
        for method, path in (
            ("POST", "/v1/memory/read"),
            ("GET", "/v1/memory/read"),
            ("POST", "/nothing"),
            ("GET", "/health"),
            ("GET", "/v1/capabilities"),
        ):
            async with await wire.connect() as connection:
                request = request_bytes(method, path, headers=AUTHORIZATION, length=LIMIT + 1)
                answer = await connection.ask(request)
                assert_refused(answer, TOO_LARGE, status=413)
                assert answer.header("connection") == "close"

    async def test_without_a_token_a_declared_size_is_401_first(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            request = request_bytes("POST", "/v1/memory/read", length=10**15)
            assert (await connection.ask(request)).status == 401

    async def test_a_chunked_body_is_read(self, wire: Wire) -> None:
        headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
        head = request_bytes("POST", "/v1/memory/read", headers=headers)
        for size in (1, 7, 1000):
            async with await wire.connect() as connection:
                answer = await connection.ask(head + chunked(READ, size=size))
                assert_ok(answer, '{"document":null}')

    async def test_what_follows_a_chunked_body_never_passes_for_a_header(self, wire: Wire) -> None:
        trailing = b"0\r\nauthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
        headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
        head = request_bytes("POST", "/v1/memory/read", headers=headers)
        body = chunked(READ, size=1000).removesuffix(b"0\r\n\r\n") + trailing
        async with await wire.connect() as connection:
            await connection.send(head + body + request_bytes("GET", "/v1/capabilities"))
            answer = await connection.read_answer()
            assert_ok(answer, '{"document":null}')
            assert answer.header("connection") == "close"
            assert await connection.read_to_end() == b""

    async def test_expect_100_continue_is_answered_before_the_body(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            headers = {**AUTHORIZATION, "expect": "100-continue"}
            request = request_bytes("POST", "/v1/memory/read", headers=headers, length=len(READ))
            interim = await connection.ask(request)
            assert (interim.status, interim.reason) == (100, "Continue")
            assert_ok(await connection.ask(READ), '{"document":null}')

    async def test_a_refused_request_is_not_invited_to_continue(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            request = request_bytes(
                "POST", "/v1/memory/read", headers={"expect": "100-continue"}, length=100
            )
            assert (await connection.ask(request)).status == 401

    async def test_pipelined_requests_are_answered_in_order(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            requests = [
                request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ),
                request_bytes("GET", "/health"),
                request_bytes("POST", "/nothing", body=READ),
                request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=b"["),
                request_bytes("POST", "/v1/memory/read", headers=AUTHORIZATION, body=READ),
            ]
            await connection.send(b"".join(requests))
            statuses = [(await connection.read_answer()).status for _ in requests]
            assert statuses == [200, 200, 401, 400, 200]

    async def test_a_client_that_asks_to_close_is_closed_on(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            answer = await connection.ask(
                request_bytes("GET", "/health", headers={"connection": "close"})
            )
            assert answer.header("connection") == "close"
            assert await connection.read_to_end() == b""

    @pytest.mark.parametrize("protocol", ["h2c", "websocket", "TLS/1.0"])
    async def test_a_request_for_another_protocol_is_answered_in_this_one_and_closed(
        self, wire: Wire, protocol: str
    ) -> None:
        headers = {**AUTHORIZATION, "connection": "Upgrade", "upgrade": protocol}
        asked = request_bytes("POST", "/v1/memory/read", headers=headers, body=READ)
        async with await wire.connect() as connection:
            answer = await connection.ask(asked + request_bytes("GET", "/health"))
            assert (answer.status, answer.text) == (200, '{"document":null}')
            assert answer.header("connection") == "close"
            assert await connection.read_to_end() == b""

    async def test_http_1_0_is_answered_and_closed(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            answer = await connection.ask(b"GET /health HTTP/1.0\r\n\r\n")
            assert (answer.status, answer.body) == (200, b'{"status":"ok"}')
            assert await connection.read_to_end() == b""
        async with await wire.connect() as connection:
            kept = b"GET /health HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"
            assert (await connection.ask(kept)).header("connection") == "keep-alive"
            assert (await connection.ask(kept)).status == 200

    @pytest.mark.parametrize(
        "garbage",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET\r\n\r\n",
            b"GET /health HTTP/9.9\r\n\r\n",
            b"POST /v1/memory/read HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            b"POST /v1/memory/read HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
            b"POST /v1/memory/read HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
            b"POST / HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
            b"GET /health HTTP/1.1\r\nbad header\r\n\r\n",
            b"GET /health HTTP/1.1\r\nauthorization: Bearer tok\x00en\r\n\r\n",
            b"GET /health HTTP/1.1\r\nx: " + b"a" * 20_000 + b"\r\n\r\n",
            b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
            b"BREW /v1/memory/read HTTP/1.1\r\n\r\n",
            b"post /v1/memory/read HTTP/1.1\r\n\r\n",
        ],
    )
    async def test_what_is_no_http_is_400_and_shows_nothing_of_it(
        self, wire: Wire, garbage: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        async with await wire.connect() as connection:
            answer = await connection.ask(garbage)
            assert_plain(answer, 400, "Bad Request")
            # Not of which versions the library and the interpreter are.
            assert answer.header("server") in (None, "commonhold")
            assert await connection.read_to_end() == b""
        captured = capsys.readouterr()
        assert "tok" not in captured.out + captured.err

    async def test_broken_chunks_are_400_and_close(self, wire: Wire) -> None:
        async with await wire.connect() as connection:
            headers = {**AUTHORIZATION, "transfer-encoding": "chunked"}
            head = request_bytes("POST", "/v1/memory/read", headers=headers)
            answer = await connection.ask(head + b"zz\r\n{}\r\n")
            assert answer.status == 400
            assert await connection.read_to_end() == b""

    async def test_json_answers_say_no_charset(self, wire: Wire) -> None:
        answer = await wire.post("memory/read", b"[]")
        assert answer.header("content-type") == "application/json"
        assert answer.text == json.dumps(
            {
                "error": {
                    "code": "value_error",
                    "message": "request body must be an object",
                    "details": {},
                }
            },
            separators=(",", ":"),
        )
