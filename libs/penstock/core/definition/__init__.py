"""Workflow definitions: from plain data to the compiled graph, with everything that is wrong on the way."""

from penstock.core.definition.check import FORMAT, Checked, check, compile_definition
from penstock.core.definition.problem import DefinitionInvalid, Place, Places, Problem
from penstock.core.definition.types import NodeType

__all__ = [
    "FORMAT",
    "Checked",
    "DefinitionInvalid",
    "NodeType",
    "Place",
    "Places",
    "Problem",
    "check",
    "compile_definition",
]
