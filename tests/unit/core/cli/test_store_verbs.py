"""What `export`, `import` and `conformance` refuse before anything is opened."""

import json
from pathlib import Path

import pytest

from commonhold.cli import shell

TOKEN = {"NEOSIAN_CLIENT_TOKEN": "t"}
STORES = ("NEOSIAN_POSTGRES_DSN", "NEOSIAN_CLIENT_TOKEN")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in STORES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("export", "{new}"), {}, "name a store"),
        (("export", "{new}", "--url", "ftp://x"), {}, "must start with http"),
        (("export", "{new}", "--url", "http://x"), {}, "NEOSIAN_CLIENT_TOKEN"),
        (("export", "{new}", "--url", "http://x", "--root", "{here}"), {}, "--root and --url"),
        (("export", "{new}", "--url", "http://x"), {"NEOSIAN_POSTGRES_DSN": "y"}, "exclusive"),
        (("export", "{new}", "--root", "{here}", "--schema", "s"), {}, "--schema applies only"),
        (("export", "{new}", "--root", "{new}"), {}, "is not a directory"),
        (("export", "{new}", "--root", "{here}", "--scope", "zz"), {}, "memory scope 'zz'"),
        (("export", "{new}", "--root", "{here}", "--conversation", "a/b"), {}, "id 'a/b'"),
        (("import", "{new}", "--root", "{here}"), {}, "is not a directory"),
        (("import",), {}, "FOLDER"),
        (("conformance", "--url", "ftp://x"), TOKEN, "--url must start with http:// or https://"),
        (("conformance", "--url", "http://x:99999"), TOKEN, "names no port that exists"),
        (("conformance", "--url", "http://x", "--only", "no case"), TOKEN, "leaves no case"),
        (("conformance", "--url", "http://x"), {}, "NEOSIAN_CLIENT_TOKEN"),
        (("conformance",), TOKEN, "--url"),
    ],
)
def test_a_wrong_invocation_opens_and_makes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    environment: dict[str, str],
    said: str,
) -> None:
    new, here = tmp_path / "new", tmp_path / "here"
    here.mkdir()
    filled = [part.format(new=new, here=here) for part in arguments]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status = shell.main([*filled, "--json"])
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    told = json.loads(line)
    assert (status, told["error"]) == (2, "usage")
    assert said in told["hint"]
    assert err
    assert (new.exists(), list(here.iterdir())) == (False, [])
