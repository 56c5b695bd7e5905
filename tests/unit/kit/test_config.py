from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from penstock.kit.config import Config, NatsConfig, PostgresConfig, env_name, known_keys, load
from penstock.kit.errors import ConfigFileUnreadable, ConfigInvalid, ConfigUnknownKey
from penstock.kit.redact import HIDDEN


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_without_file_or_environment_everything_is_default() -> None:
    loaded = load({})
    assert loaded.config == Config()
    assert {setting.source for setting in loaded.settings()} == {"default"}


def test_the_environment_wins_over_the_file_and_each_setting_names_its_source(tmp_path: Path) -> None:
    file = write(tmp_path / "p.toml", '[nats]\nurl = "nats://file:1"\nuser = "ada"\n')
    loaded = load({"PENSTOCK_CONFIG": str(file), "PENSTOCK_NATS_URL": "nats://env:2"})
    assert (loaded.config.nats.url, loaded.config.nats.user) == ("nats://env:2", "ada")
    sources = {setting.key: setting.source for setting in loaded.settings()}
    assert (sources["nats.url"], sources["nats.user"]) == ("PENSTOCK_NATS_URL", str(file))


def test_numbers_and_booleans_come_from_the_environment() -> None:
    config = load({"PENSTOCK_FABRIC_SHARDS": "8", "PENSTOCK_FABRIC_DERIVED_ASYNC": "false"}).config
    assert (config.fabric.shards, config.fabric.derived_async) == (8, False)


def test_a_misspelt_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigUnknownKey) as caught:
        load({"PENSTOCK_NATS_ULR": "x"})
    assert caught.value.attributes["suggestion"] == "PENSTOCK_NATS_URL"


@pytest.mark.parametrize(
    "text", ["[nats]\nulr = 1\n", "[nast]\nurl = 1\n", "nats = 3\n"], ids=["key", "section", "scalar"]
)
def test_what_a_file_may_not_say_is_refused(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "p.toml", text)
    with pytest.raises(ConfigUnknownKey) as caught:
        load({}, file)
    assert caught.value.attributes["source"] == str(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PENSTOCK_FABRIC_SHARDS", "0"),
        ("PENSTOCK_FABRIC_REPLICAS", "2"),
        ("PENSTOCK_GATEWAY_GRPC_PORT", "70000"),
        ("PENSTOCK_FABRIC_PREFIX", "No Good"),
        ("PENSTOCK_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_out_of_range_names_its_setting_and_source(name: str, value: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load({name: value})
    assert caught.value.attributes["source"] == name
    assert env_name(str(caught.value.attributes["key"])) == name


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", write(tmp_path / "broken.toml", "[nats")):
        with pytest.raises(ConfigFileUnreadable):
            load({}, path)


def test_secrets_are_hidden_and_addresses_stay_readable() -> None:
    shown = {
        setting.key: setting.value
        for setting in load(
            {
                "PENSTOCK_NATS_PASSWORD": "hunter2",
                "PENSTOCK_NATS_URL": "nats://me:hunter2@host:4222",
                "PENSTOCK_POSTGRES_DSN": "postgresql://me:hunter2@host/db",
            }
        ).settings()
    }
    assert shown["nats.password"] == HIDDEN
    assert shown["nats.url"] == f"nats://me:{HIDDEN}@host:4222"
    assert shown["postgres.dsn"] == f"postgresql://me:{HIDDEN}@host/db"
    assert shown["nats.token"] == ""


def test_printing_a_configuration_shows_no_secret() -> None:
    config = Config(
        nats=NatsConfig(password="hunter2", token="hunter2"),  # noqa: S106 - what must not show
        postgres=PostgresConfig(dsn="postgresql://me:hunter2@host/db"),
    )
    assert "hunter2" not in repr(config)
    assert "postgresql://me:" in repr(config)


def test_every_key_can_be_set_by_the_environment() -> None:
    names = [env_name(key) for key in known_keys()]
    assert len(set(names)) == len(names)
    assert load({"PENSTOCK_TELEMETRY_PORT": "1"}).config.telemetry.port == 1


def test_the_reference_lists_every_key_with_its_variable_and_default() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in page.read_text().splitlines()
        if line.startswith("| `")
    ]
    listed = {row[0]: (row[1], tomllib.loads(f"value = {row[2]}")["value"]) for row in rows}
    config = Config()
    expected = {}
    for key in known_keys():
        section, field = key.split(".")
        expected[key] = (env_name(key), getattr(getattr(config, section), field))
    assert listed == expected
