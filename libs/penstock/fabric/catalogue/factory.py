"""What an `eventsourcing` application asks for its recorders: `PERSISTENCE_MODULE=penstock.fabric.catalogue`.

Where NATS is comes from Penstock's own configuration (`PENSTOCK_*`), read from the application's environment.
"""

from __future__ import annotations

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    InfrastructureFactoryError,
    ProcessRecorder,
)
from eventsourcing.utils import Environment, EnvType, resolve_topic

from penstock.core.errors import PenstockError
from penstock.fabric.catalogue.events import JetStreamAggregateRecorder
from penstock.fabric.catalogue.link import Link
from penstock.fabric.catalogue.notifications import JetStreamApplicationRecorder, JetStreamProcessRecorder
from penstock.fabric.catalogue.positions import Positions
from penstock.fabric.catalogue.snapshots import JetStreamSnapshotRecorder
from penstock.fabric.catalogue.views import JetStreamTrackingRecorder
from penstock.fabric.naming import Names, check_id
from penstock.kit.config import load

_SNAPSHOTS = "snapshots"
_NAMELESS = "Application"


class JetStreamFactory(InfrastructureFactory[JetStreamTrackingRecorder]):
    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        try:
            config = load(self.env).config
            application = check_id(self.env.name or _NAMELESS, "application")
        except PenstockError as error:
            raise InfrastructureFactoryError(str(error)) from error
        self._link = Link(config.nats, Names(config.fabric.prefix, config.fabric.shards), application)
        self._positions = Positions()

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        if purpose == _SNAPSHOTS:
            return JetStreamSnapshotRecorder(self._link, self._positions)
        return JetStreamAggregateRecorder(self._link, self._positions)

    def application_recorder(self) -> ApplicationRecorder:
        return JetStreamApplicationRecorder(self._link, self._positions)

    def process_recorder(self) -> ProcessRecorder:
        return JetStreamProcessRecorder(self._link, self._positions)

    def tracking_recorder(
        self, tracking_recorder_class: type[JetStreamTrackingRecorder] | None = None
    ) -> JetStreamTrackingRecorder:
        topic = self.env.get(self.TRACKING_RECORDER_TOPIC)
        if tracking_recorder_class is None:
            tracking_recorder_class = resolve_topic(topic) if topic else JetStreamTrackingRecorder
        return tracking_recorder_class(self._link)

    def close(self) -> None:
        self._link.close()
