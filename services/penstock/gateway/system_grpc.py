"""The system calls over gRPC."""

from __future__ import annotations

from typing import Any

import grpc
import msgspec

from penstock.fabric.ports.topology import StreamReport
from penstock.gateway.system import System
from penstock.v1 import system_pb2 as pb
from penstock.v1.system_pb2_grpc import SystemServiceServicer

Context = grpc.aio.ServicerContext[Any, Any]

_KINDS = {"stream": pb.STREAM_KIND_STREAM, "bucket": pb.STREAM_KIND_BUCKET}


class SystemServicer(SystemServiceServicer):
    def __init__(self, system: System) -> None:
        self._system = system

    async def GetSystemInfo(  # noqa: N802 - named by the contract
        self, _request: pb.GetSystemInfoRequest, _context: Context
    ) -> pb.GetSystemInfoResponse:
        info = self._system.info()
        return pb.GetSystemInfoResponse(
            **msgspec.structs.asdict(info.identity), nats=pb.NatsServer(**msgspec.structs.asdict(info.nats))
        )

    async def GetTopology(  # noqa: N802 - named by the contract
        self, _request: pb.GetTopologyRequest, _context: Context
    ) -> pb.GetTopologyResponse:
        return pb.GetTopologyResponse(streams=map(_stream, await self._system.topology()))


def _stream(report: StreamReport) -> pb.Stream:
    return pb.Stream(
        name=report.name,
        kind=_KINDS[report.kind],
        subjects=report.subjects,
        replicas=report.replicas,
        retention=report.retention,
        messages=report.messages,
        bytes=report.bytes,
        missing=report.missing,
        drift=[pb.Drift(field=d.field, declared=d.declared, actual=d.actual) for d in report.drift],
    )
