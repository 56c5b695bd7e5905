"""HTTP: a server on aiohttp, problems for errors, and the routes every process has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from time import perf_counter
from typing import NamedTuple

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from opentelemetry.trace import SpanKind

from penstock.kit import edge, metrics
from penstock.kit.errors import AddressUnavailable
from penstock.kit.health import Health
from penstock.kit.tracing import span

_FIRST_ERROR = 400
_CLIENT_WENT_AWAY = 499

_encode = msgspec.json.Encoder().encode


class HttpServer(NamedTuple):
    port: int
    """The one that was taken, if 0 was asked for."""
    drain: Callable[[], Awaitable[None]]
    """Accept nothing more, and wait for what is in flight."""


@asynccontextmanager
async def serving(
    routes: Iterable[web.AbstractRouteDef], host: str, port: int, *, body_max: int, grace: float
) -> AsyncIterator[HttpServer]:
    app = web.Application(middlewares=[_edge], client_max_size=body_max)
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise AddressUnavailable(host=host, port=port, reason=error.strerror) from error
        yield HttpServer(runner.addresses[0][1], runner.cleanup)
    finally:
        await runner.cleanup()


def json(body: object, status: int = 200) -> web.Response:
    return web.Response(body=_encode(body), status=status, content_type="application/json")


def health_routes(health: Health) -> list[web.RouteDef]:
    async def live(_request: web.Request) -> web.Response:
        return json({"live": True})

    async def ready(_request: web.Request) -> web.Response:
        report = await health.readiness()
        return json(report, 200 if report.ready else 503)

    return [web.get("/health/live", live), web.get("/health/ready", ready)]


def metrics_route(health: Health) -> web.RouteDef:
    async def scrape(request: web.Request) -> web.Response:
        await health.readiness()  # some of the metrics are its findings
        body, content_type = metrics.exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    return web.get("/metrics", scrape)


@web.middleware
async def _edge(request: web.Request, handler: Handler) -> web.StreamResponse:
    resource = request.match_info.route.resource
    # The pattern, not the path: a label per path would be one per run.
    method = f"{request.method} {resource.canonical if resource else 'unknown'}"
    started = perf_counter()
    status = _CLIENT_WENT_AWAY
    try:
        with span(method, request.headers, SpanKind.SERVER):
            response = await handler(request)
            status = response.status
            return response
    except web.HTTPException as error:  # aiohttp's own: no such route, wrong method, body too large
        status = error.status
        if status < _FIRST_ERROR:
            raise
        answer = _problem({"type": "about:blank", "title": error.reason, "status": status}, status)
        if "Allow" in error.headers:
            answer.headers["Allow"] = error.headers["Allow"]
        return answer
    except Exception as error:  # noqa: BLE001 - the edge is where every error ends
        problem = edge.problem(edge.told(error, method))
        status = problem.status
        return _problem(problem, status)
    finally:
        edge.requests.labels(method, str(status)).inc()
        edge.request_seconds.labels(method).observe(perf_counter() - started)


def _problem(body: object, status: int) -> web.Response:
    return web.Response(body=_encode(body), status=status, content_type="application/problem+json")
