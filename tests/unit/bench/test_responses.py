"""Answers as they come off a socket, in whatever pieces."""

import pytest

from bench.responses import ResponseReader

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nserver: x\r\n\r\nhello"

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


def test_an_answer_in_one_piece_gives_its_status_and_body() -> None:
    reader = ResponseReader(keeps_body=True)
    assert reader.feed(ANSWER) == 200
    assert reader.body == b"hello"


@pytest.mark.parametrize("cut", range(1, len(ANSWER)))
def test_an_answer_cut_anywhere_is_whole_only_at_its_end(cut: int) -> None:
    reader = ResponseReader(keeps_body=True)
    assert reader.feed(ANSWER[:cut]) is None
    assert reader.feed(ANSWER[cut:]) == 200
    assert reader.body == b"hello"


def test_answers_that_follow_each_other_are_kept_apart() -> None:
    reader = ResponseReader(keeps_body=True)
    reader.feed(ANSWER)
    refused = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno"
    assert reader.feed(refused) == 503
    assert reader.body == b"no"


def test_an_answer_without_a_body_ends_with_its_head() -> None:
    assert ResponseReader().feed(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n") == 204


def test_a_length_inside_the_body_or_another_header_is_no_length() -> None:
    answer = b"HTTP/1.1 200 OK\r\nx-content-length: 9\r\ncontent-length: 3\r\n\r\nabc"
    assert ResponseReader().feed(answer) == 200


def test_an_answer_that_cannot_be_counted_is_refused() -> None:
    endless = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello"
    with pytest.raises(ValueError, match="without a length"):
        ResponseReader().feed(endless)


@pytest.mark.parametrize("cut", range(1, len(CHUNKED)))
def test_an_answer_in_chunks_is_whole_with_its_last_chunk(cut: int) -> None:
    reader = ResponseReader(keeps_body=True)
    assert reader.feed(CHUNKED[:cut]) is None
    assert reader.feed(CHUNKED[cut:]) == 200
    assert b"hello" in reader.body
    assert reader.feed(ANSWER) == 200
    assert reader.body == b"hello"


def test_bytes_that_nobody_asked_for_are_refused() -> None:
    with pytest.raises(ValueError, match="1 bytes more"):
        ResponseReader().feed(ANSWER + b"!")


def test_bodies_are_dropped_unless_they_are_asked_for() -> None:
    reader = ResponseReader()
    reader.feed(ANSWER)
    assert reader.body == b""
