"""The envelope and the frame of a change, to the byte."""

from commonhold.usecases.envelopes import envelope_json, fail, succeed
from commonhold.usecases.receipts import Receipt, memory_write_frame

RECEIPT = Receipt(command="create", mount_path="user", path="/user/p", version=2)


def test_a_success_shows_its_data_and_hint_and_never_its_receipt() -> None:
    result = succeed("Created /user/p (v2)", hint="Replaced — v1", receipt=RECEIPT)
    assert envelope_json(result) == (
        '{"success": true, "data": "Created /user/p (v2)", '
        '"system_reminder": "Replaced \\u2014 v1"}'
    )


def test_absent_fields_are_left_out() -> None:
    assert envelope_json(succeed("")) == '{"success": true, "data": ""}'
    assert envelope_json(fail("no\nway")) == '{"success": false, "error": "no\\nway"}'


def test_the_class_of_a_failure_stands_before_the_hint() -> None:
    assert envelope_json(fail("no", hint="so", code="tool_invalid_arguments")) == (
        '{"success": false, "error": "no", "code": "tool_invalid_arguments", '
        '"system_reminder": "so"}'
    )


def test_a_frame_names_the_change_without_its_content() -> None:
    frame = memory_write_frame(RECEIPT, sequence=4, tool_call_id="c1")
    assert frame == {
        "event": "memory_write",
        "sequence": 4,
        "tool_call_id": "c1",
        "command": "create",
        "path": "/user/p",
        "version": 2,
    }


def test_the_frame_of_a_rename_names_where_it_came_from() -> None:
    receipt = Receipt(
        command="rename", mount_path="user", path="/user/b", version=1, previous_path="/user/a"
    )
    frame = memory_write_frame(receipt, sequence=1, tool_call_id="c1")
    assert (frame["path"], frame["previous_path"]) == ("/user/b", "/user/a")
