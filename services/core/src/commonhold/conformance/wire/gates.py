"""HTTP around the routes (docs/reference/wire.md, sections 2 and 3)."""

import json

from commonhold.conformance.rules import Rule
from commonhold.conformance.wire.services import OK, UNAUTHORIZED
from commonhold.conformance.wire.trials import Trial

NOT_FOUND = 404
WRONG_METHOD = 405
READ = "/v1/memory/read"
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
        for path in ("/v1/memory/nothing", "/v1//memory/read", "/v1/Memory/Read"):
            answer = await trial.service.ask("POST", path, b"{}")
            rule.equal((path, answer.status, answer.body), (path, NOT_FOUND, b"Not Found"))

    @staticmethod
    async def a_wrong_method_is_405(trial: Trial) -> None:
        rule = Rule("2", "a wrong method is 405 and says which is right", "wire.md")
        for method in ("GET", "PUT", "DELETE"):
            answer = await trial.service.ask(method, READ)
            rule.equal((method, answer.status), (method, WRONG_METHOD))
            rule.equal((method, answer.header("allow")), (method, "POST"))

    @staticmethod
    async def the_handshake_has_its_keys_in_order(trial: Trial) -> None:
        rule = Rule("2", "capabilities: the seven base keys in order, typed", "wire.md")
        answer = await trial.service.ask("GET", "/v1/capabilities")
        found = json.loads(answer.body)
        rule.equal(list(found)[: len(HANDSHAKE)], HANDSHAKE)
        kinds = [type(found[key]) for key in HANDSHAKE]
        rule.equal(kinds, [int, str, str, bool, bool, bool, str])
        head = await trial.service.ask("HEAD", "/v1/capabilities")
        rule.equal((head.status, head.body), (OK, b""))

    @staticmethod
    async def a_query_string_is_ignored(trial: Trial) -> None:
        body = json.dumps({"scope": trial.scope, "path": "a"}).encode()
        answer = await trial.service.ask("POST", f"{READ}?scope=zz", body)
        rule = Rule("2", "the query string is ignored", "wire.md")
        rule.equal((answer.status, answer.body), (OK, b'{"document":null}'))
