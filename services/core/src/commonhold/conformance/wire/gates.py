"""HTTP around the routes (docs/reference/wire.md, sections 2 and 3)."""

import json

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.services import OK, UNAUTHORIZED
from commonhold.conformance.wire.trials import Trial

NOT_FOUND = 404
WRONG_METHOD = 405
READ = "/v1/memory/read"
PLAIN = "text/plain; charset=utf-8"
HANDSHAKE = [
    "wire_version",
    "neosian_version",
    "backend",
    "supports_optimistic_concurrency",
    "pageable",
    "erasable",
    "client",
]


class GateCases:
    title = "http"

    @staticmethod
    async def health_needs_no_token(trial: Trial) -> None:
        rule = Rule("2", "GET /health answers ok to anybody", "wire.md")
        answer = await trial.service.ask("GET", "/health", authorization=None)
        rule.equal((answer.status, answer.body), (OK, b'{"status":"ok"}'))

    @staticmethod
    async def without_the_right_token_everything_else_is_401(trial: Trial) -> None:
        rule = Rule("2", "a missing or wrong token is 401 on every path but /health", "wire.md")
        for authorization in (None, "Bearer wrong", "bearer wrong", "Basic wrong"):
            for method, path in (("POST", READ), ("GET", "/v1/capabilities"), ("GET", "/nothing")):
                answer = await trial.service.ask(method, path, authorization=authorization)
                seen = (answer.status, answer.body, answer.header("www-authenticate"))
                rule.equal(seen, (UNAUTHORIZED, b"unauthorized", "Bearer"))

    @staticmethod
    async def an_unknown_path_is_404(trial: Trial) -> None:
        rule = Rule("2", "an unknown path is 404 Not Found", "wire.md")
        for method, path in (
            ("POST", "/v1/memory/nothing"),
            ("POST", "/v1//memory/read"),
            ("POST", "/v1/Memory/Read"),
            ("GET", "/openapi.json"),
            ("GET", "/docs"),
        ):
            answer = await trial.service.ask(method, path, b"{}" if method == "POST" else None)
            seen = (path, answer.status, answer.header("content-type"), answer.body)
            rule.equal(seen, (path, NOT_FOUND, PLAIN, b"Not Found"))

    @staticmethod
    async def a_wrong_method_is_405(trial: Trial) -> None:
        rule = Rule("2", "a wrong method is 405 and says which are right", "wire.md")
        for path, methods, right in (
            (READ, ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"), {"POST"}),
            ("/health", ("POST", "DELETE"), {"GET", "HEAD"}),
            ("/v1/capabilities", ("POST", "PUT"), {"GET", "HEAD"}),
        ):
            for method in methods:
                answer = await trial.service.ask(method, path)
                allowed = {one.strip() for one in (answer.header("allow") or "").split(",")}
                text = b"" if method == "HEAD" else b"Method Not Allowed"
                seen = (method, path, answer.status, allowed, answer.body)
                rule.equal(seen, (method, path, WRONG_METHOD, right, text))

    @staticmethod
    async def the_handshake_has_its_keys_in_order(trial: Trial) -> None:
        rule = Rule("2", "capabilities: the seven base keys in order, typed", "wire.md")
        answer = await trial.service.ask("GET", "/v1/capabilities")
        found = json.loads(answer.body)
        rule.equal(list(found)[: len(HANDSHAKE)], HANDSHAKE)
        kinds = [type(found[key]) for key in HANDSHAKE]
        rule.equal(kinds, [int, str, str, bool, bool, bool, str])

    @staticmethod
    async def head_answers_as_get_without_a_body(trial: Trial) -> None:
        rule = Rule("2", "HEAD on the two GET routes: the same headers and no body", "wire.md")
        for path in ("/health", "/v1/capabilities"):
            whole = await trial.service.ask("GET", path)
            head = await trial.service.ask("HEAD", path)
            kept = [answer.header("content-type") for answer in (head, whole)]
            rule.equal((path, head.status, head.body), (path, OK, b""))
            rule.equal((path, kept[0]), (path, kept[1]))

    @staticmethod
    async def a_query_string_is_ignored(trial: Trial) -> None:
        body = json.dumps({"scope": trial.scope, "path": "a"}).encode()
        answer = await trial.service.ask("POST", f"{READ}?scope=zz", body)
        rule = Rule("2", "the query string is ignored", "wire.md")
        rule.equal((answer.status, answer.body), (OK, b'{"document":null}'))
