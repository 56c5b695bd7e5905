"""What can be wrong with the text of a definition, before its meaning.

NotationError
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class NotationError(PenstockError):
    """The text is no {language} at line {line}, column {column}: {reason}.

    Correct the text there; the first mistake hides those after it.
    """

    code = "NOTATION"
