"""Names that are refused, on every method, before anything else is looked at."""

from collections.abc import Awaitable, Callable

import pytest

from commonhold.conformance.memory_ledger import NAIVE
from commonhold.conformance.rules import Rule
from commonhold.conformance.samples import BAD_PATHS, BAD_SCOPES, PATH, SCOPE
from commonhold.conformance.subjects import StoreSubject
from commonhold.contract.errors import PathInvalidError, ScopeInvalidError
from commonhold.contract.stores import MemoryStore

Calls = dict[str, Callable[[], Awaitable[object]]]


class GrammarSlice(StoreSubject):
    """Part of MemoryStoreContract."""

    @pytest.mark.parametrize("scope", BAD_SCOPES)
    async def test_a_bad_scope_is_refused_by_every_method(
        self, store: MemoryStore, scope: str
    ) -> None:
        rule = Rule("9", "every method checks the scope before path, since and limit", "grammar.md")
        # All other arguments are bad as well: the scope is reported.
        calls: Calls = {
            "read": lambda: store.read(scope, "a//b"),
            "write": lambda: store.write(scope, "a//b", "x", expected_version=7),
            "delete": lambda: store.delete(scope, "a//b"),
            "rename": lambda: store.rename(scope, "a//b", "/"),
            "list_documents": lambda: store.list_documents(scope),
            "versions": lambda: store.versions(scope, "a//b", limit=-1),
            "redact": lambda: store.redact(scope),
            "redact path": lambda: store.redact(scope, path="a//b"),
            "history": lambda: store.history(scope, since=NAIVE),
            "redactions": lambda: store.redactions(scope, since=NAIVE),
        }
        for call in calls.values():
            with rule.refuses(ScopeInvalidError, scope=scope):
                await call()

    @pytest.mark.parametrize("path", BAD_PATHS)
    async def test_a_bad_path_is_refused_by_every_method(
        self, store: MemoryStore, path: str
    ) -> None:
        rule = Rule("2", "every method refuses a path outside the grammar", "grammar.md")
        await store.write(SCOPE, PATH, "x")
        calls: Calls = {
            "read": lambda: store.read(SCOPE, path),
            "write": lambda: store.write(SCOPE, path, "x"),
            "write expecting": lambda: store.write(SCOPE, path, "x", expected_version=7),
            "delete": lambda: store.delete(SCOPE, path),
            "rename from": lambda: store.rename(SCOPE, path, "free"),
            "rename to": lambda: store.rename(SCOPE, PATH, path),
            "rename nothing to": lambda: store.rename(SCOPE, "never-written", path),
            "versions": lambda: store.versions(SCOPE, path, limit=0),
            "redact": lambda: store.redact(SCOPE, path=path),
        }
        for call in calls.values():
            with rule.refuses(PathInvalidError, path=path):
                await call()
        rule.equal(len(await store.history(SCOPE)), 1)
        rule.equal(await store.redactions(SCOPE), ())

    async def test_a_rename_reports_its_source_before_its_destination(
        self, store: MemoryStore
    ) -> None:
        rule = Rule("9", "`src` before `dst`", "grammar.md")
        with rule.refuses(PathInvalidError, path="a//b"):
            await store.rename(SCOPE, "a//b", "/c")

    @pytest.mark.parametrize(
        "scope",
        ["a:b", "u:...", "user:a.b_c-D", "s" * 32 + ":" + "i" * 128, "/".join(["s:i"] * 8)],
    )
    async def test_a_good_scope_is_accepted(self, store: MemoryStore, scope: str) -> None:
        written = await store.write(scope, PATH, "x")
        rule = Rule("1", "what the scope grammar allows is a scope", "grammar.md")
        rule.equal((written.scope, await store.read(scope, PATH)), (scope, written))

    @pytest.mark.parametrize(
        "path",
        [
            "a",
            ".hidden",
            "...",
            "..foo",
            "foo..",
            "-",
            "CON",
            "a.md/b",
            "x.jsonl/y",
            "/".join("a" * 16),
        ],
    )
    async def test_a_good_path_is_accepted(self, store: MemoryStore, path: str) -> None:
        written = await store.write(SCOPE, path, "x")
        rule = Rule("2", "what the path grammar allows is a path", "grammar.md")
        rule.equal((written.path, await store.read(SCOPE, path)), (path, written))
