"""What can go wrong between us and JetStream.

FabricError
├── IllegalName               an id that no subject can carry
├── TooLarge                  a message over the server's or our own limit
├── Undecodable               bytes that are not what they should be
├── Unavailable               the server is away or has no leader; try again
│   └── BlobStoreUnavailable  so is the object store
├── StorageFull               the server refuses writes until it has room
├── ServerTooOld
├── PermissionDenied
├── RequestRefused            any other answer of the server, with its number
├── LogConflict               someone else appended first
├── LogBroken                 a gap or a changed commit
├── TopologyConflict          a stream is there, but cannot be what we need
├── ShardsFixed
├── LeaseLost                 another coordinator owns the shard
├── BlobMissing / BlobCorrupt
├── IllegalIncrement          not a whole number, or beyond reason
├── IllegalKey                no text, or too much of it
├── ClaimLost                 the claim's lease ended before its result came
└── IdempotencyConflict       the key was used for something else
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class FabricError(PenstockError):
    """The fabric failed: {reason}."""

    code = "FABRIC"


class IllegalName(FabricError):
    """{value!r} cannot be used as {kind}.

    Use 1 to {limit} characters out of A-Z a-z 0-9 _ - and, inside, single dots.
    """

    code = "ILLEGAL_NAME"


class TooLarge(FabricError):
    """{what} has {size} bytes; at most {limit} fit.

    Store the payload as a blob and send its reference, or raise `max_payload` on the NATS server.
    """

    code = "TOO_LARGE"


class Undecodable(FabricError):
    """{what} cannot be decoded: {reason}.

    It was written by something else, or by a newer Penstock. The bytes are kept where they are.
    """

    code = "UNDECODABLE"


class Unavailable(FabricError):
    """NATS did not answer {operation} within {seconds} s.

    Check that the server runs and that its streams have a leader (`penstock doctor`). Nothing was lost:
    the same call can be repeated.
    """

    code = "UNAVAILABLE"
    retryable = True


class StorageFull(FabricError):
    """NATS has no room left for {operation}: {reason}.

    Raise `max_file_store`, add disk, or archive old runs. Writes go on by themselves once there is room.
    """

    code = "STORAGE_FULL"
    retryable = True


class ServerTooOld(FabricError):
    """nats-server {version} at {url} is too old; {required} or newer is needed.

    Upgrade the server; the data stays as it is.
    """

    code = "SERVER_TOO_OLD"


class PermissionDenied(FabricError):
    """NATS refused {operation}: {reason}.

    Check the user's credentials and permissions.
    """

    code = "PERMISSION_DENIED"


class RequestRefused(FabricError):
    """NATS refused {operation}: {reason} ({number}).

    The number is JetStream's own; `penstock doctor` compares the streams with what this version needs.
    """

    code = "REQUEST_REFUSED"


class LogConflict(FabricError):
    """Run {run} has moved on: its log no longer ends at sequence {expected}.

    Reload the run and decide again.
    """

    code = "LOG_CONFLICT"
    retryable = True


class LogBroken(FabricError):
    """The log of run {run} is broken at sequence {sequence}: {reason}.

    Restore the stream from a backup or a mirror. Nothing is decided for the run until its log is whole.
    """

    code = "LOG_BROKEN"


class TopologyConflict(FabricError):
    """Stream {stream} exists with {field} = {actual!r}, which cannot be changed to {declared!r}.

    Use another `fabric.prefix`, or move the data and delete the stream.
    """

    code = "TOPOLOGY_CONFLICT"


class ShardsFixed(FabricError):
    """This installation has {installed} shards; it cannot become {asked}.

    A run's shard follows from the number of shards. Set `fabric.shards` to {installed}, or install anew under
    another `fabric.prefix`.
    """

    code = "SHARDS_FIXED"


class ConsumerGone(FabricError):
    """Consumer {consumer} of stream {stream} was removed.

    A shard's new owner removes the old one's consumer; drop what is cached and let it work.
    """

    code = "CONSUMER_GONE"


class LeaseLost(FabricError):
    """Shard {shard} belongs to another coordinator since epoch {epoch}.

    Drop what is cached of the shard; its commands go to the new owner.
    """

    code = "LEASE_LOST"


class BlobMissing(FabricError):
    """Blob {digest} is not there.

    It was never stored for this tenant, or was removed by retention.
    """

    code = "BLOB_MISSING"


class BlobCorrupt(FabricError):
    """Blob {digest} holds other bytes than its name says.

    Restore it from a backup; what is stored is left alone for inspection.
    """

    code = "BLOB_CORRUPT"


class IdempotencyConflict(FabricError):
    """Idempotency key {key!r} was already used for a different request.

    Use a fresh key for a new request, and the same body when repeating one.
    """

    code = "IDEMPOTENCY_CONFLICT"


class BlobStoreUnavailable(Unavailable):
    """The blob store {url} failed at {operation}: {reason}.

    Check that it can be reached, that the credentials are right, and that it has room. The same call can be
    repeated.
    """

    code = "BLOB_STORE_UNAVAILABLE"


class IllegalIncrement(FabricError):
    """A counter cannot grow by {amount}.

    Use a whole number of at most {digits} digits.
    """

    code = "ILLEGAL_INCREMENT"


class IllegalKey(FabricError):
    """{value!r} cannot be {kind}.

    Use 1 to {limit} characters of any text.
    """

    code = "ILLEGAL_KEY"


class ClaimLost(FabricError):
    """The claim on idempotency key {key!r} ended before it was completed.

    Its lease ran out or it was released; claim the key again. Whoever holds it now is not disturbed.
    """

    code = "CLAIM_LOST"
