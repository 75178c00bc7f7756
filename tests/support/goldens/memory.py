"""The memory routes, byte for byte (docs/reference/wire.md, section 6)."""

import json

import pytest

from tests.support.goldens.expectations import (
    assert_ok,
    assert_refused,
    assert_value_error,
    decoded,
)
from tests.support.wire_service import HandClock, Wire

SEGMENTS = "segments must be [A-Za-z0-9_.-]{1,128} joined by '/'"

STAMP = "2026-11-29T23:50:08.079957Z"


class MemoryGoldens:
    """The examples of the reference in their order, then what each route refuses."""

    async def test_the_example_runs_to_the_byte(self, wire: Wire, clock: HandClock) -> None:
        at = "2026-11-29T23:50:08."
        assert_ok(
            await wire.post(
                "memory/write",
                r'{"scope":"workspace:team","path":"notes/deploy","content":"window: Tue\n","actor":"me"}',
            ),
            r'{"document":{"scope":"workspace:team","path":"notes/deploy","content":"window: Tue\n","version":1,"created_at":"2026-11-29T23:50:08.079957Z","updated_at":"2026-11-29T23:50:08.079957Z","actor":"client:default/me","redacted":false,"extra":{}}}',
        )
        clock.set(at + "091093+00:00")
        assert_ok(
            await wire.post(
                "memory/write",
                r'{"scope":"workspace:team","path":"notes/deploy","content":"window: Wed\n","expected_version":1}',
            ),
            r'{"document":{"scope":"workspace:team","path":"notes/deploy","content":"window: Wed\n","version":2,"created_at":"2026-11-29T23:50:08.079957Z","updated_at":"2026-11-29T23:50:08.091093Z","actor":"client:default","redacted":false,"extra":{}}}',
        )
        clock.set(at + "105251+00:00")
        assert_ok(
            await wire.post(
                "memory/rename",
                '{"scope":"workspace:team","src":"notes/deploy","dst":"ops/deploy"}',
            ),
            r'{"document":{"scope":"workspace:team","path":"ops/deploy","content":"window: Wed\n","version":1,"created_at":"2026-11-29T23:50:08.105251Z","updated_at":"2026-11-29T23:50:08.105251Z","actor":"client:default","redacted":false,"extra":{}}}',
        )
        assert_ok(
            await wire.post(
                "memory/list_documents",
                '{"scope":"workspace:team","prefix":"","cursor":null,"limit":null}',
            ),
            '{"entries":[{"path":"ops/deploy","version":1,"created_at":"2026-11-29T23:50:08.105251Z","updated_at":"2026-11-29T23:50:08.105251Z","redacted":false}],"next_cursor":null}',
        )
        versions = await wire.post(
            "memory/versions", '{"scope":"workspace:team","path":"notes/deploy","limit":1}'
        )
        assert versions.text.startswith(
            r'{"versions":[{"path":"notes/deploy","version":3,"action":"deleted","content":"window: Wed\n","actor":"client:default","created_at":"2026-11-29T23:50:08.105251Z","redacted":false}],"next_cursor":"'
        )
        clock.set(at + "117574+00:00")
        assert_ok(
            await wire.post(
                "memory/delete", '{"scope":"workspace:team","path":"ops/deploy","actor":"me"}'
            ),
            '{"deleted":true}',
        )
        clock.set(at + "122806+00:00")
        assert_ok(await wire.post("memory/redact", '{"scope":"workspace:team"}'), '{"count":2}')
        history = await wire.post("memory/history", '{"scope":"workspace:team","limit":2}')
        assert history.text.startswith(
            '{"versions":[{"path":"ops/deploy","version":2,"action":"deleted","content":"","actor":"client:default/me","created_at":"2026-11-29T23:50:08.117574Z","redacted":true},{"path":"notes/deploy","version":3,"action":"deleted","content":"","actor":"client:default","created_at":"2026-11-29T23:50:08.105251Z","redacted":true}],"next_cursor":"'
        )
        assert_ok(
            await wire.post("memory/redactions", '{"scope":"workspace:team"}'),
            '{"redactions":[{"path":null,"actor":"client:default","created_at":"2026-11-29T23:50:08.122806Z","count":2}],"next_cursor":null}',
        )
        assert_ok(
            await wire.post("memory/read", '{"scope":"workspace:team","path":"zzz"}'),
            '{"document":null}',
        )

    async def test_a_whole_second_has_no_fraction(self, wire: Wire, clock: HandClock) -> None:
        clock.set("2026-01-02T03:04:05+00:00")
        written = await wire.post("memory/write", {"scope": "u:a", "path": "p", "content": ""})
        assert decoded(written)["document"]["created_at"] == "2026-01-02T03:04:05Z"

    async def test_text_travels_raw_and_unchanged(self, wire: Wire) -> None:
        content = '---\r\n☃ "q" \\ \t\x7f\u2028 é 😀 end\r'
        await wire.post("memory/write", {"scope": "u:a", "path": "p", "content": content})
        answer = await wire.post("memory/read", {"scope": "u:a", "path": "p"})
        assert decoded(answer)["document"]["content"] == content
        assert "☃" in answer.text
        assert "😀" in answer.text

    async def test_deleting_nothing_is_false(self, wire: Wire) -> None:
        assert_ok(
            await wire.post("memory/delete", {"scope": "u:a", "path": "p"}), '{"deleted":false}'
        )

    async def test_redacting_nothing_counts_nothing(self, wire: Wire) -> None:
        assert_ok(await wire.post("memory/redact", {"scope": "u:a", "path": "p"}), '{"count":0}')

    async def test_a_redacted_document_reads_empty(self, wire: Wire) -> None:
        await wire.post("memory/write", {"scope": "u:a", "path": "p", "content": "secret"})
        await wire.post("memory/redact", {"scope": "u:a", "path": "p", "actor": "ops"})
        assert_ok(
            await wire.post("memory/read", {"scope": "u:a", "path": "p"}),
            f'{{"document":{{"scope":"u:a","path":"p","content":"","version":1,"created_at":"{STAMP}","updated_at":"{STAMP}","actor":"client:default","redacted":true,"extra":{{}}}}}}',
        )

    @pytest.mark.parametrize(
        ("actor", "recorded"),
        [
            (None, "client:default"),
            ("me", "client:default/me"),
            ("", "client:default/"),
            ("conv:abc#4", "client:default/conv:abc#4"),
            (" any text / é ", "client:default/ any text / é "),
        ],
    )
    async def test_the_actor_is_the_clients_own_and_what_the_body_adds(
        self, wire: Wire, actor: str | None, recorded: str
    ) -> None:
        body = {"scope": "u:a", "path": "p", "content": "x", "actor": actor}
        assert decoded(await wire.post("memory/write", body))["document"]["actor"] == recorded

    async def test_every_memory_mutation_records_the_actor(self, wire: Wire) -> None:
        for route, body in (
            ("memory/write", {"path": "a", "content": "x", "actor": "w"}),
            ("memory/rename", {"src": "a", "dst": "b", "actor": "r"}),
            ("memory/delete", {"path": "b", "actor": "d"}),
            ("memory/redact", {"actor": "e"}),
        ):
            decoded(await wire.post(route, {"scope": "u:a", **body}))
        history = decoded(await wire.post("memory/history", {"scope": "u:a"}))["versions"]
        actors = {(row["path"], row["version"]): row["actor"] for row in history}
        assert actors == {
            ("a", 1): "client:default/w",
            ("a", 2): "client:default/r",
            ("b", 1): "client:default/r",
            ("b", 2): "client:default/d",
        }
        trail = decoded(await wire.post("memory/redactions", {"scope": "u:a"}))["redactions"]
        assert [act["actor"] for act in trail] == ["client:default/e"]

    async def test_a_stale_version_is_a_conflict(self, wire: Wire) -> None:
        body = {"scope": "user:p2", "path": "notes/a", "content": "x"}
        for _ in range(3):
            await wire.post("memory/write", body)
        assert_refused(
            await wire.post("memory/write", {**body, "expected_version": 1}),
            "Memory conflict on 'notes/a' in scope 'user:p2': version_mismatch",
            code="memory_conflict",
            details={
                "scope": "user:p2",
                "path": "notes/a",
                "reason": "version_mismatch",
                "expected_version": 1,
                "actual_version": 3,
            },
        )

    @pytest.mark.parametrize("expected", [0, 1, -1, 2**31, 2**63, 10**40, -(10**40)])
    async def test_any_expected_version_of_nothing_is_a_conflict(
        self, wire: Wire, expected: int
    ) -> None:
        body = {"scope": "user:p2", "path": "nope", "content": "x", "expected_version": expected}
        assert_refused(
            await wire.post("memory/write", body),
            "Memory conflict on 'nope' in scope 'user:p2': document_absent",
            code="memory_conflict",
            details={
                "scope": "user:p2",
                "path": "nope",
                "reason": "document_absent",
                "expected_version": expected,
                "actual_version": None,
            },
        )

    @pytest.mark.parametrize("expected", [0, -1, 2**31, 2**64, 10**4000])
    async def test_an_expected_version_of_any_size_is_compared_as_a_number(
        self, wire: Wire, expected: int
    ) -> None:
        body = {"scope": "u:a", "path": "p", "content": "x"}
        await wire.post("memory/write", body)
        answer = await wire.post("memory/write", {**body, "expected_version": expected})
        error = json.loads(answer.body)["error"]
        assert (answer.status, error["details"]["reason"]) == (400, "version_mismatch")
        assert error["details"]["expected_version"] == expected

    async def test_renaming_nothing_is_not_found(self, wire: Wire) -> None:
        assert_refused(
            await wire.post("memory/rename", {"scope": "user:p2", "src": "notes/e", "dst": "x"}),
            "Memory document not found: 'notes/e' in scope 'user:p2'",
            code="memory_document_not_found",
            details={"scope": "user:p2", "path": "notes/e"},
        )

    async def test_renaming_onto_a_document_is_a_conflict(self, wire: Wire) -> None:
        for path in ("a", "notes/f"):
            await wire.post("memory/write", {"scope": "user:p2", "path": path, "content": "x"})
        for src in ("a", "notes/f"):
            assert_refused(
                await wire.post(
                    "memory/rename", {"scope": "user:p2", "src": src, "dst": "notes/f"}
                ),
                "Memory conflict on 'notes/f' in scope 'user:p2': destination_exists",
                code="memory_conflict",
                details={
                    "scope": "user:p2",
                    "path": "notes/f",
                    "reason": "destination_exists",
                    "expected_version": None,
                    "actual_version": None,
                },
            )

    @pytest.mark.parametrize(
        ("scope", "reason"),
        [
            ("User:1", "does not match <type>:<id>[/...]"),
            ("", "does not match <type>:<id>[/...]"),
            ("user:1\n", "does not match <type>:<id>[/...]"),
            ("tenant:acme/kb", "does not match <type>:<id>[/...]"),
            ("é" * 513, "longer than 512 characters"),
            ("/".join(["a:b"] * 9), "more than 8 segments"),
            ("user:a/proj:..", "id '..' is reserved"),
            ("a\x00b", "does not match <type>:<id>[/...]"),
        ],
    )
    async def test_a_bad_scope_is_refused_before_the_path(
        self, wire: Wire, scope: str, reason: str
    ) -> None:
        assert_refused(
            await wire.post("memory/read", {"scope": scope, "path": "a//b"}),
            f"Invalid memory scope {scope!r}: {reason}",
            code="memory_scope_invalid",
            details={"scope": scope, "reason": reason},
        )

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("it's", SEGMENTS),
            ('it\'s "x" \\', SEGMENTS),
            ("", SEGMENTS),
            ("a//b", SEGMENTS),
            ("a\n", SEGMENTS),
            ("é", SEGMENTS),
            ("a\x00", SEGMENTS),
            ("a" * 513, "longer than 512 characters"),
            ("/".join(["a"] * 17), "more than 16 segments"),
            ("a/../b", "segment '..' is reserved"),
        ],
    )
    async def test_a_bad_path_is_refused_everywhere(
        self, wire: Wire, path: str, reason: str
    ) -> None:
        for route, body in (
            ("memory/read", {"path": path}),
            ("memory/write", {"path": path, "content": ""}),
            ("memory/delete", {"path": path}),
            ("memory/rename", {"src": path, "dst": "ok"}),
            ("memory/rename", {"src": "ok", "dst": path}),
            ("memory/versions", {"path": path}),
            ("memory/versions", {"path": path, "limit": 0}),
            ("memory/redact", {"path": path}),
        ):
            assert_refused(
                await wire.post(route, {"scope": "u:a", **body}),
                f"Invalid memory document path {path!r}: {reason}",
                code="memory_path_invalid",
                details={"path": path, "reason": reason},
            )

    async def test_a_negative_limit_is_reported_before_any_grammar(self, wire: Wire) -> None:
        for route in ("list_documents", "versions", "history", "redactions"):
            body = {"scope": "ZZ", "path": "//", "limit": -1, "cursor": "zzz"}
            assert_refused(await wire.post(f"memory/{route}", body), "limit must be >= 0")

    @pytest.mark.parametrize(
        ("since", "message"),
        [
            ("yesterday", "Invalid isoformat string: 'yesterday'"),
            ("", "Invalid isoformat string: ''"),
            ("2026-01-01T00:00:60Z", "Invalid isoformat string: '2026-01-01T00:00:60Z'"),
            ("0000-01-01T00:00:00Z", "Invalid isoformat string: '0000-01-01T00:00:00Z'"),
            ("2026-01-01", "naive wire timestamp refused: '2026-01-01'"),
            ("2026-01-01T00:00:00", "naive wire timestamp refused: '2026-01-01T00:00:00'"),
        ],
    )
    async def test_a_bad_since_is_refused(self, wire: Wire, since: str, message: str) -> None:
        for route in ("history", "redactions"):
            body = {"scope": "u:a", "since": since}
            assert_refused(await wire.post(f"memory/{route}", body), message)

    async def test_a_since_out_of_range_is_refused(self, wire: Wire) -> None:
        body = {"scope": "u:a", "since": "0001-01-01T00:00:00+05:00"}
        assert_value_error(await wire.post("memory/history", body))

    @pytest.mark.parametrize(
        "since",
        [
            "2026-11-29T23:50:08.079957Z",
            "2026-11-30T05:20:08.079957+05:30",
            "2026-11-29 23:50:08.0799571Z",
            "20261129T235008.079957Z",
            "2026-W48-7T23:50:08.079957Z",
        ],
    )
    async def test_since_is_inclusive_in_every_spelling(
        self, wire: Wire, clock: HandClock, since: str
    ) -> None:
        await wire.post("memory/write", {"scope": "u:a", "path": "p", "content": "x"})
        await wire.post("memory/redact", {"scope": "u:a"})
        for route, key in (("history", "versions"), ("redactions", "redactions")):
            answer = await wire.post(f"memory/{route}", {"scope": "u:a", "since": since})
            assert len(decoded(answer)[key]) == 1
        clock.advance(-0.000001)
        await wire.post("memory/write", {"scope": "u:a", "path": "early", "content": "x"})
        answer = await wire.post("memory/history", {"scope": "u:a", "since": since})
        assert [row["path"] for row in decoded(answer)["versions"]] == ["p"]

    async def test_a_prefix_is_plain_text(self, wire: Wire) -> None:
        for path in ("a_b", "ab", "a/b"):
            await wire.post("memory/write", {"scope": "u:a", "path": path, "content": "x"})
        for prefix, found in (
            ("a", ["a/b", "a_b", "ab"]),
            ("a_", ["a_b"]),
            ("a%", []),
            ("a\x00", []),
            ("\x00", []),
            ("//\\é", []),
        ):
            answer = await wire.post("memory/list_documents", {"scope": "u:a", "prefix": prefix})
            assert [entry["path"] for entry in decoded(answer)["entries"]] == found, prefix

    async def test_an_empty_path_is_not_the_whole_scope(self, wire: Wire) -> None:
        await wire.post("memory/write", {"scope": "u:a", "path": "p", "content": "x"})
        assert_refused(
            await wire.post("memory/redact", {"scope": "u:a", "path": ""}),
            f"Invalid memory document path '': {SEGMENTS}",
            code="memory_path_invalid",
            details={"path": "", "reason": SEGMENTS},
        )
        assert_ok(await wire.post("memory/redact", {"scope": "u:a", "path": None}), '{"count":1}')
