"""The file of gardens: what it says, and that a mistake names its line and its reason."""

from datetime import timedelta
from pathlib import Path

import pytest

from commonhold.contract.errors import ConfigurationError
from commonhold.usecases.mounts import Mount
from commonhold_maintenance.gardens import ErasureRule, only_planned, read_gardens
from commonhold_maintenance.schedules import Schedule

WHOLE = """
[gardens.home]
mounts = [
  {scope = "user:ana", path = "user"},
  {scope = "board:x", path = "board", edit_only = true},
]
interval = "36h"
jitter = 0.05
min_age_days = 3
model = true
dry_run = true

[gardens.work]
mounts = [{scope = "project:erp", path = "project"}]
cron = "15 3 * * *"

[retention]
cron = "0 4 * * 0"

[[retention.rules]]
conversations = "chat-"
redact_older_than = "90d"

[[retention.rules]]
scope = "user:"
redact_older_than = "400d"

[[retention.rules]]
conversations = "case-"
hold = true

[[retention.rules]]
scope = "user:counsel"
hold = true
"""
HOME = '[gardens.home]\nmounts = [{scope = "user:ana", path = "user"}]\n'


HELD = '[[retention.rules]]\nscope = "user:ana"\nhold = true\n'
NOTHING = "nothing to do: no [gardens.NAME], and no rule with redact_older_than"


def refusal(folder: Path, text: str) -> str:
    path = folder / "gardens.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_gardens(str(path))
    return refused.value.message.removeprefix(f"COMMONHOLD_GARDENS: {path}")


def test_a_whole_file_says_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "gardens.toml"
    path.write_text(WHOLE)
    file = read_gardens(str(path))
    home, work = file.gardens
    assert home.garden.mounts.mounts == (
        Mount(scope="user:ana", mount_path="user"),
        Mount(scope="board:x", mount_path="board", edit_only=True),
    )
    assert (home.garden.actor, home.garden.min_age_days) == ("gardener:home", 3)
    assert (home.garden.dry_run, home.asks_model) == (True, True)
    assert home.schedule == Schedule(interval=timedelta(hours=36), jitter=0.05)
    assert (work.garden.dry_run, work.asks_model, work.garden.min_age_days) == (False, False, 7)
    assert work.schedule == Schedule(cron="15 3 * * *")
    assert file.holds.scopes == ("user:counsel",)
    assert file.holds.conversations == ("case-",)
    assert home.garden.holds == file.holds
    assert file.retention is not None
    assert file.retention.rules == (
        ErasureRule(prefix="chat-", older_than=timedelta(days=90)),
        ErasureRule(about="scope", prefix="user:", older_than=timedelta(days=400)),
    )
    assert file.retention.schedule == Schedule(cron="0 4 * * 0")


def test_a_dry_run_plans_everything(tmp_path: Path) -> None:
    path = tmp_path / "gardens.toml"
    path.write_text(WHOLE)
    planned = only_planned(read_gardens(str(path)))
    assert all(one.garden.dry_run for one in planned.gardens)
    assert planned.retention is not None
    assert planned.retention.dry_run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f", line 1: {NOTHING}"),
        (f"[retention]\ninterval = '1h'\n{HELD}", f", line 1: {NOTHING}"),
        (f"{HOME}[garden]\n", ", line 3: unknown section 'garden'"),
        (f"{HOME}min_age_days = -1\n", ", line 3: min_age_days must not be negative"),
        (f'{HOME}intervall = "1h"\n', ", line 3: the entry contains unknown field `intervall`"),
        (f'{HOME}interval = "soon"\n', ", line 3: not an interval: 'soon' (e.g. 24h, 30m or 7d)"),
        (f'{HOME}interval = "0h"\n', ", line 3: not an interval: '0h' (e.g. 24h, 30m or 7d)"),
        (f'{HOME}cron = "61 * * * *"\n', ", line 3: not a cron line of five fields: '61 * * * *'"),
        (
            f'{HOME}cron = "0 0 3 * * *"\n',
            ", line 3: not a cron line of five fields: '0 0 3 * * *'",
        ),
        (f'{HOME}cron = "R 3 * * *"\n', ", line 3: not a cron line of five fields: 'R 3 * * *'"),
        (
            f'{HOME}cron = "0 3 r(1-9)/2 * *"\n',
            ", line 3: not a cron line of five fields: '0 3 r(1-9)/2 * *'",
        ),
        (
            f'{HOME}cron = "0 3 30 2 *"\n',
            ", line 3: a cron line whose day never comes: '0 3 30 2 *'",
        ),
        (
            f'{HOME}interval = "1h"\ncron = "0 3 * * *"\n',
            ", line 4: give cron or interval, not both",
        ),
        (f"{HOME}jitter = 0.2\n", ", line 3: jitter must be from 0 to 0.1"),
        ("[gardens.home]\nmounts = []\n", ", line 2: at least one mount is needed"),
        (
            (
                '[gardens.home]\nmounts = [\n  {scope = "user:ana", path = "a"},\n'
                '  {scope = "user:bo", path = "a"},\n]\n'
            ),
            ", line 2: mount paths must be unique",
        ),
        (
            '[gardens."My Garden"]\nmounts = []\n',
            (
                ", line 1: 'My Garden' names no garden: lower-case letters, digits, '.', '_'"
                " and '-', and not 'retention'"
            ),
        ),
        (
            f'{HOME}[[retention.rules]]\nscope = "a:"\nredact_older_than = "9d"\nhold = true\n',
            ", line 3: a rule says redact_older_than or hold = true",
        ),
        (
            f'{HOME}[[retention.rules]]\nconversations = "c"\nredact_older_than = "9 days"\n',
            ", line 3: not a duration: '9 days' (e.g. 30d or 12h)",
        ),
        (
            f"{HOME}[[retention.rules]]\nhold = true\n",
            ", line 3: a rule is about scope or conversations, a prefix of either",
        ),
        (
            f'{HOME}[[retention.rules]]\nconversations = "c"\n',
            ", line 3: a rule says redact_older_than or hold = true",
        ),
    ],
)
def test_a_mistake_names_its_line_and_its_reason(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, text) == expected


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^COMMONHOLD_GARDENS: .*none.toml cannot be"):
        read_gardens(str(tmp_path / "none.toml"))
