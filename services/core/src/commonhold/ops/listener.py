"""The operations listener: `/livez`, `/readyz` and `/metrics`, apart from what a service serves.

It asks nothing of the database, so it answers whatever state that is in.
"""

from contextlib import AsyncExitStack

from aiohttp import web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from commonhold.ops.health import Health
from commonhold.ops.lifecycle import close_later
from commonhold.ops.metrics import Metrics
from commonhold.ops.settings import Address

HEALTH = web.AppKey("health", Health)
METRICS = web.AppKey("metrics", Metrics)


def build_ops_app(health: Health, metrics: Metrics) -> web.Application:
    app = web.Application()
    app[HEALTH] = health
    app[METRICS] = metrics
    metrics.watch_readiness(lambda: health.obstacle is None)
    app.router.add_get("/livez", _livez)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/metrics", _metrics)
    return app


async def listen_ops(app: web.Application, address: Address, *, stack: AsyncExitStack) -> Address:
    """Serve until the stack closes; the real address when port 0 was asked for."""
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    close_later(stack, "ops_listener", runner.cleanup)
    site = web.TCPSite(runner, address.host, address.port)
    await site.start()
    host, port = runner.addresses[0][:2]
    return Address(host, port)


async def _livez(_request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _readyz(request: web.Request) -> web.Response:
    obstacle = request.app[HEALTH].obstacle
    if obstacle is None:
        return web.json_response({"status": "ready"})
    return web.json_response({"status": "unready", "reason": obstacle}, status=503)


async def _metrics(request: web.Request) -> web.Response:
    return web.Response(
        body=request.app[METRICS].render(), headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4}
    )
