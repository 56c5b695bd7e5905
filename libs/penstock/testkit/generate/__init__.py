"""Random graph definitions from a seed, each with an input and a script that answers for the outside world."""

from penstock.testkit.generate.definition import Generated, definition
from penstock.testkit.generate.features import CALM, EVERYTHING, Features
from penstock.testkit.generate.script import Behaviour, GeneratedScript

__all__ = ["CALM", "EVERYTHING", "Behaviour", "Features", "Generated", "GeneratedScript", "definition"]
