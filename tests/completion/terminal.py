"""A terminal without a window: a shell that is typed to, and the screen it writes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

COLUMNS, ROWS = 200, 60

# A shell completes only on the terminal that its session belongs to.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""

_ESCAPE = re.compile(
    r"\x1b\[(?P<private>[?>=<]?)(?P<numbers>[\d;:]*)[ !]?(?P<final>[@-~])"  # CSI
    r"|\x1b[\]P^_X].*?(?:\x07|\x1b\\)"  # a title and the like
    r"|\x1b[()#%].|\x1b[=>NOMDEHc78Z]",
    re.DOTALL,
)


class Screen:
    """What a terminal shows after what was written to it."""

    def __init__(self):
        self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self._pending = ""

    def feed(self, text):
        text, self._pending = self._pending + text, ""
        position = 0
        while position < len(text):
            char = text[position]
            if char == "\x1b":
                match = _ESCAPE.match(text, position)
                if match is None:  # the rest of it is still to come
                    self._pending = text[position:]
                    return
                if match["final"] and not match["private"]:
                    self._move(match["final"], match["numbers"])
                position = match.end()
                continue
            self._put(char)
            position += 1

    def _put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self._down()
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char == "\t":
            self.column = min(self.column // 8 * 8 + 8, COLUMNS - 1)
        elif char.isprintable():
            if self.column == COLUMNS:
                self.column = 0
                self._down()
            self.rows[self.row][self.column] = char
            self.column += 1

    def _down(self):
        if self.row == ROWS - 1:
            del self.rows[0]
            self.rows.append([" "] * COLUMNS)
        else:
            self.row += 1

    def _move(self, final, numbers):
        given = [int(n) if n.isdigit() else 0 for n in numbers.split(";")]
        count = max(given[0], 1)
        line = self.rows[self.row]
        if final == "A":
            self.row = max(self.row - count, 0)
        elif final == "B":
            self.row = min(self.row + count, ROWS - 1)
        elif final == "C":
            self.column = min(self.column + count, COLUMNS - 1)
        elif final == "D":
            self.column = max(self.column - count, 0)
        elif final == "G":
            self.column = count - 1
        elif final == "H":
            self.row = min(count, ROWS) - 1
            self.column = max(given[1] if len(given) > 1 else 1, 1) - 1
        elif final == "K":
            start, end = self._span(given[0], self.column, COLUMNS)
            line[start:end] = [" "] * (end - start)
        elif final == "J":
            start, end = self._span(given[0], self.row + 1, ROWS)
            for row in range(start, end):
                self.rows[row] = [" "] * COLUMNS
            if given[0] == 0:
                line[self.column :] = [" "] * (COLUMNS - self.column)
        elif final == "P":
            del line[self.column : self.column + count]
            line += [" "] * (COLUMNS - len(line))
        elif final == "@":
            line[self.column : self.column] = [" "] * count
            del line[COLUMNS:]

    @staticmethod
    def _span(what, here, end):
        return {0: (here, end), 1: (0, here)}.get(what, (0, end))

    @property
    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip()

    @property
    def line(self):
        """What is on the cursor's line, up to the cursor."""
        return "".join(self.rows[self.row])[: self.column]


class Terminal:
    """A shell on a terminal; a context manager that ends it."""

    def __init__(self, command, *, cwd, env):
        self.screen = Screen()
        self._fd, terminal = pty.openpty()
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)
        # `pty.fork` would fork whatever threads this process has.
        self._process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command],
            cwd=cwd,
            env=env,
            start_new_session=True,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self._fd)
        self._process.kill()
        self._process.wait()

    def type(self, keys):
        os.write(self._fd, keys.encode())

    def wait_for(self, condition, *, seconds=60):
        """Reads until the screen is as wanted; fails with what it shows instead."""
        deadline = time.monotonic() + seconds
        while not condition(self.screen):
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"the screen shows:\n{self.screen.text}")

    def settle(self, seconds):
        """Reads until nothing was written for some time."""
        while self._read(seconds):
            pass

    def _read(self, seconds):
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the shell has ended
            return False
        self.screen.feed(data.decode(errors="replace"))
        return bool(data)
