"""The `[[issuers]]` of the clients file: what it may say, and the line of what it may not."""

import tomllib
from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.ops.tokens import Client
from commonhold_gateway.clients import read_clients
from commonhold_gateway.oauth.issuers import parse_issuers
from tests.support.issuers import RESOURCE
from tests.support.oauth_doors import issuers_of

GOOD = """\
[[issuers]]
name = "acme"
issuer = "https://id.example.org/realms/acme"
client = "user:{sub}"
conversations = ["{sub}_"]
[[issuers.mounts]]
scope = "user:{sub}"
path = "user"
[[issuers.mounts]]
scope = "kb:main"
path = "kb"
read_only = true
"""
SECOND = """\
[[issuers]]
name = "beta"
issuer = "https://beta.example.org"
[[issuers.mounts]]
scope = "org:beta/user:{sub}"
path = "user"
"""


def test_an_entry_has_defaults_for_all_but_name_issuer_and_mounts() -> None:
    (issuer,) = issuers_of(SECOND)
    assert issuer.audience == RESOURCE
    assert issuer.jwks_url is None
    assert issuer.algorithms == ("RS256", "ES256")
    assert issuer.misfits == "refuse"
    assert issuer.instructions == "full"
    assert issuer.required_scopes == ()


def test_an_entry_may_say_all_of_it() -> None:
    (issuer,) = issuers_of(
        GOOD.replace(
            'client = "user:{sub}"',
            """audience = "api://memory"
jwks_url = "https://keys.example.org/acme.json"
algorithms = ["PS256"]
client = "service:{azp}"
instructions = "discipline"
misfits = "hash"
required_scopes = ["memory:read"]""",
        )
    )
    assert issuer.audience == "api://memory"
    assert issuer.jwks_url == "https://keys.example.org/acme.json"
    assert issuer.client.claims == ("azp",)
    assert issuer.misfits == "hash"
    assert [mount.entry.read_only for mount in issuer.mounts] == [False, True]


MISTAKES = [
    ('name = "acme"', 'name = "Acme"', 2, "name"),
    ('name = "acme"', 'name = "a/b"', 2, "name"),
    ('name = "acme"\n', "", 1, "name"),
    ('name = "acme"', 'nane = "acme"', 2, "nane"),
    ("https://id", "http://id", 3, "https"),
    ("realms/acme", "realms?x=1", 3, "query"),
    ("https://id.example.org/realms/acme", "", 3, "https"),
    ("https://id", "https://user:pw@id", 3, "user"),
    ('"user:{sub}"\nconv', '"user:me"\nconv', 4, "claim"),
    ('"user:{sub}"\nconv', '"user:{sub"\nconv', 4, "brace"),
    ('"user:{sub}"\nconv', '"user:{sub}#1"\nconv', 4, "#"),
    ('"user:{sub}"\nconv', '"User:{sub}"\nconv', 4, "<kind>"),
    ('"user:{sub}"\nconv', '"user:{sub}"\nalgorithms = ["none"]\nconv', 5, "RS256"),
    ('"user:{sub}"\nconv', '"user:{sub}"\nalgorithms = ["RS256", "HS256"]\nconv', 5, "RS256"),
    ('"user:{sub}"\nconv', '"user:{sub}"\nalgorithms = []\nconv', 5, "at least one"),
    ('"user:{sub}"\nconv', '"user:{sub}"\naudience = ""\nconv', 5, "empty"),
    ('"user:{sub}"\nconv', '"user:{sub}"\njwks_url = "http://x.org"\nconv', 5, "https"),
    ('"user:{sub}"\nconv', '"user:{sub}"\nmisfits = "trim"\nconv', 5, "trim"),
    ('"user:{sub}"\nconv', '"user:{sub}"\ninstructions = "none"\nconv', 5, "none"),
    ('"user:{sub}"\nconv', '"user:{sub}"\nrequired_scopes = ["a b"]\nconv', 5, "match"),
    ('["{sub}_"]', '["{sub}"]', 5, "after {sub}"),
    ('["{sub}_"]', '["a/{sub}_"]', 5, "one flat segment"),
    ('["{sub}_"]', '["{sub}_", "{email}_"]', 5, "begin it differently"),
    ('["{sub}_"]', '["{sub}_", "shared-"]', 5, "begin it differently"),
    ('scope = "user:{sub}"', 'scope = "user/{sub}"', 6, "does not match"),
    ('scope = "user:{sub}"', 'scope = "User:{sub}"', 6, "does not match"),
    ('path = "user"', 'path = "a/b"', 6, "single segment"),
    ('path = "kb"', 'path = "user"', 9, "unique"),
    ('scope = "kb:main"', 'scope = "user:{email}"', 10, "begin it differently"),
    ('scope = "kb:main"', 'scope = "user:admin"', 10, "begin it differently"),
    ("read_only = true", "read_only = 1", 12, "bool"),
    ("read_only = true", "read_only = true\nedit_only = true", 9, "at once"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), MISTAKES)
def test_a_mistake_stops_the_start_with_its_line_and_reason(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    assert old in GOOD
    file = tmp_path / "clients.toml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        read_clients(str(file), tokens=(), resource=RESOURCE)
    assert f"line {line}:" in caught.value.message
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ('"beta"', '"acme"', 14, "repeats a name"),
        ("https://beta.example.org", "https://id.example.org/realms/acme", 15, "repeats an issuer"),
        ("org:beta/user:{sub}", "user:{sub}", 17, "by 'acme'"),
        ("org:beta/user:{sub}", "user:{email}", 17, "by 'acme'"),
        ("org:beta/user:{sub}", "user:bob", 17, "by 'acme'"),
        ("org:beta/user:{sub}", "user:b-{sub}", 17, "by 'acme'"),
    ],
)
def test_two_issuers_never_name_the_same(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    file = tmp_path / "clients.toml"
    file.write_text(GOOD + SECOND.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        read_clients(str(file), tokens=(), resource=RESOURCE)
    assert f"line {line}:" in caught.value.message
    assert reason in caught.value.message


def test_two_issuers_may_share_what_no_claim_chooses() -> None:
    shared = '[[issuers.mounts]]\nscope = "kb:main"\npath = "kb"\n'
    assert len(issuers_of(GOOD + SECOND + shared)) == 2


@pytest.mark.parametrize(
    "actor", ["oauth:acme", "oauth:acme/user:alice", "oauth:other", "oauth:a#4"]
)
def test_a_token_of_the_table_cannot_be_taken_for_a_bearer_of_an_issuer(actor: str) -> None:
    section = tomllib.loads(GOOD)["issuers"]
    with pytest.raises(ValueError, match="token table"):
        parse_issuers(section, tokens=[Client(actor=actor)], resource=RESOURCE)
    assert parse_issuers(section, tokens=[Client(actor="oauth-x:a")], resource=RESOURCE)


def test_issuers_need_the_public_address() -> None:
    with pytest.raises(ValueError, match="COMMONHOLD_GATEWAY_PUBLIC_URL must be set"):
        parse_issuers(tomllib.loads(GOOD)["issuers"], tokens=(), resource=None)


@pytest.mark.parametrize("section", [[], {}, "x", [1]])
def test_a_section_of_another_form_is_refused(section: object) -> None:
    with pytest.raises(ValueError, match=r"issuers|Expected"):
        parse_issuers(section, tokens=(), resource=RESOURCE)
