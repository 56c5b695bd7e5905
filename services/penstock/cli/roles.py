"""The roles a Penstock process can have. Services are started by name, never imported."""

from __future__ import annotations

import msgspec

from penstock.cli.errors import RoleUnknown


class Role(msgspec.Struct, frozen=True):
    name: str
    module: str
    """Run with `python -m`."""
    summary: str
    ports: tuple[str, ...] = ()
    """The settings that are its ports; `penstock dev` fills in free ones."""


ROLES = (
    Role(
        "gateway",
        "penstock.gateway",
        "the API: gRPC, REST and events",
        ports=("gateway.grpc_port", "gateway.http_port"),
    ),
)


def find_role(name: str) -> Role:
    for role in ROLES:
        if role.name == name:
            return role
    raise RoleUnknown(role=name, known=", ".join(role.name for role in ROLES))
