"""What a parent and its sandbox say to each other. Both ends import this, so it imports nothing of ours.

A frame is `LENGTH` and that many bytes. A request is `REQUEST` (the letter of the operation, milliseconds, mebibytes,
the length of the source), then the source, then the argument values as the engine reads them. An answer is one letter
and one JSON text: `v` a value, `e` an error as `{"kind", "reason", "line", "column"}`. Only text comes back: whatever
a script makes of its process, the parent has nothing to trust but a parser.
"""

from __future__ import annotations

from struct import Struct

LENGTH = Struct("<I")
REQUEST = Struct("<cqqI")
