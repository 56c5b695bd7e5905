"""Blobs in an object store: a directory or anything that speaks S3, one object `<tenant>/<aa>/<digest>` each."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, S3Store

from penstock.fabric.errors import BlobStoreUnavailable
from penstock.fabric.naming import check_id
from penstock.fabric.ports.blobs import BlobRef
from penstock.kit.errors import ConfigInvalid


class ObjectBlobs:
    def __init__(self, url: str, retry_for: float) -> None:
        self._url = url
        self._root: Path | None = None
        self._store: LocalStore | S3Store
        parts = urlsplit(url)
        try:
            if parts.scheme == "file" and parts.path.strip("/") and not parts.netloc:
                self._root = Path(unquote(parts.path))
                self._store = LocalStore(self._root, mkdir=True)
                return
            if parts.scheme == "s3" and parts.netloc:
                # Where, as whom and how patiently comes from the environment: AWS_ENDPOINT_URL,
                # AWS_ACCESS_KEY_ID, AWS_TIMEOUT, … Client options given here would hide all of those.
                retry = timedelta(seconds=retry_for)
                self._store = S3Store.from_url(url, retry_config={"retry_timeout": retry})
                return
        except (BaseError, OSError) as error:
            raise BlobStoreUnavailable(url=url, operation="opening it", reason=_reason(error)) from error
        reason = "neither `stream` nor file:///path nor s3://bucket/prefix"
        raise ConfigInvalid(source="the configuration", key="blobs.backend", reason=reason)

    async def save(self, tenant: str, ref: BlobRef, data: bytes) -> None:
        path = _path(tenant, ref)
        with self._failing("a write"):
            with contextlib.suppress(AlreadyExistsError):
                await self._store.put_async(path, data, mode="create")
            if self._root is not None:
                await asyncio.to_thread(_sync, self._root, path)

    async def load(self, tenant: str, ref: BlobRef) -> bytes | None:
        """What is stored under the name, unverified."""
        with self._failing("a read"):
            try:
                found = await self._store.get_async(_path(tenant, ref))
                return bytes(await found.bytes_async())
            except FileNotFoundError:
                return None

    async def exists(self, tenant: str, ref: BlobRef) -> bool:
        with self._failing("a look"):
            try:
                await self._store.head_async(_path(tenant, ref))
            except FileNotFoundError:
                return False
            return True

    async def delete(self, tenant: str, ref: BlobRef) -> None:
        with self._failing("a delete"), contextlib.suppress(FileNotFoundError):
            await self._store.delete_async(_path(tenant, ref))

    @contextlib.contextmanager
    def _failing(self, operation: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise BlobStoreUnavailable(url=self._url, operation=operation, reason=_reason(error)) from error


def _path(tenant: str, ref: BlobRef) -> str:
    return f"{check_id(tenant, 'tenant')}/{ref.digest[:2]}/{ref.digest}"


def _sync(root: Path, path: str) -> None:
    """To the disk, with every folder that leads to it: the store itself leaves that to the kernel."""
    for entry in (path, *map(str, Path(path).parents)):
        descriptor = os.open(root / entry, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: Exception) -> str:
    """The first line; the rest is the library's own debugging."""
    return str(error).partition("\n")[0]
