"""Every error a user can meet has a stable code, a page, and a message that can be built."""

from __future__ import annotations

import importlib
import pkgutil
import string
from inspect import cleandoc
from pathlib import Path

import pytest

import penstock
from penstock.core.errors import PenstockError
from penstock.kit import edge

PAGES = Path(__file__).parents[2] / "docs" / "errors"

Errors = list[type[PenstockError]]


@pytest.fixture(scope="module")
def family() -> Errors:
    for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [error for error in dict.fromkeys(PenstockError.family()) if error.__module__.startswith("penstock.")]


@pytest.fixture
def concrete(family: Errors) -> Errors:
    return [PenstockError, *(error for error in family if not error.__subclasses__())]


def test_no_two_errors_share_a_code(family: Errors) -> None:
    codes = [error.code for error in family]
    assert sorted(codes) == sorted(set(codes))


def test_every_error_has_a_code_of_its_own_in_capitals(family: Errors) -> None:
    assert [error for error in family if "code" not in vars(error)] == []
    assert [error.code for error in family if set(error.code) - set(string.ascii_uppercase + string.digits + "_")] == []


def test_every_concrete_code_has_a_page_that_begins_with_its_name(concrete: Errors) -> None:
    missing = [
        error.code
        for error in concrete
        if not (page := PAGES / f"{error.code}.md").exists() or not page.read_text().startswith(f"# {error.code}\n")
    ]
    assert missing == []


def test_every_page_belongs_to_a_code(family: Errors) -> None:
    assert {page.stem for page in PAGES.glob("[A-Z]*.md")} <= {error.code for error in family}


def test_every_concrete_error_says_what_happened_and_what_to_do(concrete: Errors) -> None:
    silent = [error.code for error in concrete if len(cleandoc(error.__doc__ or "").split("\n\n")) < 2]
    assert silent == []


def test_messages_are_filled_from_plain_attributes(family: Errors) -> None:
    for error in family:
        fields = [name for _, name, _, _ in string.Formatter().parse(error.__doc__ or "") if name is not None]
        assert all(name.isidentifier() for name in fields), error
        built = error(**dict.fromkeys(fields, 1))
        assert built.message
        assert edge.problem(built).detail


def test_the_edge_knows_no_code_that_does_not_exist(family: Errors) -> None:
    assert edge._STATUS.keys() <= {error.code for error in family}


def test_what_may_be_repeated_never_looks_like_a_fault_of_ours_to_a_caller(family: Errors) -> None:
    at_the_edge = [error for error in family if error.retryable and ".embedded." not in error.__module__]
    assert [error.code for error in at_the_edge if edge.canonical(error()) == "INTERNAL"] == []
