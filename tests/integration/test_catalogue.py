"""Applications of the `eventsourcing` library on JetStream: aggregates, snapshots, projections, and bad days."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import msgspec
import pytest
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import (
    DataError,
    InfrastructureFactory,
    InfrastructureFactoryError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    StoredEvent,
    Tracking,
)
from eventsourcing.projection import EventSourcedProjection, EventSourcedProjectionRunner, Projection, ProjectionRunner
from eventsourcing.utils import Environment, get_topic
from nats.aio.msg import Msg

from penstock.embedded.nats import NatsServer
from penstock.fabric.catalogue import JetStreamTrackingRecorder, events
from penstock.fabric.catalogue.append import BATCH_LIMIT
from penstock.fabric.catalogue.errors import CatalogueClosed, RecordConflict, TooManyEvents
from penstock.fabric.errors import IllegalName, StorageFull, TooLarge, Unavailable, Undecodable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.jetstream.reading import read_through
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig, NatsConfig

Env = dict[str, str]


class Workflow(Aggregate):
    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: list[str] = []
        self.owner = ""

    @event("Registered")
    def register(self, version: str) -> None:
        self.versions.append(version)

    class Owned(Aggregate.Event):
        owner: str
        team: str
        class_version = 2

        @staticmethod
        def upcast_v1_v2(state: dict[str, Any]) -> None:
            state["team"] = "unknown"

    @event(Owned)
    def own(self, owner: str, team: str) -> None:
        self.owner = f"{owner}@{team}"


class Catalogue(Application[UUID]):
    snapshotting_intervals: ClassVar[dict[Any, int]] = {Workflow: 5}

    def add(self, name: str, versions: int = 0) -> UUID:
        workflow = Workflow(name)
        for number in range(versions):
            workflow.register(str(number))
        self.save(workflow)
        return workflow.id

    def register(self, workflow_id: UUID, version: str) -> int:
        workflow = self.load(workflow_id)
        workflow.register(version)
        return self.save(workflow)[-1].notification.id

    def load(self, workflow_id: UUID, version: int | None = None) -> Workflow:
        workflow: Workflow = self.repository.get(workflow_id, version=version)
        return workflow


class NamesView(JetStreamTrackingRecorder):
    """A view: the names of all workflows, in the order they came."""

    def names(self) -> list[str]:
        return _names(self.state())

    def add(self, name: str, tracking: Tracking) -> None:
        self.record(tracking, lambda state: msgspec.json.encode([*_names(state), name]))


def _names(state: bytes) -> list[str]:
    return msgspec.json.decode(state, type=list[str]) if state else []


class Listing(Projection[NamesView]):
    @singledispatchmethod
    def process_event(self, _: object, tracking: Tracking) -> None:
        self.view.insert_tracking(tracking)

    @process_event.register
    def created(self, created: Workflow.Created, tracking: Tracking) -> None:
        self.view.add(created.name, tracking)  # type: ignore[attr-defined] # the library derives it from __init__


class Audit(EventSourcedProjection[UUID]):
    """Another application, that records something of its own for each event."""

    def policy(self, domain_event: Any, processing_event: Any) -> None:  # noqa: ANN401 - the library's
        processing_event.collect_events(Workflow(f"audit of {domain_event.originator_id}"))


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with _running(NatsServer(tmp_path_factory.mktemp("nats"), durability="process")) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """One that a test may kill."""
    with _running(NatsServer(tmp_path, durability="process")) as server:
        yield server


@contextlib.contextmanager
def _running(server: NatsServer) -> Iterator[NatsServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def env(shared_server: NatsServer) -> Env:
    return _install(shared_server)


def _install(server: NatsServer) -> Env:
    prefix = f"t{secrets.token_hex(4)}"
    asyncio.run(_create(server.url, FabricConfig(prefix=prefix)))
    return {
        "PERSISTENCE_MODULE": "penstock.fabric.catalogue",
        "PENSTOCK_NATS_URL": server.url,
        "PENSTOCK_FABRIC_PREFIX": prefix,
    }


async def _create(url: str, config: FabricConfig) -> None:
    names = Names(config.prefix, config.shards)
    connection = await Connection.open(NatsConfig(url=url), names, name="test")
    for declared in declare(config, names):
        if declared.name in {names.catalogue, f"KV_{names.snapshots}"}:
            await connection.api(f"STREAM.CREATE.{declared.name}", declared.config)
    await connection.close()


def _events(originator: UUID | str, versions: range, state: bytes = b"{}") -> list[StoredEvent]:
    return [StoredEvent(originator, version, "topic", state) for version in versions]


# -- aggregates


def test_an_aggregate_comes_back_as_it_was_saved(env: Env) -> None:
    with Catalogue(env) as app, Catalogue(env) as other:
        workflow_id = app.add("build", versions=3)
        app.register(workflow_id, "3")
        assert other.load(workflow_id).versions == ["0", "1", "2", "3"]
        assert other.load(workflow_id, version=2).versions == ["0"]


def test_an_aggregate_that_was_never_saved_is_not_found(env: Env) -> None:
    with Catalogue(env) as app, pytest.raises(AggregateNotFoundError):
        app.load(Workflow("never").id)


def test_applications_on_one_stream_do_not_see_each_other(env: Env) -> None:
    class Approvals(Catalogue):
        pass

    with Catalogue(env) as app, Approvals(env) as approvals:
        workflow_id = app.add("build")
        approvals.add("review")
        assert [note.id for note in app.recorder.select_notifications(None, 10)] == [1]
        assert [note.id for note in approvals.recorder.select_notifications(None, 10)] == [2]
        with pytest.raises(AggregateNotFoundError):
            approvals.load(workflow_id)


def test_an_event_of_an_older_class_is_upcast(env: Env) -> None:
    with Catalogue(env) as app:
        workflow_id = app.add("build")
        state = app.mapper.transcoder.encode({"timestamp": Aggregate.Event.create_timestamp(), "owner": "ann"})
        app.recorder.insert_events([StoredEvent(workflow_id, 2, get_topic(Workflow.Owned), state)])
        assert app.load(workflow_id).owner == "ann@unknown"


# -- snapshots


def test_a_load_reads_only_what_follows_the_snapshot(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    with Catalogue(env) as app:
        workflow_id = app.add("build", versions=3)
        for number in range(3, 7):
            app.register(workflow_id, str(number))
    firsts: list[int] = []

    async def spy(connection: Connection, stream: str, subject: str, first: int, last: int, **limit: Any) -> Any:  # noqa: ANN401 - passes on
        firsts.append(first)
        return await read_through(connection, stream, subject, first, last, **limit)

    monkeypatch.setattr(events, "read_through", spy)
    with Catalogue(env) as later:
        assert later.load(workflow_id).versions == [str(number) for number in range(7)]
    assert firsts == [5]  # one event per sequence here, and the snapshot was taken at version 5


def test_a_snapshot_of_an_earlier_version_may_come_later(env: Env) -> None:
    with Catalogue(env) as app:
        workflow_id = app.add("build", versions=6)
        app.take_snapshot(workflow_id, version=3)
        assert app.load(workflow_id, version=4).versions == ["0", "1", "2"]
        assert app.load(workflow_id).versions == [str(number) for number in range(6)]
        with pytest.raises(IntegrityError):
            app.take_snapshot(workflow_id, version=3)


def test_a_snapshot_that_names_a_wrong_position_loses_nothing(env: Env) -> None:
    with Catalogue(env) as app:
        workflow_id = app.add("build", versions=6)
        subject = app.recorder._subjects.event(workflow_id)  # type: ignore[attr-defined]
        app.factory._positions.remember(subject, 3, 6)  # type: ignore[attr-defined]
        assert [stored.originator_version for stored in app.recorder.select_events(workflow_id, gt=3)] == [4, 5, 6, 7]


def test_an_unreadable_snapshot_falls_back_to_the_events(env: Env) -> None:
    with Catalogue(env) as app:
        workflow_id = app.add("build", versions=6)
        link = app.factory._link  # type: ignore[attr-defined]
        key = f"$KV.{link.names.snapshots}.cat.Catalogue.{workflow_id}.7"
        link.call(lambda connection: connection.write(key, b"\xc1", None, "a test"))
        assert app.load(workflow_id).versions == [str(number) for number in range(6)]


# -- conflicts


def test_the_second_of_two_writers_is_refused(env: Env) -> None:
    with Catalogue(env) as app, Catalogue(env) as other:
        workflow_id = app.add("build")
        mine, theirs = app.load(workflow_id), other.load(workflow_id)
        mine.register("mine")
        theirs.register("theirs")
        app.save(mine)
        with pytest.raises(IntegrityError) as refused:
            other.save(theirs)
        assert isinstance(refused.value.__cause__, RecordConflict)
        other.register(workflow_id, "again")
        assert app.load(workflow_id).versions == ["mine", "again"]


def test_a_conflict_in_one_aggregate_keeps_the_others_out(env: Env) -> None:
    with Catalogue(env) as app, Catalogue(env) as other:
        workflow_id = app.add("build")
        mine, fresh = app.load(workflow_id), Workflow("fresh")
        mine.register("mine")
        other.register(workflow_id, "theirs")
        with pytest.raises(IntegrityError):
            app.save(fresh, mine)
        assert app.recorder.max_notification_id() == 2
        with pytest.raises(AggregateNotFoundError):
            app.load(fresh.id)


def test_of_many_writers_of_one_version_one_wins(env: Env) -> None:
    with Catalogue(env) as app, Catalogue(env) as other:
        workflow_id = app.add("build")
        outcomes: list[type[Exception] | None] = []

        def write(writer: Catalogue) -> None:
            try:
                writer.recorder.insert_events(_events(workflow_id, range(2, 4)))
            except IntegrityError as error:
                outcomes.append(type(error))
            else:
                outcomes.append(None)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in (app, other) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, outcomes)) == sorted(map(str, [None, *[IntegrityError] * 7]))
        assert [stored.originator_version for stored in app.recorder.select_events(workflow_id)] == [1, 2, 3]


class LostAnswer:
    """Swallows one answer of the server, and lets something happen meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._meanwhile: Callable[[], object] | None = None
        self._answer = Connection._on_reply
        lost = self

        async def on_reply(connection: Connection, message: Msg) -> None:
            await lost._pass(connection, message)

        monkeypatch.setattr(Connection, "_on_reply", on_reply)  # for connections opened from now on

    def arm(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    @property
    def armed(self) -> bool:
        return self._meanwhile is not None

    async def _pass(self, connection: Connection, message: Msg) -> None:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is None:
            await self._answer(connection, message)
        else:
            await asyncio.to_thread(meanwhile)


@pytest.mark.parametrize("count", [1, 3], ids=["single", "batch"])
@pytest.mark.parametrize("overtaken", [False, True], ids=["alone", "overtaken"])
def test_a_write_whose_answer_was_lost_is_recognised(
    env: Env, monkeypatch: pytest.MonkeyPatch, count: int, *, overtaken: bool
) -> None:
    lost = LostAnswer(monkeypatch)
    with Catalogue(env | {"PENSTOCK_NATS_REQUEST_TIMEOUT": "0.3"}) as app, Catalogue(env) as other:
        workflow_id = app.add("build")
        after = _events(workflow_id, range(count + 2, count + 2 + overtaken))
        lost.arm(lambda: other.recorder.insert_events(after))
        ids = app.recorder.insert_events(_events(workflow_id, range(2, count + 2)))
        assert ids == list(range(2, count + 2))
        assert not lost.armed
        versions = [stored.originator_version for stored in app.recorder.select_events(workflow_id)]
        assert versions == list(range(1, count + 2 + overtaken))


# -- bad input


def test_more_events_than_a_batch_holds_are_refused_before_anything_is_written(env: Env) -> None:
    with Catalogue(env) as app:
        with pytest.raises(DataError) as refused:
            app.recorder.insert_events(_events("big", range(1, BATCH_LIMIT + 2)))
        assert isinstance(refused.value.__cause__, TooManyEvents)
        assert app.recorder.max_notification_id() is None


def test_an_event_too_large_keeps_its_whole_batch_out(env: Env) -> None:
    with Catalogue(env) as app:
        large = StoredEvent("big", 2, "topic", b"x" * 2_000_000)
        with pytest.raises(DataError) as refused:
            app.recorder.insert_events([*_events("big", range(1, 2)), large, *_events("big", range(3, 4))])
        assert isinstance(refused.value.__cause__, TooLarge)
        assert app.recorder.max_notification_id() is None
        assert app.recorder.insert_events(_events("big", range(1, 3))) == [1, 2]


@pytest.mark.parametrize("originator", ["", "a b", "a.*", ">", "a..b", "x" * 201], ids=repr)
def test_an_id_that_no_subject_can_carry_is_refused(env: Env, originator: str) -> None:
    with Catalogue(env) as app:
        for attempt in (
            lambda: app.recorder.insert_events(_events(originator, range(1, 2))),
            lambda: app.recorder.select_events(originator),
        ):
            with pytest.raises(DataError) as refused:
                attempt()
            assert isinstance(refused.value.__cause__, IllegalName)


def test_bytes_that_are_no_record_are_named(env: Env) -> None:
    with Catalogue(env) as app:
        subject = app.recorder._subjects.event("odd")  # type: ignore[attr-defined]
        link = app.factory._link  # type: ignore[attr-defined]
        link.call(lambda connection: connection.write(subject, b"\xc1", None, "a test"))
        with pytest.raises(DataError) as refused:
            app.recorder.select_events("odd")
        assert isinstance(refused.value.__cause__, Undecodable)


@pytest.mark.parametrize(
    "wrong", [{"PENSTOCK_NATS_ULR": "x"}, {"PENSTOCK_FABRIC_SHARDS": "none"}], ids=["misspelt", "invalid"]
)
def test_a_wrong_setting_is_refused_at_the_start(env: Env, wrong: Env) -> None:
    with pytest.raises(InfrastructureFactoryError):
        InfrastructureFactory.construct(env | wrong)


# -- projections


def test_a_view_keeps_its_state_and_position_over_restarts(server: NatsServer) -> None:
    env = _install(server)
    with ProjectionRunner(
        application_class=Catalogue, projection_class=Listing, view_class=NamesView, env=env
    ) as runner:
        runner.app.add("build", versions=2)
        runner.wait(3, timeout=20)
    server.stop()
    server.start()
    with Catalogue(env) as app:
        app.add("test")
    with ProjectionRunner(
        application_class=Catalogue, projection_class=Listing, view_class=NamesView, env=env
    ) as runner:
        runner.wait(4, timeout=20)
        assert runner.view.names() == ["build", "test"]


def test_a_running_projection_outlives_a_crash_of_the_server(server: NatsServer) -> None:
    env = _install(server)
    with ProjectionRunner(
        application_class=Catalogue, projection_class=Listing, view_class=NamesView, env=env
    ) as runner:
        runner.app.add("before")
        runner.wait(1, timeout=20)
        server.kill()
        server.start()
        runner.app.add("after")
        runner.wait(2, timeout=60)
        assert runner.view.names() == ["before", "after"]


def test_an_event_sourced_projection_processes_each_event_once(env: Env) -> None:
    with EventSourcedProjectionRunner(application_class=Catalogue, projection_class=Audit, env=env) as runner:
        workflow_id = runner.app.add("build", versions=2)
        position = runner.app.recorder.max_notification_id()
        runner.wait(position, timeout=20)
    with EventSourcedProjectionRunner(application_class=Catalogue, projection_class=Audit, env=env) as runner:
        last = runner.app.register(workflow_id, "2")
        runner.wait(last, timeout=20)
        assert len(runner.projection.recorder.select_notifications(None, 100)) == 4


def test_a_view_that_fell_behind_another_writer_is_refused(env: Env) -> None:
    views = [InfrastructureFactory[Any].construct(env).tracking_recorder(NamesView) for _ in range(2)]
    first, second = views
    first.add("a", Tracking("Catalogue", 1))
    second.add("b", Tracking("Catalogue", 2))
    first.add("c", Tracking("Other", 1))
    with pytest.raises(IntegrityError):
        first.add("d", Tracking("Catalogue", 2))
    assert second.names() == ["a", "b", "c"]


# -- subscriptions


def test_a_subscription_gives_what_is_there_and_then_what_comes(env: Env) -> None:
    with Catalogue(env) as app, Catalogue(env) as other:
        app.recorder.insert_events(_events("many", range(1, 1001)))
        with app.recorder.subscribe(gt=400) as subscription:
            assert [next(subscription).id for _ in range(600)] == list(range(401, 1001))
            other.add("build")
            assert next(subscription).id == 1001


def test_a_blocked_reader_ends_when_its_subscription_is_stopped(env: Env) -> None:
    with Catalogue(env) as app:
        subscription = app.recorder.subscribe()
        read: list[object] = []
        reader = threading.Thread(target=lambda: read.extend(subscription))
        reader.start()
        app.add("build")
        subscription.stop()
        reader.join(20)
        assert not reader.is_alive()


def test_a_blocked_reader_learns_that_its_application_was_closed(env: Env) -> None:
    app = Catalogue(env)
    app.add("build")
    subscription = app.recorder.subscribe()
    next(subscription)
    errors: list[BaseException] = []

    def read() -> None:
        try:
            next(subscription)
        except InterfaceError as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    app.close()
    reader.join(20)
    assert len(errors) == 1


# -- the server is away


def test_a_server_that_is_away_is_an_operational_error(server: NatsServer) -> None:
    env = _install(server) | {"PENSTOCK_NATS_RETRY_FOR": "0.2", "PENSTOCK_NATS_REQUEST_TIMEOUT": "0.2"}
    with Catalogue(env) as app:
        workflow_id = app.add("build")
        server.kill()
        with pytest.raises(OperationalError) as refused:
            app.add("test")
        assert isinstance(refused.value.__cause__, Unavailable)
        server.start()
        with Catalogue(env) as later:
            assert later.load(workflow_id).name == "build"


def test_writes_go_on_by_themselves_when_the_server_is_back(server: NatsServer) -> None:
    with Catalogue(_install(server)) as app:
        workflow_id = app.add("build")
        server.kill()
        written: list[Sequence[int] | None] = []
        more = _events(workflow_id, range(2, 5))
        writer = threading.Thread(target=lambda: written.append(app.recorder.insert_events(more)))
        writer.start()
        server.start()
        writer.join()
        assert written == [[2, 3, 4]]


def test_a_full_disk_is_an_operational_error_and_leaves_no_half(tmp_path: Path) -> None:
    server = NatsServer(tmp_path, durability="process", max_file_store=1_000_000)
    with _running(server), Catalogue(_install(server)) as app:
        stored: list[int] = []

        def fill() -> None:
            for number in range(50):
                pair = _events(f"big-{number}", range(1, 3), b"x" * 50_000)
                stored.extend(app.recorder.insert_events(pair) or ())

        with pytest.raises(OperationalError) as refused:
            fill()
        assert isinstance(refused.value.__cause__, StorageFull)
        assert [note.id for note in app.recorder.select_notifications(None, 100)] == stored


# -- threads


def test_a_closed_application_says_so(env: Env) -> None:
    app = Catalogue(env)
    app.add("build")
    app.close()
    with pytest.raises(InterfaceError) as refused:
        app.add("test")
    assert isinstance(refused.value.__cause__, CatalogueClosed)


def test_a_forgotten_factory_leaves_no_thread(env: Env) -> None:
    view = InfrastructureFactory[Any].construct(Environment("Forgotten", env)).tracking_recorder(NamesView)
    view.add("a", Tracking("Catalogue", 1))
    (worker,) = [thread for thread in threading.enumerate() if "Forgotten" in thread.name]
    del view
    gc.collect()
    worker.join(20)
    assert not worker.is_alive()
