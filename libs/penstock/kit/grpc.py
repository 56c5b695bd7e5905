"""What every call over gRPC passes: a span, metrics, and errors turned into status and rich details."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from time import perf_counter
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from opentelemetry.trace import SpanKind

from penstock.core.errors import PenstockError
from penstock.kit import edge
from penstock.kit.tracing import span

DETAILS_KEY = "grpc-status-details-bin"

Context = grpc.aio.ServicerContext[Any, Any]
Behaviour = Callable[[Any, Context], Any]

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class EdgeInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg] # generic in the stubs only
    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:  # noqa: ANN401 - grpc-stubs give the handler no way to be rebuilt
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method.lstrip("/")
        kind = next(kind for kind in _KINDS if getattr(handler, kind) is not None)
        return handler._replace(**{kind: _through_the_edge(getattr(handler, kind), method)})


def _through_the_edge(behaviour: Behaviour, method: str) -> Behaviour:
    # grpc.aio looks at the function to tell a generator from a coroutine, so the wrapper must be of its kind.
    if inspect.isasyncgenfunction(behaviour):

        async def stream(request: object, context: Context) -> AsyncIterator[Any]:
            async with _call(method, context), aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response

        return stream

    async def answer(request: object, context: Context) -> object:
        async with _call(method, context):
            return await behaviour(request, context)

    return answer


@asynccontextmanager
async def _call(method: str, context: Context) -> AsyncIterator[None]:
    headers = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    started = perf_counter()
    status = "CANCELLED"
    try:
        with span(method, headers, SpanKind.SERVER):
            yield
            status = "OK"
    except grpc.aio.AbortError:
        status = context.code().name
        raise
    except Exception as error:  # noqa: BLE001 - the edge is where every error ends
        seen = edge.told(error, method)
        status = edge.canonical(seen)
        await _abort(context, seen)
    finally:
        edge.requests.labels(method, status).inc()
        edge.request_seconds.labels(method).observe(perf_counter() - started)


async def _abort(context: Context, error: PenstockError) -> None:
    problem = edge.problem(error)
    info = any_pb2.Any()
    info.Pack(error_details_pb2.ErrorInfo(reason=problem.code, domain=edge.DOMAIN, metadata=problem.attributes))
    code = grpc.StatusCode[edge.canonical(error)]
    status = status_pb2.Status(code=code.value[0], message=problem.detail, details=[info])
    await context.abort(code, problem.detail, trailing_metadata=((DETAILS_KEY, status.SerializeToString()),))
