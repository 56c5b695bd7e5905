"""What hostile Python tries, and what must come of it, whichever engine runs it."""

from __future__ import annotations

from penstock.expr.errors import CompileError, EvaluationError, ExprError, ExpressionTooComplex, LimitExceeded

HARMLESS = object
"""Engines differ: refused by one, worth nothing in the other."""

PYTHON: dict[str, tuple[str, type[Exception] | object]] = {
    # reaching for the host
    "open": ('return open("CANARY").read()', ExprError),
    "import os": ('import os\nreturn os.popen("cat CANARY").read()', ExprError),
    "os listdir": ('import os\nreturn os.listdir("/")', ExprError),
    "pathlib": ('from pathlib import Path\nreturn Path("CANARY").read_text()', ExprError),
    "import sys": ("import sys\nreturn sys.modules['os'].getpid()", ExprError),
    "import socket": ("import socket\nreturn socket.socket()", ExprError),
    "import subprocess": ("import subprocess\nreturn subprocess.run(['id'])", ExprError),
    "import ctypes": ("import ctypes\nreturn ctypes.CDLL(None)", ExprError),
    "import builtins": ("import builtins\nreturn builtins.open('CANARY').read()", ExprError),
    "dunder import": ('return __import__("os").getpid()', ExprError),
    "importlib": ("import importlib\nreturn importlib.import_module('os')", ExprError),
    "module of a module": ("import math\nreturn math.__loader__", ExprError),
    "builtins": ("return __builtins__", ExprError),
    "eval": ("return eval(\"open('CANARY').read()\")", ExprError),
    "exec": ("exec(\"x = open('CANARY').read()\")\nreturn x", ExprError),
    "compile": ("return compile(\"open('CANARY')\", '', 'eval')", ExprError),
    "environment": ("import os\nreturn dict(os.environ)", ExprError),
    "input": ("return input()", ExprError),
    "breakpoint": ("breakpoint()", ExprError),
    "exit": ("raise SystemExit(0)", ExprError),
    "keyboard": ("raise KeyboardInterrupt", ExprError),
    # walking attributes
    "class": ("return ().__class__.__bases__[0].__subclasses__()", ExprError),
    "mro": ("return [].__class__.__mro__[1].__subclasses__()", ExprError),
    "getattr": ("return getattr((), '__class__').__bases__[0].__subclasses__()", ExprError),
    "getattr in parts": ("return getattr((), '__cl' + 'ass__').__base__.__subclasses__()", ExprError),
    "globals of a function": ("def f(): pass\nreturn f.__globals__['__builtins__']", ExprError),
    "code of a function": ("def f(): pass\nreturn f.__code__.co_code", ExprError),
    "closure": ("x = 1\ndef f(): return x\nreturn f.__closure__[0]", ExprError),
    "generator frame": ("g = (x for x in [1])\nreturn g.gi_frame.f_back.f_globals", ExprError),
    "traceback frame": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    return e.__traceback__.tb_frame.f_globals",
        ExprError,
    ),
    "format attribute": ("return '{0.__class__.__mro__}'.format(1)", ExprError),
    "format map": ("return '{x.__class__}'.format_map({'x': 1})", ExprError),
    "format by class": ("return str.format('{0.__class__.__subclasses__}', 1)", ExprError),
    "fstring": ("return f'{().__class__.__base__.__subclasses__()}'", ExprError),
    "match class": (
        "match 1:\n    case int(__class__=c):\n        return c.__subclasses__()\nraise ValueError",
        ExprError,
    ),
    "type of type": ("return type(type(1)).__subclasses__(type)", ExprError),
    "vars": ("return vars(int)['__add__'].__objclass__.__subclasses__()", ExprError),
    "globals": ("return globals()['__builtins__'].open", ExprError),
    "metaclass": (
        """class M(type):
    def __getattr__(s, n): return open
class C(metaclass=M): pass
return C.x('CANARY').read()""",
        ExprError,
    ),
    "wrapper": ("global evaluate\nevaluate = open\nreturn evaluate('CANARY').read()", ExprError),
    # never ending
    "loop": ("while True: pass", LimitExceeded),
    "swallowing loop": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        ExprError,
    ),
    "finally loop": ("try:\n    while True: pass\nfinally:\n    while True: pass", LimitExceeded),
    "comprehension": ("return [x for x in iter(int, 1)]", ExprError),
    "long comprehension": ("return sum([x * y for x in range(10**6) for y in range(10**6)])", LimitExceeded),
    "sum": ("return sum(range(10**12))", LimitExceeded),
    "membership": ("return -1 in range(0, 10**15, 7) or max(range(10**12))", LimitExceeded),
    "sleep": ("import time\nwhile True: time.sleep(3600)", ExprError),
    "regex": ("import re\nreturn re.fullmatch('(a|a)*(a|a)*b', 'a' * 20000) or re.missing", ExprError),
    "sorting": (
        "def slow(x):\n    while True: pass\nreturn sorted([3, 2, 1], key=slow)",
        LimitExceeded,
    ),
    # eating memory or stack
    "power": ("return 9**9**9", LimitExceeded),
    "power text": ("return str(7**10**7)", ExprError),
    "shift": ("return 1 << (1 << 40)", ExprError),
    "repeat": ("return len('x' * 10**11)", LimitExceeded),
    "list": ("return [0] * 10**11", LimitExceeded),
    "growing": ("x = ['a']\nwhile True: x = x + x", LimitExceeded),
    "doubling": ("s = 'x'\nwhile True: s = s + s", LimitExceeded),
    "padding": ("return len(f'{1:>99999999999}')", ExprError),
    "dictionary": ("return len({i: str(i) for i in range(10**9)})", LimitExceeded),
    "recursion": ("def f(): return f()\nreturn f()", LimitExceeded),
    "deep data": ("x = []\nfor _ in range(10**5): x = [x]\nreturn x", ExprError),
    "printing": ("while True: print('x' * 1000)", LimitExceeded),
    # sources
    "a megabyte": ("x = 1\n" * 180_000, ExpressionTooComplex),
    "deep parentheses": ("return " + "(" * 10_000 + ")" * 10_000, CompileError),
    "deep lists": ("return " + "[" * 10_000 + "]" * 10_000, CompileError),
    "deep unary": ("return " + "-" * 10_000 + "1", ExprError),
    "deep blocks": ("".join(" " * i + "if 1:\n" for i in range(300)) + " " * 300 + "return 1", CompileError),
    "null byte": ("return '\0'", HARMLESS),
    "unclosed": ('return """', CompileError),
    "dedent": ("return 1\n  return 2", CompileError),
    "breaking out": ("x = f'''{\n'''\nimport os'''}'''", HARMLESS),
    # results
    "nan": ("return float('nan')", EvaluationError),
    "infinity": ("return [1e308 * 10]", EvaluationError),
    "large integer": ("return 2**70", EvaluationError),
    "cycle": ("x = []\nx.append(x)\nreturn x", ExprError),
    "deep result": ("x = []\nfor _ in range(100): x = [x]\nreturn x", LimitExceeded),
    "huge text": ("return 'x' * 2000000", LimitExceeded),
    "set": ("return {1, 2}", EvaluationError),
    "bytes": ("return b'x'", EvaluationError),
    "function": ("return len", EvaluationError),
    "generator": ("yield 1", EvaluationError),
    "tuple key": ("return {(1, 2): 3}", EvaluationError),
    "lone surrogate": ("return '\\ud800'", HARMLESS),
    "lying class": ("class Liar:\n    def __bool__(self): raise ValueError\nreturn Liar()", ExprError),
}
