"""The `eventsourcing` library on JetStream: its aggregates, snapshots and projections, on the stream `PS_CAT`.

`PERSISTENCE_MODULE=penstock.fabric.catalogue` is all an application needs; see `docs/architecture/catalogue.md`.
"""

from penstock.fabric.catalogue.events import JetStreamAggregateRecorder
from penstock.fabric.catalogue.factory import JetStreamFactory
from penstock.fabric.catalogue.notifications import JetStreamApplicationRecorder, JetStreamProcessRecorder
from penstock.fabric.catalogue.snapshots import JetStreamSnapshotRecorder
from penstock.fabric.catalogue.views import JetStreamTrackingRecorder

__all__ = [
    "JetStreamAggregateRecorder",
    "JetStreamApplicationRecorder",
    "JetStreamFactory",
    "JetStreamProcessRecorder",
    "JetStreamSnapshotRecorder",
    "JetStreamTrackingRecorder",
]
