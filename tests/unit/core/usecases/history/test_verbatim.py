"""A turn as it was said, and one of its calls."""

from commonhold.contract import Message, TextBlock
from commonhold.usecases.history.verbatim import render_call, render_turn
from tests.support.conversations import agent, call, result, turn, user

EXAMPLE = """\
Turn 1 (verbatim):
USER: Where is it?
AGENT: Looking it up.
AGENT calls search({"q":"deploy script"})
TOOL search → found it
AGENT: It lives in ops/deploy.sh"""


def test_the_example_reads_as_printed() -> None:
    told = turn(
        Message(role="system", content="Be brief."),
        user("Where is it?"),
        agent("\n Looking it up. ", call("search", q="deploy script")),
        result("found it"),
        Message(role="assistant", content="It lives in ops/deploy.sh", reasoning="hidden"),
    )
    assert render_turn(told) == EXAMPLE


def test_blocks_of_text_are_joined_and_empty_prose_is_left_out() -> None:
    blocks = (TextBlock(text="one"), TextBlock(text="two"))
    told = turn(Message(role="user", content=blocks), agent("  ", call("a")), agent(None))
    assert render_turn(told) == "Turn 1 (verbatim):\nUSER: one\ntwo\nAGENT calls a({})"


def test_a_result_longer_than_the_limit_shows_its_edges_and_how_to_open_it() -> None:
    whole, long = "h" * 2048 + "t" * 2048, "h" * 2048 + "m" * 904 + "t" * 2048
    shown = render_turn(turn(agent(None, call("get")), result(whole)))
    assert shown.endswith(f"TOOL get → {whole}")
    cut = render_turn(turn(agent(None, call("get")), result(long)))
    marker = ' … [904 characters left out; call="c1" opens this result] … '
    assert cut.endswith(f"TOOL get → {'h' * 2048}{marker}{'t' * 2048}")


def test_a_result_that_no_call_opens_is_whole() -> None:
    long = "x" * 5000
    for orphan in (result(long, None), result(long, "elsewhere")):
        assert render_turn(turn(user("q"), orphan)).endswith(f"TOOL tool → {long}")


def test_a_call_is_shown_with_its_whole_result() -> None:
    long = "x" * 5000
    told = turn(agent(None, call("get", q=1), call("put", "c2")), result(long))
    assert render_call(told, "c1") == (
        f'Turn 1, call c1 (verbatim):\nAGENT calls get({{"q":1}})\nTOOL get → {long}'
    )
    assert (
        render_call(told, "c2") == "Turn 1, call c2 (verbatim):\nAGENT calls put({})\nTOOL put → ?"
    )
    assert render_call(told, "c3") is None


def test_an_id_that_repeats_names_the_call_before_each_result() -> None:
    told = turn(
        agent(None, call("one")), result("first"), agent(None, call("two")), result("second")
    )
    assert render_turn(told).split("\n")[1:] == [
        "AGENT calls one({})",
        "TOOL one → first",
        "AGENT calls two({})",
        "TOOL two → second",
    ]
