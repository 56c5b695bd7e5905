"""The `eventsourcing` library's own test cases, on our recorders and a real nats-server, a fresh stream for each."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from unittest import TestCase

import msgspec
import pytest
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    ProcessRecorder,
    Tracking,
    TrackingRecorder,
)
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    InfrastructureFactoryTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)
from eventsourcing.tests.projection import EventCountersView, EventCountersViewTestCase
from eventsourcing.utils import Environment

from penstock.embedded.nats import NatsServer
from penstock.fabric.catalogue import (
    JetStreamAggregateRecorder,
    JetStreamApplicationRecorder,
    JetStreamFactory,
    JetStreamProcessRecorder,
    JetStreamTrackingRecorder,
)
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig, NatsConfig


class OnJetStream(TestCase):
    """An installation of its own for each test: `env` says where."""

    env: Environment
    factory: InfrastructureFactory[JetStreamTrackingRecorder]

    @pytest.fixture(autouse=True)
    def _install(self, nats_server: NatsServer) -> Iterator[None]:
        prefix = f"t{secrets.token_hex(4)}"
        self.env = Environment(
            "Recorder",
            {
                "PERSISTENCE_MODULE": "penstock.fabric.catalogue",
                "PENSTOCK_NATS_URL": nats_server.url,
                "PENSTOCK_FABRIC_PREFIX": prefix,
            },
        )
        asyncio.run(_change("CREATE", nats_server.url, prefix))
        self.factory = InfrastructureFactory[JetStreamTrackingRecorder].construct(self.env)
        yield
        self.factory.close()
        asyncio.run(_change("DELETE", nats_server.url, prefix))


async def _change(verb: str, url: str, prefix: str) -> None:
    config = FabricConfig(prefix=prefix)
    names = Names(prefix, config.shards)
    ours = {names.catalogue, f"KV_{names.snapshots}"}
    connection = await Connection.open(NatsConfig(url=url), names, name="test")
    for declared in declare(config, names):
        if declared.name in ours:
            await connection.api(f"STREAM.{verb}.{declared.name}", declared.config if verb == "CREATE" else None)
    await connection.close()


class TestAggregateRecorder(OnJetStream, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder()


class TestSnapshotRecorder(OnJetStream, AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.factory.aggregate_recorder(purpose="snapshots")


class TestApplicationRecorder(OnJetStream, ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestTextIds(OnJetStream, ApplicationRecorderTestCase[ApplicationRecorder]):
    """Aggregate ids may be text; also text that looks like a UUID comes back as text."""

    def new_originator_id(self) -> str:
        return str(super().new_originator_id())

    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()


class TestProcessRecorderAsApplicationRecorder(OnJetStream, ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.process_recorder()


class TestProcessRecorder(OnJetStream, ProcessRecorderTestCase):
    def create_recorder(self) -> ProcessRecorder:
        return self.factory.process_recorder()


class TestTrackingRecorder(OnJetStream, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.factory.tracking_recorder()


class TestProcessRecorderAsTrackingRecorder(OnJetStream, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.factory.process_recorder()


class TestNonInterleavingNotificationIds(OnJetStream, NonInterleavingNotificationIDsBaseCase):
    insert_num = 1000  # as many as one batch may hold

    def create_recorder(self) -> ApplicationRecorder:
        return self.factory.application_recorder()


class Counts(msgspec.Struct, frozen=True):
    created: int = 0
    subsequent: int = 0


class CountersOnJetStream(JetStreamTrackingRecorder, EventCountersView):
    """A view whose whole state is one message."""

    def get_created_event_counter(self) -> int:
        return _counts(self.state()).created

    def get_subsequent_event_counter(self) -> int:
        return _counts(self.state()).subsequent

    def incr_created_event_counter(self, tracking: Tracking) -> None:
        self.record(tracking, lambda state: _replaced(state, created=_counts(state).created + 1))

    def incr_subsequent_event_counter(self, tracking: Tracking) -> None:
        self.record(tracking, lambda state: _replaced(state, subsequent=_counts(state).subsequent + 1))


def _counts(state: bytes) -> Counts:
    return msgspec.json.decode(state, type=Counts) if state else Counts()


def _replaced(state: bytes, **changes: int) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(_counts(state), **changes))


class TestView(OnJetStream, EventCountersViewTestCase):
    def construct_event_counters_view(self) -> EventCountersView:
        return self.factory.tracking_recorder(CountersOnJetStream)  # type: ignore[return-value]


class TestFactory(OnJetStream, InfrastructureFactoryTestCase[JetStreamFactory]):  # type: ignore[misc]
    def expected_factory_class(self) -> type[JetStreamFactory]:
        return JetStreamFactory

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        return JetStreamAggregateRecorder

    def expected_application_recorder_class(self) -> type[ApplicationRecorder]:
        return JetStreamApplicationRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        return JetStreamTrackingRecorder

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        return CountersOnJetStream

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        return JetStreamProcessRecorder


# Imported to derive from; pytest would collect them here, abstract as they are.
del (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    EventCountersViewTestCase,
    InfrastructureFactoryTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)
