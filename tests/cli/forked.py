"""Runs command lines, each as a process of its own, from one start of Python.

    python forked.py FOLDER < argvs.json

What the program imports in any case is imported once, and then every line is a fork:
it has its own streams, its own exit code, and nothing of the lines before it. `FOLDER`
gets `0.out`, `0.err` and so on; the exit codes are printed.
"""

from __future__ import annotations

import json
import os
import sys

import fiddle  # noqa: F401 - imported for the children
import optax  # noqa: F401 - likewise

from fdlkit.cli.main import main

codes = []
for number, argv in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if child == 0:
        for stream, name in ((1, "out"), (2, "err")):
            path = os.path.join(sys.argv[1], f"{number}.{name}")
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
        sys.argv = ["fdlkit", *argv]
        sys.exit(main())
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
