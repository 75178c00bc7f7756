"""Virtual paths: which mount and which document they name."""

import pytest

from commonhold.contract import PathInvalidError
from commonhold.usecases.mount_tokens import parse_mounts
from commonhold.usecases.virtual_paths import resolve, resolve_document

TABLE = parse_mounts(["scope=user:ana,path=user", "scope=kb:h,path=kb,ro"])


@pytest.mark.parametrize(
    ("path", "document_path"),
    [
        ("/user/prefs", "prefs"),
        ("user/prefs", "prefs"),
        ("/user/prefs/", "prefs"),
        ("//user/prefs//", "prefs"),
        ("/user", ""),
        ("/user/", ""),
        ("/user//x", "/x"),
        ("/user/../x", "../x"),
        ("/user/notes/a.md", "notes/a.md"),
    ],
)
def test_a_path_names_a_document_of_a_mount(path: str, document_path: str) -> None:
    place = resolve(TABLE, path)
    assert (place.mount.mount_path, place.document_path) == ("user", document_path)


@pytest.mark.parametrize("path", ["", "/", "///"])
def test_the_root_is_no_mount(path: str) -> None:
    with pytest.raises(PathInvalidError) as refusal:
        resolve(TABLE, path)
    assert (refusal.value.path, refusal.value.reason) == (path, "the root is not a single mount")


@pytest.mark.parametrize(
    ("path", "name"), [("/nope", "'nope'"), ("/User/x", "'User'"), ("/it's/x", '"it\'s"')]
)
def test_an_unknown_mount_is_answered_with_the_known_ones(path: str, name: str) -> None:
    with pytest.raises(PathInvalidError) as refusal:
        resolve(TABLE, path)
    assert refusal.value.path == path
    assert refusal.value.reason == f"no mount named {name} (available mounts: /user, /kb)"


def test_the_root_of_a_mount_is_no_document() -> None:
    with pytest.raises(PathInvalidError) as refusal:
        resolve_document(TABLE, "/user/")
    assert refusal.value.reason == "a mount root is not a document"
