"""The interceptor on a real server, with handlers of every shape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status
from opentelemetry import trace

from penstock.core.errors import PenstockError
from penstock.fabric.errors import FabricError, LogConflict
from penstock.kit.grpc import EdgeInterceptor
from penstock.kit.metrics import REGISTRY

ERROR = LogConflict(run="r1", expected=7)
RAISED: dict[bytes, Exception] = {
    b"ours": ERROR,
    b"any": OSError("secret"),
    b"long": FabricError(reason="x" * 100_000),
}


async def unary(request: bytes, context: Any) -> bytes:  # noqa: ANN401 - grpc's own
    if request == b"abort":
        await context.abort(grpc.StatusCode.NOT_FOUND, "as the handler said")
    if request in RAISED:
        raise RAISED[request]
    if request == b"trace":
        return f"{trace.get_current_span().get_span_context().trace_id:032x}".encode()
    return request


async def stream(request: bytes, _context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - grpc's own
    yield b"first"
    raise RAISED[request]


async def writer(request: bytes, context: Any) -> None:  # noqa: ANN401 - grpc's own
    await context.write(b"first")
    raise RAISED[request]


async def collect(requests: AsyncIterator[bytes], _context: Any) -> bytes:  # noqa: ANN401 - grpc's own
    last = [request async for request in requests][-1]
    if last in RAISED:
        raise RAISED[last]
    return last


@pytest.fixture
async def channel() -> AsyncIterator[grpc.aio.Channel]:
    server = grpc.aio.server(interceptors=[EdgeInterceptor()])
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
        "Writer": grpc.unary_stream_rpc_method_handler(writer),
        "Collect": grpc.stream_unary_rpc_method_handler(collect),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.T", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)


async def call(channel: grpc.aio.Channel, method: str, request: bytes, **options: Any) -> bytes:  # noqa: ANN401
    path, timeout = f"/test.T/{method}", 10
    if method in {"Stream", "Writer"}:
        responses = channel.unary_stream(path, None, None)(request, timeout=timeout)
        return b"".join([response async for response in responses])
    if method == "Collect":
        return bytes(await channel.stream_unary(path, None, None)(iter([b"a", request]), timeout=timeout))
    return bytes(await channel.unary_unary(path, None, None)(request, timeout=timeout, **options))


async def failure(channel: grpc.aio.Channel, method: str, request: bytes) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(channel, method, request)
    return caught.value


def error_info(error: grpc.aio.AioRpcError) -> Any:  # noqa: ANN401 - google's stubs are untyped
    info = error_details_pb2.ErrorInfo()
    status = rpc_status.from_call(error)  # type: ignore[arg-type] # an AioRpcError has all that is needed
    assert status.details[0].Unpack(info)
    return info


@pytest.mark.parametrize("method", ["Unary", "Stream", "Writer", "Collect"])
async def test_an_error_of_ours_arrives_with_status_code_and_attributes(channel: grpc.aio.Channel, method: str) -> None:
    error = await failure(channel, method, b"ours")
    info = error_info(error)
    assert error.code() is grpc.StatusCode.ABORTED
    assert (info.reason, info.domain) == (ERROR.code, "penstock")
    assert dict(info.metadata) == {"run": "r1", "expected": "7"}
    assert ERROR.hint in (error.details() or "")


@pytest.mark.parametrize("method", ["Unary", "Stream", "Writer", "Collect"])
async def test_any_other_error_is_internal_and_leaks_nothing(channel: grpc.aio.Channel, method: str) -> None:
    error = await failure(channel, method, b"any")
    info = error_info(error)
    assert error.code() is grpc.StatusCode.INTERNAL
    assert (info.reason, set(info.metadata)) == (PenstockError.code, {"incident"})
    assert "secret" not in f"{error.details()}{info}"


async def test_a_very_long_error_still_arrives(channel: grpc.aio.Channel) -> None:
    error = await failure(channel, "Unary", b"long")
    assert error_info(error).reason == FabricError.code


async def test_a_handler_may_abort_by_itself(channel: grpc.aio.Channel) -> None:
    error = await failure(channel, "Unary", b"abort")
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "as the handler said")


async def test_calls_are_counted_by_method_and_status(channel: grpc.aio.Channel) -> None:
    def counted(status: str) -> float:
        labels = {"method": "test.T/Unary", "status": status}
        return REGISTRY.get_sample_value("penstock_requests_total", labels) or 0.0

    before = counted("OK"), counted("ABORTED"), counted("NOT_FOUND")
    assert await call(channel, "Unary", b"echo") == b"echo"
    await failure(channel, "Unary", b"ours")
    await failure(channel, "Unary", b"abort")
    assert (counted("OK"), counted("ABORTED"), counted("NOT_FOUND")) == tuple(count + 1 for count in before)


async def test_a_call_continues_the_trace_of_its_caller(channel: grpc.aio.Channel) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    metadata = (("traceparent", f"00-{trace_id}-b7ad6b7169203331-01"),)
    answer = await call(channel, "Unary", b"trace", metadata=metadata)
    assert answer == trace_id.encode()
