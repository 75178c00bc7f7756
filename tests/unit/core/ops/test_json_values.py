"""What stands outside of the texts of a body, whichever way it is cut into parts."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonhold.ops import json_values
from commonhold.ops.json_values import count_values, outside_texts

TEXT = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?$)', re.DOTALL)

texts = st.text(st.sampled_from('a,[{\\"\n☃')).map(lambda text: json.dumps(text).encode())
structures = st.lists(st.sampled_from([b",", b"[", b"]", b"{", b"}", b":", b"0", b" "])).map(
    b"".join
)
bodies = st.lists(texts | structures).map(b"".join)


@pytest.fixture(params=[1, 2, 3, 7], autouse=True)
def _small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "_PART_BYTES", request.param)


@given(body=bodies, cut=st.integers(0, 10))
def test_parts_are_together_what_is_outside(body: bytes, cut: int) -> None:
    """Of a body that ends in the middle of a text, too."""
    body = body[: len(body) - cut] if cut <= len(body) else body
    assert b"".join(outside_texts(body)) == TEXT.sub(b"", body)
    assert b"".join(outside_texts(bytearray(body))) == TEXT.sub(b"", body)


def test_every_opening_of_a_value_counts() -> None:
    assert count_values(b"".join(outside_texts(b'{"a,[{":[1,2,{}],"b":"\\",["}'))) == 6
