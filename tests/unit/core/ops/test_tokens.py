"""The token table, row by row of docs/reference/grammar.md, section 5."""

import pytest

from commonhold.ops.tokens import Client, TokenTable, parse_token_table


def only(text: str) -> tuple[str, Client]:
    (entry,) = parse_token_table(text)
    return entry.token.reveal(), entry.client


@pytest.mark.parametrize("text", ["tok", "a,b c", "client:a", "é"])
def test_a_value_without_equals_is_one_bare_token(text: str) -> None:
    assert only(text) == (text, Client(actor="client:default"))


@pytest.mark.parametrize(
    ("text", "token", "client"),
    [
        ("client:a=t", "t", Client(actor="client:a")),
        ("client:a=t=u", "t=u", Client(actor="client:a")),
        (
            "client:alice@user:alice+alice-=tok",
            "tok",
            Client(actor="client:alice", scope_prefix="user:alice", id_prefix="alice-"),
        ),
        (
            "client:reader@user:alice=t",
            "t",
            Client(actor="client:reader", scope_prefix="user:alice"),
        ),
        ("client:conv+bob-=t", "t", Client(actor="client:conv", id_prefix="bob-")),
        ("client:a+x@y=t", "t", Client(actor="client:a", id_prefix="x@y")),
        ("client:a@u+v+w=t", "t", Client(actor="client:a", scope_prefix="u", id_prefix="v+w")),
        ("client:a@u@v=t", "t", Client(actor="client:a", scope_prefix="u@v")),
        ("client:a#4=t", "t", Client(actor="client:a#4")),
        ("client:a/conv:b=t", "t", Client(actor="client:a/conv:b")),
        ("client:a=t t", "t t", Client(actor="client:a")),
    ],
)
def test_an_entry_is_split_exactly(text: str, token: str, client: Client) -> None:
    assert only(text) == (token, client)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client:a=t,", "entry 2 is malformed"),
        ("client:a=t,u", "entry 2 is malformed"),
        ("client:a=", "entry 1 is malformed"),
        (",client:a=t", "entry 1 is malformed"),
        ("Client:a=t", "entry 1 has an invalid actor"),
        ("client=t", "entry 1 has an invalid actor"),
        ("=t", "entry 1 has an invalid actor"),
        ("client:a = t", "entry 1 has an invalid actor"),
        ("client:a=t, client:b=u", "entry 2 has an invalid actor"),
        (" t", "has blanks around it"),
        ("t ", "has blanks around it"),
        ("t\t", "has blanks around it"),
        ("t\n", "has blanks around it"),
        ("t\n\n", "has blanks around it"),
        ("\u00a0t", "has blanks around it"),
        ("a\r\nb", "has blanks around it"),
        ("a\x00b", "has blanks around it"),
        ("client:a= t", "entry 1 has a token with blanks around it"),
        ("client:a=t,client:b=u ", "entry 2 has a token with blanks around it"),
        ("client:a=t\n", "entry 1 has a token with blanks around it"),
        ("client:a@=t", "entry 1 has an empty prefix"),
        ("client:a+=t", "entry 1 has an empty prefix"),
        ("client:a@+x=t", "entry 1 has an empty prefix"),
        ("client:a@x+=t", "entry 1 has an empty prefix"),
        ("client:a=t,client:b=t", "entry 2 repeats a token or an actor"),
        ("client:a=t,client:b=u,client:a=v", "entry 3 repeats a token or an actor"),
    ],
)
def test_a_bad_entry_is_named_by_its_number(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_token_table(text)


@pytest.mark.parametrize(
    "text",
    [
        "client:a=ok,hunter2",
        "hunter2=ok",
        "Client:a=hunter2",
        "client:a@=hunter2",
        "client:a=hunter2,client:b=hunter2",
    ],
)
def test_a_bad_entry_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="entry") as caught:
        parse_token_table(text)
    assert "hunter2" not in str(caught.value)


def test_a_token_finds_its_client_and_nothing_near_it_does() -> None:
    table = TokenTable(parse_token_table("client:a=one,client:b=two"))
    found = {
        header: client.actor if client else None
        for header in ("Bearer one", "Bearer two", "Bearer on", "Bearer one ", "bearer one", "")
        for client in [table.identify(header)]
    }
    assert found == {
        "Bearer one": "client:a",
        "Bearer two": "client:b",
        "Bearer on": None,
        "Bearer one ": None,
        "bearer one": None,
        "": None,
    }
    assert table.identify(None) is None
    assert table.identify("Bearer \udcff") is None


def test_a_token_that_is_not_ascii_is_compared_as_utf_8() -> None:
    table = TokenTable(parse_token_table("schlüssel"))
    assert table.identify("Bearer schlüssel") is not None
    assert table.identify("Bearer schlussel") is None


def test_of_two_tables_the_current_one_says_whose_a_token_is() -> None:
    table = TokenTable(
        parse_token_table("client:new=shared,client:b=b"),
        previous=parse_token_table("client:old=shared,client:gone=gone"),
    )
    shared, gone = table.identify("Bearer shared"), table.identify("Bearer gone")
    assert shared is not None
    assert gone is not None
    assert (shared.actor, gone.actor) == ("client:new", "client:gone")


def test_tokens_do_not_print() -> None:
    assert "hunter2" not in repr(parse_token_table("client:a=hunter2"))


def test_a_missing_half_of_an_allowance_is_not_alike() -> None:
    neither = Client(actor="a")
    scope_only = Client(actor="a", scope_prefix="user:alice")
    id_only = Client(actor="a", id_prefix="bob-")
    assert [client.is_constrained for client in (neither, scope_only, id_only)] == [
        False,
        True,
        True,
    ]
    assert scope_only.reaches_scope("user:alice2")
    assert not scope_only.reaches_scope("user:bob")
    assert not scope_only.reaches_conversation("alice-1")
    assert id_only.reaches_scope("anything")
    assert id_only.reaches_conversation("bob-1")
    assert not id_only.reaches_conversation("alice-1")
    assert neither.reaches_scope("x")
    assert neither.reaches_conversation("x")
