"""The system calls over REST, with the field names of the contract."""

from __future__ import annotations

import msgspec
from aiohttp import web

from penstock.gateway.system import System
from penstock.kit.http import json


def routes(system: System) -> list[web.RouteDef]:
    async def get_system(_request: web.Request) -> web.Response:
        info = system.info()
        return json(msgspec.structs.asdict(info.identity) | {"nats": info.nats})

    async def get_topology(_request: web.Request) -> web.Response:
        return json({"streams": await system.topology()})

    return [web.get("/api/v1/system", get_system), web.get("/api/v1/topology", get_topology)]
