"""How definitions are written down: YAML or JSON text to plain data, with the place of every value."""

from penstock.notation.errors import NotationError
from penstock.notation.text import Text, read_text

__all__ = ["NotationError", "Text", "read_text"]
