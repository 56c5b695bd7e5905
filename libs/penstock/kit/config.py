"""Configuration: msgspec structs, filled from defaults, a TOML file and `PENSTOCK_*`, in that order.

A setting is `section.field`; in the environment `PENSTOCK_<SECTION>_<FIELD>`. Sections are one word, so the
two never collide. Anything unknown is an error: a misspelt setting must not be a silent default.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from penstock.kit.errors import ConfigFileUnreadable, ConfigInvalid, ConfigUnknownKey
from penstock.kit.redact import HIDDEN, redact

ENV_PREFIX = "PENSTOCK_"
ENV_FILE = "PENSTOCK_CONFIG"

Positive = Annotated[int, msgspec.Meta(ge=1)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Bytes = Annotated[int, msgspec.Meta(ge=1)]
Lease = Annotated[float, msgspec.Meta(ge=2)]
"""Its announcements live for whole seconds on the server, and must be fewer than this."""
SubjectToken = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,15}$")]
Secret = Annotated[str, msgspec.Meta(extra={"secret": True})]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    def __repr__(self) -> str:
        """Secrets hidden: a configuration may end up in a log or a traceback."""
        fields = msgspec.structs.fields(type(self))
        shown = (f"{field.name}={_shown(getattr(self, field.name), field.type)!r}" for field in fields)
        return f"{type(self).__name__}({', '.join(shown)})"


class NatsConfig(Section, frozen=True):
    """How to reach NATS."""

    url: str = "nats://127.0.0.1:4222"
    user: str = ""
    password: Secret = ""
    token: Secret = ""
    credentials: str = ""
    """Path of a `.creds` file."""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    request_timeout: Seconds = 5.0
    retry_for: Seconds = 30.0
    """How long a write is tried again, with the same id, while the server is away."""


class PostgresConfig(Section, frozen=True):
    """How to reach Postgres. Never on the execution path."""

    dsn: str = "postgresql://penstock@127.0.0.1:5432/penstock"


class FabricConfig(Section, frozen=True):
    """Streams and buckets on JetStream."""

    prefix: SubjectToken = "ps"
    shards: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4
    """Fixed at installation: a run's shard follows from its id and this number."""
    replicas: Literal[1, 3, 5] = 1
    derived_async: bool = True
    """On a single server, write what can be rebuilt (tasks, timers) without waiting for the disk."""
    inline_max: Bytes = 16 * 1024
    """Payloads above this become blobs."""
    commit_max: Bytes = 512 * 1024
    dedupe_window: Seconds = 120.0
    counter_window: Seconds = 600.0
    idempotency_ttl: Seconds = 86_400.0
    lease: Lease = 3.0
    """How long a silent coordinator keeps its shards."""
    task_ack_wait: Seconds = 30.0
    task_max_deliver: Positive = 5
    timer_promote_after: Seconds = 5.0


class BlobsConfig(Section, frozen=True):
    """Where large payloads live."""

    backend: str = "stream"
    """`stream`, or a URL: `file:///var/lib/penstock/blobs`, `s3://bucket/prefix`."""
    stream_max: Bytes = 1024 * 1024
    """With a URL as back end, what is smaller still goes to the stream."""
    size_max: Bytes = 256 * 1024 * 1024


class GatewayConfig(Section, frozen=True):
    """The API edge."""

    host: str = "127.0.0.1"
    grpc_port: Port = 7233
    http_port: Port = 7280
    message_max: Bytes = 4 * 1024 * 1024
    """Of a request, over gRPC or REST."""


class ServiceConfig(Section, frozen=True):
    """What all processes share."""

    build: str = ""
    """The source this was built from; set by the image."""
    grace: Seconds = 20.0
    """How long work in flight may take to finish after SIGTERM."""


class LogConfig(Section, frozen=True):
    """What a process says."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "console"] = "auto"
    """`auto`: console on a terminal, JSON elsewhere."""


class TelemetryConfig(Section, frozen=True):
    """Metrics and health over HTTP; traces through the OpenTelemetry API."""

    host: str = "127.0.0.1"
    port: Port = 0
    """Of `/metrics` and `/health`; 0 takes a free one."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nats: NatsConfig = NatsConfig()
    postgres: PostgresConfig = PostgresConfig()
    fabric: FabricConfig = FabricConfig()
    blobs: BlobsConfig = BlobsConfig()
    gateway: GatewayConfig = GatewayConfig()
    service: ServiceConfig = ServiceConfig()
    log: LogConfig = LogConfig()
    telemetry: TelemetryConfig = TelemetryConfig()


class Setting(NamedTuple):
    key: str
    value: object
    source: str


class Loaded(NamedTuple):
    config: Config
    sources: Mapping[str, str]

    def settings(self) -> list[Setting]:
        """Every setting with its source, secrets hidden."""
        return [
            Setting(key, _shown(value, kind), self.sources.get(key, "default"))
            for key, value, kind in _flat(self.config)
        ]


def load(environ: Mapping[str, str], path: str | Path | None = None) -> Loaded:
    """The effective configuration. `path` wins over PENSTOCK_CONFIG; without either there is no file."""
    raw: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    file = path or environ.get(ENV_FILE)
    if file:
        for section, values in _read(Path(file)).items():
            if not isinstance(values, dict):
                _unknown(section, str(file))
            for field, value in values.items():
                _put(raw, sources, section, field, value, str(file))
    for name, value in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name != ENV_FILE:
            section, _, field = name.removeprefix(ENV_PREFIX).lower().partition("_")
            _put(raw, sources, section, field, value, name)
    return Loaded(_convert(raw, sources), sources)


def env_name(key: str) -> str:
    return ENV_PREFIX + key.replace(".", "_").upper()


def known_keys() -> list[str]:
    return [key for key, _, _ in _flat(Config())]


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigFileUnreadable(path=str(path), reason=str(error)) from error


def _put(
    raw: dict[str, dict[str, Any]],
    sources: dict[str, str],
    section: str,
    field: str,
    value: object,
    source: str,
) -> None:
    key = f"{section}.{field}"
    if key not in _KNOWN:
        _unknown(key, source)
    raw.setdefault(section, {})[field] = value
    sources[key] = source


def _unknown(key: str, source: str) -> None:
    close = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0)
    suggestion = env_name(close[0]) if source.startswith(ENV_PREFIX) else close[0]
    raise ConfigUnknownKey(key=key, source=source, suggestion=suggestion)


def _convert(raw: dict[str, dict[str, Any]], sources: Mapping[str, str]) -> Config:
    """Section by section and field by field, so that the error names the setting and its source."""
    sections: dict[str, Any] = {}
    for section in msgspec.structs.fields(Config):
        fields = {
            field.name: _value(f"{section.name}.{field.name}", raw[section.name][field.name], field.type, sources)
            for field in msgspec.structs.fields(section.type)
            if field.name in raw.get(section.name, {})
        }
        sections[section.name] = section.type(**fields)
    return Config(**sections)


def _value(key: str, value: object, kind: Any, sources: Mapping[str, str]) -> object:  # noqa: ANN401 - any field type
    try:
        return msgspec.convert(value, kind, strict=not sources[key].startswith(ENV_PREFIX))
    except msgspec.ValidationError as error:
        raise ConfigInvalid(key=key, source=sources[key], reason=str(error)) from error


def _flat(config: Config) -> list[tuple[str, object, Any]]:
    return [
        (f"{section.name}.{field.name}", getattr(getattr(config, section.name), field.name), field.type)
        for section in msgspec.structs.fields(Config)
        for field in msgspec.structs.fields(section.type)
    ]


def _is_secret(kind: Any) -> bool:  # noqa: ANN401 - any field type
    return any(
        isinstance(meta, msgspec.Meta) and bool((meta.extra or {}).get("secret"))
        for meta in getattr(kind, "__metadata__", ())
    )


def _shown(value: object, kind: Any) -> object:  # noqa: ANN401 - any field type
    if not isinstance(value, str) or not value:
        return value
    return HIDDEN if _is_secret(kind) else redact(value)


_KNOWN = frozenset(known_keys())
