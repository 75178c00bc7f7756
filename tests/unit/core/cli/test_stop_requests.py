"""Signals become something to wait for, and nothing else changes."""

import os
import signal
import subprocess
import sys
import time

import pytest

from commonhold.cli.stop_requests import StopRequests

LONG_SECONDS = 30.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_stop_ends_the_wait_and_is_remembered(number: signal.Signals) -> None:
    with StopRequests() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        began = time.monotonic()
        stop.wait(LONG_SECONDS)
        assert time.monotonic() - began < LONG_SECONDS / 2
        assert stop.requested


def test_the_end_of_a_child_ends_the_wait_and_asks_for_nothing() -> None:
    with StopRequests() as stop, subprocess.Popen([sys.executable, "-c", ""]) as child:
        began = time.monotonic()
        stop.wait(LONG_SECONDS)
        assert child.wait() == 0
        assert time.monotonic() - began < LONG_SECONDS / 2
        assert not stop.requested


def test_without_a_signal_the_wait_lasts_as_long_as_asked() -> None:
    with StopRequests() as stop:
        began = time.monotonic()
        stop.wait(0.05)
        assert time.monotonic() - began >= 0.05
        assert not stop.requested


def test_an_old_signal_does_not_end_the_next_wait() -> None:
    with StopRequests() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        stop.wait(LONG_SECONDS)
        began = time.monotonic()
        stop.wait(0.05)
        assert time.monotonic() - began >= 0.05


def test_the_handlers_before_come_back() -> None:
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    with StopRequests():
        assert signal.getsignal(signal.SIGINT) != before[signal.SIGINT]
    assert {n: signal.getsignal(n) for n in before} == before


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopRequests() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            stop.wait(0.05)
            assert not stop.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupt_stops_a_background_job_whose_shell_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopRequests() as requests:
            signal.raise_signal(signal.SIGINT)
            assert requests.requested
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
