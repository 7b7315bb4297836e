"""Flags of the command line: absl's, on `FlagValues` of our own.

The process-wide `absl.flags.FLAGS` is never touched, so a user's file may define
whatever flags it likes. Importing this module imports neither Fiddle nor JAX.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from absl import flags

from fdlkit import suggest
from fdlkit.cli import flag_types
from fdlkit.errors import UserError
from fdlkit.overrides.problems import cut, quote

if TYPE_CHECKING:
    from fdlkit.overrides.apply import Override

OverrideKind = Literal["set", "tag", "fiddler"]


@dataclasses.dataclass(frozen=True)
class Parsed:
    """A command line taken apart.

    Attributes:
      positional: What is no flag, in order.
      values: The flags' values by name, defaults included.
      changes: `--fdl_set`, `--fdl_tag` and `--fdl_fiddler` in the order they stand.
      argv: The command line itself, without the program and the verb.
      a_changes: `--a.fdl_set` and its like, in the order they stand.
      side: What the flags of the changes begin with: `a.` where they are those of A.
    """

    positional: tuple[str, ...]
    values: dict[str, Any]
    changes: tuple[tuple[OverrideKind, str], ...]
    argv: tuple[str, ...]
    a_changes: tuple[tuple[OverrideKind, str], ...] = ()
    side: str = ""

    @property
    def overrides(self) -> tuple[Override, ...]:
        """The changes as values that `fdlkit.overrides.apply` takes."""
        from fdlkit.overrides.apply import Override

        return tuple(
            Override(kind, text, f"--{self.side}fdl_{kind}")
            for kind, text in self.changes
        )


class VerbFlags:
    """The flags of one verb; each verb makes its own.

    Those that say how a config is changed are there unless a verb takes no target.

    Example:
      flags = VerbFlags("show", "TARGET")
      flags.integer("depth", None, "how deep the tree goes", metavar="N")
      parsed = flags.parse(argv)
    """

    def __init__(self, verb: str, arguments: str = "", *, overrides: bool = True):
        self.verb = verb
        self.arguments = arguments
        self._values = flags.FlagValues()
        self._values.set_gnu_getopt(True)
        self._changes: list[tuple[OverrideKind, str]] = []
        self._a_changes: list[tuple[OverrideKind, str]] = []
        self._usage: dict[str, tuple[str, str]] = {}
        # Not this verb's own: absl's, and the program's.
        self._common = {
            "flagfile": ("--flagfile=FILE", "more flags from a file, one a line"),
            "traceback": ("--traceback", "show where an error comes from"),
        }
        if overrides:
            self._define_overrides()

    @property
    def usage_by_flag(self) -> Mapping[str, tuple[str, str]]:
        """How each flag is spelt, `--out=FILE`, and what it does."""
        return self._usage | self._common if self._usage else {}

    def _define_overrides(self) -> None:
        self._override("fdl_set", "set", "PATH=VALUE", "set an argument")
        self._override("fdl_tag", "tag", "TAG=VALUE", "set what carries a tag")
        self._override(
            "fdl_fiddler", "fiddler", "NAME(...)", "let a function edit the config"
        )
        self.multi(
            "allow",
            "a module whose names a JSON target may use; may be repeated",
            metavar="MODULE",
        )

    def hide_overrides(self) -> None:
        """Leaves overrides out of the help, for a verb that refuses them."""
        for kind in ("set", "tag", "fiddler"):
            del self._usage[f"fdl_{kind}"]

    def string(
        self, name: str, default: str | None, text: str, *, metavar: str
    ) -> None:
        """Defines `--name=METAVAR`."""
        flags.DEFINE_string(name, default, text, flag_values=self._values)
        self._usage[name] = f"--{name}={metavar}", text

    def integer(
        self, name: str, default: int | None, text: str, *, metavar: str
    ) -> None:
        """Defines `--name=METAVAR`, a number that is not negative."""
        flags.DEFINE_integer(name, default, text, flag_values=self._values)
        self._values[name].parser = flag_types.CountParser()
        self._usage[name] = f"--{name}={metavar}", text

    def checkpoint(self, name: str, text: str) -> None:
        """Defines `--name=STEP|last|best`, the last one by default."""
        flags.DEFINE_string(name, "last", text, flag_values=self._values)
        self._values[name].parser = flag_types.StepParser()
        self._usage[name] = f"--{name}=STEP|last|best", text

    def number(
        self, name: str, default: float | None, text: str, *, metavar: str
    ) -> None:
        """Defines `--name=METAVAR`, a number that may have a point."""
        flags.DEFINE_float(name, default, text, flag_values=self._values)
        self._values[name].parser = flag_types.NumberParser()
        self._usage[name] = f"--{name}={metavar}", text

    def boolean(self, name: str, text: str) -> None:
        """Defines `--name`, off by default."""
        flags.DEFINE_bool(name, False, text, flag_values=self._values)
        self._values[name].parser = flag_types.SwitchParser()
        self._usage[name] = f"--{name}", text

    def switch_or(
        self, name: str, text: str, *, parser: flag_types.SwitchParser, metavar: str
    ) -> None:
        """Defines `--name`, which may be given a value too: `--name=METAVAR`."""
        flags.DEFINE_bool(name, None, text, flag_values=self._values)
        self._values[name].parser = parser
        self._usage[name] = f"--{name}[={metavar}]", text

    def choice(
        self, name: str, default: str, text: str, *, choices: Sequence[str]
    ) -> None:
        """Defines `--name=A|B`."""
        flags.DEFINE_string(name, default, text, flag_values=self._values)
        self._values[name].parser = flag_types.ChoiceParser(name, choices)
        self._usage[name] = f"--{name}={'|'.join(choices)}", text

    def multi(self, name: str, text: str, *, metavar: str) -> None:
        """Defines `--name=METAVAR`, any number of times."""
        flags.DEFINE_multi_string(name, [], text, flag_values=self._values)
        self._usage[name] = f"--{name}={metavar}", text

    def overrides_of_a(self) -> None:
        """Defines `--a.fdl_set` and its like, for a verb that takes two targets."""
        texts = {
            "set": ("PATH=VALUE", "set an argument"),
            "tag": ("TAG=VALUE", "set what carries a tag"),
            "fiddler": ("NAME(...)", "let a function edit the config"),
        }
        kinds: tuple[OverrideKind, ...] = ("set", "tag", "fiddler")
        for kind in kinds:
            name, (metavar, text) = f"a.fdl_{kind}", texts[kind]
            flag = _OverrideFlag(name, kind, text, self._a_changes)
            flags.DEFINE_flag(flag, self._values)
            self._usage[name] = f"--{name}={metavar}", f"{text} of A; may be repeated"

    def parse(self, argv: Sequence[str]) -> Parsed:
        """Takes a command line apart.

        Raises:
          UserError: A flag is unknown or has a value that it does not take.
        """
        try:
            _refuse_nameless_flag_file(argv)
            expanded = self._values.read_flags_from_files(list(argv), force_gnu=True)
        except flags.CantOpenFlagFileError as error:
            raise self._no_flag_file(error) from error
        except flags.Error as error:
            raise self._refused("--flagfile needs the name of a file") from error
        except (ValueError, OSError, RecursionError) as error:  # no text, no name
            what = f"a flag file cannot be read: {error}"
            raise self._refused(what) from error
        expanded = [*map(_underscored, expanded)]
        self._refuse_undefok(expanded)
        try:
            positional = self._values(["fdlkit", *expanded])[1:]
        except flags.UnrecognizedFlagError as error:
            raise self._unknown(error.flagname, expanded) from error
        except (flags.Error, ValueError) as error:  # ValueError: `--noflag=value`
            raise self._refused(str(error)) from error
        values = {name: self._values[name].value for name in self._usage}
        return Parsed(
            tuple(positional),
            values,
            tuple(self._changes),
            tuple(argv),
            tuple(self._a_changes),
        )

    def one(self, parsed: Parsed, what: str = "TARGET") -> str:
        """The only positional argument.

        Raises:
          UserError: There is none, or there are several.
        """
        if len(parsed.positional) == 1:
            return parsed.positional[0]
        if not parsed.positional:
            problem = f"fdlkit {self.verb} needs a {what}"
        else:
            surplus = " ".join(parsed.positional[1:])
            problem = f"fdlkit {self.verb} takes one {what}; what is '{surplus}'?"
        raise UserError(problem, f"  {self.usage()}")

    def names(self) -> list[str]:
        """The names of all flags that may follow the verb."""
        return [*self._usage, *self._common]

    def usage(self) -> str:
        """The usage line."""
        flags = " [flags]" if self._usage else ""
        return f"usage: fdlkit {self.verb} {self.arguments}{flags}"

    def help(self, summary: str, width: int) -> str:
        """The text of `fdlkit VERB --help`, `width` columns wide."""
        lines = [self.usage(), "", summary]
        if not self._usage:
            return "\n".join(lines)
        usage = self._usage | self._common
        margin = 2 + max(len(spelling) for spelling, _ in usage.values()) + 2
        margin = min(margin, 34)
        lines += ["", "flags:"]
        for spelling, text in usage.values():
            head = f"  {spelling}"
            body = textwrap.wrap(text, max(width - margin, 24)) or [""]
            if len(head) + 2 > margin:
                lines.append(head)
                head = ""
            lines.append(f"{head:<{margin}}{body[0]}".rstrip())
            lines += [" " * margin + more for more in body[1:]]
        return "\n".join(lines)

    def _override(self, name: str, kind: OverrideKind, metavar: str, text: str) -> None:
        flags.DEFINE_flag(_OverrideFlag(name, kind, text, self._changes), self._values)
        self._usage[name] = f"--{name}={metavar}", f"{text}; may be repeated"

    def _refused(self, what: str) -> UserError:
        return UserError(f"fdlkit {self.verb}: {what}", f"  fdlkit {self.verb} --help")

    def _no_flag_file(self, error: flags.CantOpenFlagFileError) -> UserError:
        cause = error.__context__
        if not isinstance(cause, OSError):
            return self._refused(str(error))
        name = quote(os.fspath(cause.filename or ""))
        return self._refused(f"cannot read the flag file {name}: {cause.strerror}")

    def _refuse_undefok(self, argv: Sequence[str]) -> None:
        """Absl would let flags pass that it names, and no flag may be lost."""
        for argument in argv:
            if argument == "--":
                return
            if argument.lstrip("-").partition("=")[0] == "undefok" and (
                argument.startswith("-")
            ):
                raise self._unknown("undefok", argv)

    def _unknown(self, name: str, argv: Sequence[str]) -> UserError:
        known = self.names()
        near = suggest.nearest(name, known, n=1)
        flag, blank, _ = name.partition(" ")
        if blank and flag in known:  # a flag file's line is one word
            line = next(a for a in argv if a.lstrip("-").startswith(name))
            meant = f"--{flag}={line.partition(' ')[2].strip()}"
            lines = [f"  {suggest.did_you_mean(cut(meant))}"]
        elif near:
            lines = [f"  {suggest.did_you_mean(f'--{near[0]}')}"]
        elif name == "undefok" or "fdl_set" not in self._usage:
            lines = []
        else:  # a parameter of the config, without the flag that sets one
            given = [a.partition("=") for a in argv if a.startswith("-")]
            value = next(
                (v for n, equals, v in given if equals and n.lstrip("-") == name),
                "VALUE",
            )
            meant = f"--fdl_set={name}={value}"
            lines = [f"  {suggest.did_you_mean(cut(meant))}"]
        return UserError(
            f"fdlkit {self.verb} has no flag {quote(f'--{name}')}",
            *lines,
            *textwrap.wrap(
                f"flags: {', '.join(f'--{flag}' for flag in known)}",
                width=80,
                initial_indent="  ",
                subsequent_indent="    ",
            ),
        )


class _OverrideFlag(flags.Flag):
    """A flag that may be repeated and remembers its place among its like."""

    def __init__(
        self,
        name: str,
        kind: OverrideKind,
        text: str,
        changes: list[tuple[OverrideKind, str]],
    ):
        super().__init__(
            flags.ArgumentParser(), None, name, None, text, allow_override=True
        )
        self._kind = kind
        self._changes = changes

    def parse(self, argument: str) -> None:
        """Takes one occurrence."""
        self.present += 1
        self._changes.append((self._kind, argument))


def _refuse_nameless_flag_file(argv: Sequence[str]) -> None:
    """An empty name is a shell's variable that is not set; absl reads it as no flag.

    Raises:
      flags.Error: There is one.
    """
    flags_of = argv[: argv.index("--")] if "--" in argv else argv
    if any(a.lstrip("-") == "flagfile=" and a.startswith("-") for a in flags_of):
        raise flags.Error("no name")


def _underscored(argument: str) -> str:
    """`--dry-run=x` as `--dry_run=x`; the value is left alone."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return f"--{name[2:].replace('-', '_')}{equals}{value}"
