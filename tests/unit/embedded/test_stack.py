from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec

from penstock.embedded import stack as stack_file
from penstock.embedded.stack import Service, Stack

STACK = Stack(
    pid=os.getpid(),
    ready=True,
    durability="power",
    settings={"nats.url": "nats://127.0.0.1:4222"},
    services=(Service("nats", "nats://127.0.0.1:4222", "child", "ready", 1, "/data/nats"),),
)


def test_a_saved_stack_is_found_again(tmp_path: Path) -> None:
    STACK.save(tmp_path)
    assert stack_file.load(tmp_path) == STACK


def test_it_is_for_our_eyes_only(tmp_path: Path) -> None:
    STACK.save(tmp_path)
    assert stat.S_IMODE((tmp_path / stack_file.FILE).stat().st_mode) == 0o600


def test_without_a_file_nothing_runs(tmp_path: Path) -> None:
    assert stack_file.load(tmp_path) is None


def test_a_file_that_a_killed_one_left_behind_does_not_count(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    msgspec.structs.replace(STACK, pid=ended.pid).save(tmp_path)
    assert stack_file.load(tmp_path) is None


def test_a_damaged_file_does_not_count(tmp_path: Path) -> None:
    (tmp_path / stack_file.FILE).write_text('{"pid": ')
    assert stack_file.load(tmp_path) is None


def test_a_removed_one_is_gone(tmp_path: Path) -> None:
    STACK.save(tmp_path)
    stack_file.remove(tmp_path)
    stack_file.remove(tmp_path)
    assert stack_file.load(tmp_path) is None
