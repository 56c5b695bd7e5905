from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.embedded.datadir import DataDir
from penstock.embedded.errors import DataInUse, DataNotOurs, DataNotWritable


def test_a_new_folder_becomes_ours(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "deep" / "down")
    with data.hold():
        assert data.exists


def test_an_empty_folder_becomes_ours(tmp_path: Path) -> None:
    with DataDir(tmp_path).hold():
        assert DataDir(tmp_path).exists


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataNotOurs), DataDir(tmp_path).hold():
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with DataDir(tmp_path).hold():
        with pytest.raises(DataInUse) as refused, DataDir(tmp_path).hold():
            pass
        assert refused.value.attributes["pid"] == str(os.getpid())


def test_it_can_be_held_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with DataDir(tmp_path).hold():
            pass


def test_wiping_removes_all_but_what_makes_it_ours(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    outside = tmp_path.parent / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    with data.hold():
        (tmp_path / "nats" / "jetstream").mkdir(parents=True)
        (tmp_path / "stack.json").touch()
        (tmp_path / "link").symlink_to(outside)
        data.wipe()
        assert {entry.name for entry in tmp_path.iterdir()} == {"lock", "penstock-data"}
    assert (outside / "kept").exists()


def test_a_path_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataNotWritable), DataDir(tmp_path / "file" / "data").hold():
        pass
