"""Every error a user can meet has a stable code, a page, and a message that can be built."""

from __future__ import annotations

import importlib
import pkgutil
import string
from inspect import cleandoc
from pathlib import Path

import penstock
from penstock.core.errors import PenstockError
from penstock.kit import edge

PAGES = Path(__file__).parents[2] / "docs" / "errors"

for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

FAMILY = [error for error in dict.fromkeys(PenstockError.family()) if error.__module__.startswith("penstock.")]
CONCRETE = [PenstockError, *(error for error in FAMILY if not error.__subclasses__())]


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in FAMILY]
    assert sorted(codes) == sorted(set(codes))


def test_every_error_has_a_code_of_its_own_in_capitals() -> None:
    assert [error for error in FAMILY if "code" not in vars(error)] == []
    assert [error.code for error in FAMILY if set(error.code) - set(string.ascii_uppercase + string.digits + "_")] == []


def test_every_concrete_code_has_a_page_that_begins_with_its_name() -> None:
    missing = [
        error.code
        for error in CONCRETE
        if not (page := PAGES / f"{error.code}.md").exists() or not page.read_text().startswith(f"# {error.code}\n")
    ]
    assert missing == []


def test_every_page_belongs_to_a_code() -> None:
    assert {page.stem for page in PAGES.glob("[A-Z]*.md")} <= {error.code for error in FAMILY}


def test_every_concrete_error_says_what_happened_and_what_to_do() -> None:
    silent = [error.code for error in CONCRETE if len(cleandoc(error.__doc__ or "").split("\n\n")) < 2]
    assert silent == []


def test_messages_are_filled_from_plain_attributes() -> None:
    for error in FAMILY:
        fields = [name for _, name, _, _ in string.Formatter().parse(error.__doc__ or "") if name is not None]
        assert all(name.isidentifier() for name in fields), error
        built = error(**dict.fromkeys(fields, 1))
        assert built.message
        assert edge.problem(built).detail


def test_the_edge_knows_no_code_that_does_not_exist() -> None:
    assert edge._STATUS.keys() <= {error.code for error in FAMILY}
