"""As much of S3 as blobs need: objects by path, created once, read, looked at, deleted one by one or in a list."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from hashlib import sha256

from aiohttp import web


class FakeS3:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path
        body = await request.read()
        match request.method:
            case "PUT" if "If-None-Match" in request.headers and path in self.objects:
                return web.Response(status=412)
            case "PUT":
                self.objects[path] = body
                return web.Response(headers={"ETag": _etag(body)})
            case "POST" if "delete" in request.query:
                keys = re.findall(r"<Key>(.*?)</Key>", body.decode())
                for key in keys:
                    self.objects.pop(f"{path.rstrip('/')}/{key}", None)
                deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
                return web.Response(text=f"<DeleteResult>{deleted}</DeleteResult>", content_type="application/xml")
            case "DELETE":
                self.objects.pop(path, None)
                return web.Response(status=204)
        found = self.objects.get(path)
        if found is None:
            return web.Response(status=404)
        headers = {"ETag": _etag(found), "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        return web.Response(body=found, headers=headers)


def _etag(data: bytes) -> str:
    return f'"{sha256(data).hexdigest()}"'


@contextlib.asynccontextmanager
async def fake_s3() -> AsyncIterator[FakeS3]:
    fake = FakeS3()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", fake.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = "http://{}:{}".format(*runner.addresses[0])
    try:
        yield fake
    finally:
        await runner.cleanup()
