from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from penstock.fabric.errors import BlobMissing
from penstock.kit import http
from penstock.kit.errors import AddressUnavailable
from penstock.kit.health import Health

HOST = "127.0.0.1"


class Handlers:
    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()

    async def missing(self, _request: web.Request) -> web.Response:
        raise BlobMissing(digest="d")

    async def broken(self, _request: web.Request) -> web.Response:
        raise OSError("secret")

    async def moved(self, _request: web.Request) -> web.Response:
        raise web.HTTPFound("/health/live")

    async def slow(self, _request: web.Request) -> web.Response:
        self.entered.set()
        await self.release.wait()
        return http.json({"done": True})

    async def echo(self, request: web.Request) -> web.Response:
        return http.json(len(await request.read()))


class Site:
    def __init__(self, server: http.HttpServer, session: aiohttp.ClientSession, handlers: Handlers) -> None:
        self.server, self.session, self.handlers = server, session, handlers

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self.server.port}{path}"

    async def get(self, path: str) -> tuple[int, str, Any]:
        async with self.session.get(self.url(path)) as response:
            return response.status, response.content_type, await response.json(content_type=None)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    handlers, health = Handlers(), Health()
    routes = [
        *(web.get(f"/{name}", getattr(handlers, name)) for name in ("missing", "broken", "moved", "slow")),
        web.post("/echo", handlers.echo),
        *http.health_routes(health),
        http.metrics_route(health),
    ]
    async with (
        aiohttp.ClientSession() as session,
        http.serving(routes, HOST, 0, body_max=10, grace=5.0) as server,
    ):
        yield Site(server, session, handlers)


async def test_an_error_of_ours_becomes_a_problem(site: Site) -> None:
    status, content_type, body = await site.get("/missing")
    assert (status, content_type) == (404, "application/problem+json")
    assert (body["code"], body["attributes"]) == (BlobMissing.code, {"digest": "d"})


async def test_any_other_error_leaks_nothing(site: Site) -> None:
    status, content_type, body = await site.get("/broken")
    assert (status, content_type) == (500, "application/problem+json")
    assert body["attributes"].keys() == {"incident"}
    assert "secret" not in str(body)


async def test_an_unknown_route_is_a_problem_too(site: Site) -> None:
    status, content_type, body = await site.get("/nowhere")
    assert (status, content_type, body["status"]) == (404, "application/problem+json", 404)


async def test_a_wrong_method_says_which_are_right(site: Site) -> None:
    async with site.session.post(site.url("/missing")) as response:
        assert (response.status, response.content_type) == (405, "application/problem+json")
        assert "GET" in response.headers["Allow"]


async def test_a_redirect_is_no_problem(site: Site) -> None:
    async with site.session.get(site.url("/moved"), allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, "/health/live")


async def test_a_body_over_the_limit_is_refused(site: Site) -> None:
    async with site.session.post(site.url("/echo"), data=b"x" * 11) as response:
        assert (response.status, response.content_type) == (413, "application/problem+json")


async def test_alive_does_not_mean_ready(site: Site) -> None:
    assert (await site.get("/health/live"))[0] == 200
    status, _, body = await site.get("/health/ready")
    assert (status, body["phase"]) == (503, "starting")


async def test_metrics_count_requests_by_route_and_not_by_path(site: Site) -> None:
    await site.get("/missing")
    await site.get("/nowhere/at/all")
    async with site.session.get(site.url("/metrics")) as response:
        text = await response.text()
    assert 'penstock_requests_total{method="GET /missing",status="404"}' in text
    assert "/nowhere/at/all" not in text
    assert "penstock_ready 0.0" in text


async def test_draining_finishes_what_is_in_flight_and_accepts_nothing_more(site: Site) -> None:
    slow = asyncio.create_task(site.get("/slow"))
    await site.handlers.entered.wait()
    draining = asyncio.ensure_future(site.server.drain())
    await asyncio.sleep(0)
    site.handlers.release.set()
    assert (await slow)[0] == 200
    await draining
    with pytest.raises(aiohttp.ClientConnectionError):
        await site.get("/health/live")


async def test_a_port_that_is_taken_is_a_clear_error(site: Site) -> None:
    with pytest.raises(AddressUnavailable) as caught:
        async with http.serving([], HOST, site.server.port, body_max=1, grace=1.0):
            pass
    assert caught.value.attributes["port"] == site.server.port
