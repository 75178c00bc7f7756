"""Which cases a run has."""

import re

from bench.run import CASES, ON_REQUEST, chosen
from tests.support.markdown import REPOSITORY, literals, section, tables


def test_what_takes_half_an_hour_is_only_run_by_its_name() -> None:
    assert set(CASES) - set(chosen(None)) == ON_REQUEST
    assert chosen(["reads", "large-store"]) == ["reads", "large-store"]


def test_the_page_says_of_every_case_whether_it_was_measured() -> None:
    said = section((REPOSITORY / "bench/README.md").read_text(), "What was measured")
    measured = {literals(row[0])[0] for table in tables(said) for row in table}
    (missing,) = re.findall(r"^Of these no result was kept(.*?)\.$", said, re.MULTILINE | re.DOTALL)
    assert measured | {*literals(missing)} == CASES.keys()
    assert measured.isdisjoint(literals(missing))
