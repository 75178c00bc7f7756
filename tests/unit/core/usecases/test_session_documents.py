"""Session documents: read with forbearance, whoever edited them."""

from commonhold.usecases.session_documents import SessionDocument, parse_session

RECORDED = """\
# demo session chat-2

- agent: demo
- conversation: chat-2
- started: 2026-11-01T09:13:00Z
- last prompt: Draft the announcement: now
- turns: 1
- continues: chat-1
- continues: chat-0
"""
SESSION = SessionDocument(
    agent="demo",
    conversation="chat-2",
    started="2026-11-01T09:13:00Z",
    last_prompt="Draft the announcement: now",
    turns="1",
    continues=("chat-1", "chat-0"),
)


def test_a_recorded_session_is_read() -> None:
    assert parse_session(RECORDED) == SESSION


def test_the_first_value_counts_and_unknown_lines_do_not() -> None:
    edited = f"notes of my own\n{RECORDED}\n- colour: blue\n- conversation: other\n  - agent: x\n"
    assert parse_session(edited) == SESSION


def test_a_document_of_another_kind_says_nothing() -> None:
    assert parse_session("# a heading\n\n- a list\n") == SessionDocument()
