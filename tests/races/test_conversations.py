"""Sixty-four clients append to one conversation through two replicas."""

from tests.races.conftest import Scaled, Summarise
from tests.support.histories.records import Unknown
from tests.support.load.crews import Crew, Task
from tests.support.load.stands import Stand, judge

APPENDERS = 64


def test_appenders_of_one_conversation_share_its_numbers(
    crew: Crew, stand: Stand, scaled: Scaled, summarise: Summarise
) -> None:
    arguments = {"conversation": "crowd", "count": scaled(25)}
    attempts = crew.run(
        stand.ports,
        [
            Task(name=f"crowd{client}", program="append", arguments=arguments)
            for client in range(APPENDERS)
        ],
    )
    states = stand.conversations(["crowd"])
    summarise(attempts, clients=APPENDERS, turns=len(states[0].turns))
    assert [one for one in attempts if isinstance(one.outcome, Unknown)] == []
    assert len(states[0].turns) == APPENDERS * scaled(25)
    assert judge(attempts, conversations=states) == []
