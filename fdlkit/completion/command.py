"""Which part of a command line the cursor is in, and what may stand there."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence

from fdlkit.completion import files, store
from fdlkit.completion.candidates import Answer, Candidate, behind, choose
from fdlkit.completion.offers import Offers
from fdlkit.completion.words import Word
from fdlkit.errors import UserError
from fdlkit.targets import listing, spelling

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTION = re.compile(r"\d*(>>?|<|&>>?|>&)\|?")
# A path, which may hold a quoted `=`, and the operator behind it.
_PATH_AND_OPERATOR = re.compile(
    r"""(?P<path>(?:\[(?:'[^']*'|"[^"]*"|[^\]'"])*\]|[^=+*\[]|\*\*(?=\.))*)"""
    r"(?P<operator>[+*]?=)(?P<value>.*)",
    re.DOTALL,
)

# Words in a verb's usage line, and what stands for them.
_TARGETS = ("TARGET", "A", "B")
_FOLDERS = ("DIR", "RUN_DIR")


@dataclasses.dataclass(frozen=True)
class Flag:
    """A flag of a verb.

    Attributes:
      value: What stands behind its `=`: `FILE`, `tree|json`, `PATH=VALUE`; empty for
        a flag that takes no value.
      about: What it does.
    """

    value: str
    about: str


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb as far as completing needs it.

    Attributes:
      arguments: What follows it, as its usage line says: `TARGET PATH`.
      flags: Its flags by name.
    """

    arguments: str
    flags: Mapping[str, Flag]


@dataclasses.dataclass(frozen=True)
class Program:
    """What can be typed.

    Attributes:
      verbs: Each verb's one line, by its name.
      flags: The flags that stand in place of a verb, likewise.
      verb: Says more of one verb; asked for the one that was typed.
    """

    verbs: Mapping[str, str]
    flags: Mapping[str, str]
    verb: Callable[[str], Verb]


def complete(words: Sequence[Word], program: Program) -> Answer:
    """What the last word may become.

    Args:
      words: The command line from the program's name to the cursor.
      program: Its verbs.
    """
    *before, current = words
    values = [word.value for word in before]
    while values and _ASSIGNMENT.match(values[0]):
        del values[0]
    if values and _REDIRECTION.fullmatch(before[-1].raw):
        return files.files(current.value)
    if len(values) < 2:
        offered = program.flags if current.value.startswith("-") else program.verbs
        return _described(current.value, offered)
    if values[1] not in program.verbs:
        return Answer()
    return _Line(program.verb(values[1]), values[2:]).complete(current.value)


def _described(typed: str, offered: Mapping[str, str]) -> Answer:
    return Answer(
        tuple(
            Candidate(name, about)
            for name, about in offered.items()
            if name.startswith(typed)
        )
    )


class _Line:
    """What stands behind a verb and before the cursor."""

    def __init__(self, verb: Verb, before: Sequence[str]):
        self.flags = verb.flags
        self.slots = [w for w in verb.arguments.split() if not w.startswith(("-", "["))]
        self.positional: list[str] = []
        self.are_flags_over = False
        self.waiting: Flag | None = None  # a flag whose value is the next word
        self.current = ""  # the name of the flag that a value is for
        self.changes: list[tuple[str, str]] = []  # each flag of an override, its text
        for word in before:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.waiting is not None:
            self.waiting = None
            self._note(self.current, word)
        elif self.are_flags_over or not word.startswith("-") or word == "-":
            self.positional.append(word)
        elif word == "--":
            self.are_flags_over = True
        elif "=" not in word:
            self.current = _flag_name(word)
            flag = self.flags.get(self.current)
            self.waiting = flag if flag is not None and flag.value else None
        else:
            head, _, value = word.partition("=")
            self._note(_flag_name(head), value)

    def _note(self, name: str, value: str) -> None:
        if name.removeprefix("a.").startswith("fdl_"):
            self.changes.append((name, value))

    def complete(self, typed: str) -> Answer:
        """What a word that follows may become."""
        if self.waiting is not None:
            return self._value(self.waiting.value, typed)
        if self.are_flags_over or not typed.startswith("-"):
            return self._positional(typed)
        head, equals, value = typed.partition("=")
        if not equals:
            return self._flags(typed)
        self.current = _flag_name(head)
        flag = self.flags.get(self.current)
        if flag is None:
            return Answer()
        return behind(f"{head}=", self._value(flag.value, value))

    def _flags(self, typed: str) -> Answer:
        name = typed.lstrip("-")
        dashes = "-" if "-" in name else "_"  # both are the same: as it was begun
        found = [
            Candidate(
                f"--{flag.replace('_', dashes)}{'=' if about.value else ''}",
                about.about,
                is_whole=not about.value,
            )
            for flag, about in self.flags.items()
            if flag.startswith(name.replace("-", "_"))
        ]
        return Answer(tuple(found))

    def _positional(self, typed: str) -> Answer:
        slot = self._slot(len(self.positional))
        if slot in _TARGETS:
            return files.targets(typed)
        return self._value(slot, typed)

    def _slot(self, index: int) -> str:
        """The word of the usage line for a positional argument; empty beyond them."""
        if index >= len(self.slots):
            last = self.slots[-1] if self.slots else ""
            return last.rstrip("….") if last.endswith(("…", "...")) else ""
        return self.slots[index].rstrip("….")

    def _value(self, metavar: str, typed: str) -> Answer:
        if "|" in metavar:
            return choose(typed, metavar.split("|"))
        if metavar == "FILE":
            return files.files(typed)
        if metavar in _FOLDERS:
            return files.folders(typed)
        if metavar == "PATH":
            return self._offers().paths(typed, then="")
        if metavar.startswith("PATH="):
            return self._assignment(typed)
        if metavar.startswith("TAG="):
            return self._tagging(typed)
        if metavar.startswith("NAME("):
            return self._fiddlers(typed)
        return Answer()

    def _assignment(self, typed: str) -> Answer:
        offers = self._offers()
        if typed.startswith("~"):
            return behind("~", offers.paths(typed[1:], then=""))
        match = _PATH_AND_OPERATOR.fullmatch(typed)
        if match is None:
            return offers.paths(typed, then="=")
        head = match["path"] + match["operator"]
        return behind(head, offers.values(match["path"], match["value"]))

    def _tagging(self, typed: str) -> Answer:
        tag, equals, value = typed.partition("=")
        if not equals:
            return self._offers().tag_names(tag)
        return behind(f"{tag}=", self._offers().tag_values(tag, value))

    def _fiddlers(self, typed: str) -> Answer:
        target = self._target()
        file = files.python_file(target.where) if target else None
        names = files.functions(file, "fiddler") if file else ()
        return Answer(tuple(c for c in names if c.value.startswith(typed)))

    def _target(self) -> spelling.Spelling | None:
        """The target that the current flag is for: of several the last, or A."""
        given = [
            word
            for index, word in enumerate(self.positional)
            if self._slot(index) in (*_TARGETS, "RUN_DIR")
        ]
        try:
            which = 0 if self._is_for_a() else -1
            return spelling.parse(given[which]) if given else None
        except UserError:
            return None

    def _is_for_a(self) -> bool:
        return self.current.startswith("a.")

    def _earlier(self) -> list[tuple[str, str]]:
        """The kind and the text of each override that stands before, for this target.

        What a flag file says is not read.
        """
        head = "a.fdl_" if self._is_for_a() else "fdl_"
        return [
            (name.removeprefix(head), text)
            for name, text in self.changes
            if name.startswith(head)
        ]

    def _offers(self) -> Offers:
        """What a verb wrote down of the target; nothing if none did."""
        nothing = Offers(({},))
        target = self._target()
        if target is None:
            return nothing
        if target.kind == "run":
            file = files.config_of_run(target.where)
        elif target.kind == "json":
            file = os.path.expanduser(target.where)
        else:
            file = files.python_file(target.where)
        try:
            text = listing.read_source(file) if file else None
        except UserError:
            return nothing
        if file is None or text is None:
            return nothing
        found = store.recall(file, target.function, text, self._earlier())
        return found or nothing


def _flag_name(word: str) -> str:
    return word.lstrip("-").replace("-", "_")
