"""What the verbs of a store, and `conformance`, refuse before anything is opened."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from commonhold.cli import shell

ToldBy: TypeAlias = Callable[[Iterable[str], Mapping[str, str]], str]

TOKEN = {"NEOSIAN_CLIENT_TOKEN": "t"}
STORES = ("NEOSIAN_POSTGRES_DSN", "NEOSIAN_CLIENT_TOKEN")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in STORES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.fixture
def told_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ToldBy:
    """The hint of an invocation that is refused before anything is made."""
    new, here, file = tmp_path / "new", tmp_path / "here", tmp_path / "file"
    here.mkdir()
    file.touch()

    def told(arguments: Iterable[str], environment: Mapping[str, str]) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        filled = [part.format(new=new, here=here, file=file) for part in arguments]
        status = shell.main([*filled, "--json"])
        out, err = capsys.readouterr()
        answer = json.loads(out)
        assert (status, answer["error"]) == (2, "usage")
        assert answer["hint"] in err.replace("\n", " ")
        assert (new.exists(), list(here.iterdir())) == (False, [])
        return str(answer["hint"])

    return told


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("export", "{new}", "--root", "{here}", "--scope", "zz"), {}, "memory scope 'zz'"),
        (("export", "{new}", "--root", "{here}", "--conversation", "a/b"), {}, "id 'a/b'"),
        (("import", "{new}", "--root", "{here}"), {}, "is not a directory"),
        (("import", "{file}", "--root", "{here}"), {}, "is not a directory"),
        (("export", "{file}", "--root", "{here}"), {}, "is not a directory"),
        (("import",), {}, "FOLDER"),
        (("conformance", "--url", "ftp://x"), TOKEN, "--url must start with http:// or https://"),
        (("conformance", "--url", "http://x:99999"), TOKEN, "names no port that exists"),
        (("conformance", "--url", "http://x", "--only", "no case"), TOKEN, "leaves no case"),
        (("conformance", "--url", "http://x"), {}, "NEOSIAN_CLIENT_TOKEN"),
        (("conformance",), TOKEN, "--url"),
    ],
)
def test_a_wrong_invocation_opens_and_makes_nothing(
    told_by: ToldBy, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    assert said in told_by(arguments, environment)


# Each way to name no store, two of them, or a wrong one, and what every verb says of it.
DSN = {"NEOSIAN_POSTGRES_DSN": "postgresql://u@h/d"}
WRONG_STORES: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "name a store: set NEOSIAN_POSTGRES_DSN (or NEOSIAN_POSTGRES_DSN_FILE), --url or --root": (
        (),
        {},
    ),
    "--root and --url are mutually exclusive": (("--url", "http://x", "--root", "{here}"), TOKEN),
    "NEOSIAN_POSTGRES_DSN and --url are mutually exclusive": (("--url", "http://x"), DSN),
    "NEOSIAN_POSTGRES_DSN and --root are mutually exclusive": (("--root", "{here}"), DSN),
    "--schema applies only to Postgres (unset --root/--url)": (
        ("--root", "{here}", "--schema", "s"),
        {},
    ),
    "--url must start with http:// or https://, got 'ftp://x'": (("--url", "ftp://x"), TOKEN),
    "--url must start with http:// or https://, got ''": (("--url", ""), TOKEN),
    "--url needs NEOSIAN_CLIENT_TOKEN (or NEOSIAN_CLIENT_TOKEN_FILE) in the environment": (
        ("--url", "http://x"),
        {},
    ),
    "--root must be a directory that exists": (("--root", "{new}"), {}),
}
VERBS: Mapping[str, tuple[str, ...]] = {
    "maintain": ("memory", "maintain", "--scope", "user:ana"),
    "redact": ("redact", "chat-1", "--all"),
    "prune": ("prune", "--older-than", "1d"),
    "export": ("export", "{new}"),
    "import": ("import", "{here}"),
}


@pytest.mark.parametrize("hint", WRONG_STORES)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_the_same_of_a_wrong_store(told_by: ToldBy, verb: str, hint: str) -> None:
    flags, environment = WRONG_STORES[hint]
    assert told_by((*VERBS[verb], *flags), environment) == hint
