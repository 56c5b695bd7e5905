from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.cli import terminal
from penstock.cli.terminal import LogFile, Terminal
from penstock.embedded.supervisor import Report


@pytest.mark.parametrize(
    ("name", "line", "verbose", "shown"),
    [
        pytest.param("nats", "[1] 2026/11/18 [INF] Server is ready", False, False, id="routine"),
        pytest.param("nats", "[1] 2026/11/18 [INF] Server is ready", True, True, id="routine, verbose"),
        pytest.param("nats", "[1] 2026/11/18 [ERR] disk full", False, True, id="error"),
        pytest.param("postgres", "2026-11-18 LOG:  ready", False, False, id="postgres routine"),
        pytest.param("postgres", "2026-11-18 FATAL:  no", False, True, id="postgres error"),
        pytest.param("gateway", "service.serving", False, True, id="a service"),
    ],
)
def test_routine_lines_of_servers_go_to_the_log_file_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, line: str, verbose: bool, shown: bool
) -> None:
    screen = Terminal(tmp_path, verbose=verbose)
    screen.line(name, line)
    screen.close()
    assert (tmp_path / f"{name}.log").read_text() == f"{line}\n"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (line in captured.err) is shown
    assert (name in captured.err) is shown


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        pytest.param(Report("nats", "starting", 1), False, id="starting"),
        pytest.param(Report("nats", "ready", 1), False, id="ready"),
        pytest.param(Report("nats", "waiting", reason="killed", pause=0.2), True, id="died"),
        pytest.param(Report("nats", "ready", 2, restarts=1), True, id="back"),
    ],
)
def test_only_deaths_and_returns_are_news(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], report: Report, shown: bool
) -> None:
    Terminal(tmp_path, verbose=False).change(report)
    assert bool(capsys.readouterr().err) is shown


def test_a_log_that_grew_too_large_is_put_aside_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_LOG_MAX", 10)
    file = LogFile(tmp_path / "nats.log")
    for line in ("first line", "second line", "third line"):
        file.write(line)
    file.close()
    assert (tmp_path / "nats.log").read_text() == "third line\n"
    assert (tmp_path / "nats.log.1").read_text() == "second line\n"


def test_a_terminal_that_is_gone_does_not_stop_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("typer.secho", broken)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    screen = Terminal(tmp_path, verbose=True)
    screen.line("gateway", "one")
    screen.line("gateway", "two")
    screen.close()
    assert (tmp_path / "gateway.log").read_text() == "one\ntwo\n"
