"""What the Alertmanager of the stack makes of alerts of several releases."""

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.support.compose_stacks import Stack

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

URGENT = {"severity": "page"}
STATE = {**URGENT, "service": "state"}
GATEWAY = {**URGENT, "service": "gateway"}
AWAY = {**URGENT, "job": "commonhold-state", "instance": "a", "alertname": "CommonholdDatabaseDown"}
OVER = {**URGENT, "job": "commonhold-gateway", "instance": "b", "alertname": "CommonholdStateDown"}
TOLD = [
    # A database away, and the same fault seen from further off.
    {**AWAY, "namespace": "away"},
    {**STATE, "namespace": "away", "alertname": "CommonholdAvailabilityBurnFast"},
    {**URGENT, "namespace": "away", "alertname": "CommonholdToolCallsFailing"},
    # A gateway without its state service, which says nothing of another service beside it.
    {**OVER, "namespace": "over"},
    {**GATEWAY, "namespace": "over", "alertname": "CommonholdAvailabilityBurnFast"},
    {**STATE, "namespace": "over", "alertname": "CommonholdLatencyBurnFast"},
    # A release whose own database is well.
    {**STATE, "namespace": "well", "alertname": "CommonholdAvailabilityBurnFast"},
    {**STATE, "namespace": "well", "alertname": "CommonholdAvailabilityBurnSlow"},
    {**GATEWAY, "namespace": "well", "alertname": "CommonholdAvailabilityBurnSlow"},
    {**URGENT, "namespace": "well", "alertname": "CommonholdToolCallsFailing"},
]
SILENT = {
    ("away", "CommonholdAvailabilityBurnFast", "state"),
    ("away", "CommonholdToolCallsFailing", ""),
    ("over", "CommonholdAvailabilityBurnFast", "gateway"),
    ("well", "CommonholdAvailabilityBurnSlow", "state"),
}


async def test_a_fault_silences_what_follows_from_it_in_its_own_release(stack: Stack) -> None:
    async with aiohttp.ClientSession(stack.url("ALERTMANAGER_PORT")) as client:
        body = [{"labels": labels} for labels in TOLD]
        async with client.post("/api/v2/alerts", json=body) as response:
            assert response.status == 200
        async with asyncio.timeout(60):
            while True:
                silent = await _silenced(client)
                if not silent < SILENT:
                    break
                await asyncio.sleep(0.2)
    assert silent == SILENT


async def _silenced(client: aiohttp.ClientSession) -> set[tuple[str, str, str]]:
    async with client.get("/api/v2/alerts") as response:
        alerts: list[dict[str, Any]] = await response.json()
    # The stack has alerts of its own beside those told here, and they have no namespace.
    told = [alert for alert in alerts if "namespace" in alert["labels"]]
    inhibited = [alert["labels"] for alert in told if alert["status"]["inhibitedBy"]]
    return {(each["namespace"], each["alertname"], each.get("service", "")) for each in inhibited}
