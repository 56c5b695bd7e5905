"""Definitions by their hash, and which one a version or a tag of a workflow is.

    hash.<tenant>.<sha256 of the definition>          its JSON, the bytes that were hashed
    name.<tenant>.<sha256 of `workflow@version`>      the hash, `sha256:…`

What a hash names never changes. A name is hashed because a workflow may be called what no subject can carry.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, TypeAlias

import msgspec

from penstock.core.graph.programs import DefinitionMissing
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.naming import token

Json: TypeAlias = Any

MAIN: Final = "main"
"""The tag that is meant where no version is named."""

_HASH = "sha256:"


class Definitions:
    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def load(self, tenant: str, name: str) -> Json:
        """By hash, or by `workflow@version`. Raises `DefinitionMissing`."""
        graph = name if name.startswith(_HASH) else await self.find(tenant, *name.rsplit("@", 1))
        digest = graph.removeprefix(_HASH)
        entry = await self._bucket.load(f"hash.{token(tenant, 'tenant')}.{token(digest, 'task id')}")
        if entry.value is None or sha256(entry.value).hexdigest() != digest:
            raise DefinitionMissing(key=name)
        return msgspec.json.decode(entry.value)

    async def find(self, tenant: str, workflow: str, version: str | None = None) -> str:
        """The hash that a version or tag stands for now. Raises `DefinitionMissing`."""
        name = f"{workflow}@{version or MAIN}"
        entry = await self._bucket.load(_named(tenant, name))
        if entry.value is None:
            raise DefinitionMissing(key=name)
        return entry.value.decode()

    async def save(self, tenant: str, definition: Json) -> str:
        """Its hash. Saving the same again changes nothing."""
        body = msgspec.json.encode(definition)
        digest = sha256(body).hexdigest()
        await self._bucket.save(f"hash.{token(tenant, 'tenant')}.{digest}", body)
        return _HASH + digest

    async def name(self, tenant: str, workflow: str, version: str, graph: str) -> None:
        """From now on, that version or tag is this definition."""
        await self._bucket.save(_named(tenant, f"{workflow}@{version}"), graph.encode())


def _named(tenant: str, name: str) -> str:
    return f"name.{token(tenant, 'tenant')}.{sha256(name.encode()).hexdigest()}"
