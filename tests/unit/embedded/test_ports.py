from __future__ import annotations

import socket

from penstock.embedded.ports import LOOPBACK, free_port, free_ports, is_free


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(300)
    assert len(set(ports)) == 300
    assert all(is_free(port) for port in ports)


def test_free_ports_are_none_the_kernel_gives_to_outgoing_connections() -> None:
    assert all(port < 32_768 for port in free_ports(50))


def test_a_port_someone_listens_on_is_not_free() -> None:
    with socket.create_server((LOOPBACK, free_port())) as server:
        assert not is_free(server.getsockname()[1])
