"""Experiments in programs of your own that use `absl.app`.

    from absl import app
    from fdlkit import flags

    EXP = flags.DEFINE_experiment("exp", required=True)

    def main(argv):
        cfg = EXP.value

and on the command line `--exp=TARGET --exp.set=PATH=VALUE --exp.tag=TAG=VALUE
"--exp.fiddler=NAME(argument=value)"`, any number of them, applied in the order given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from absl import app, logging
from absl import flags as absl_flags

from fdlkit.errors import UserError

if TYPE_CHECKING:
    import fiddle as fdl

    from fdlkit.overrides.apply import Override

Kind = Literal["set", "tag", "fiddler"]

_WHAT: dict[Kind, str] = {
    "set": "PATH=VALUE: sets an argument of {of}; may be repeated",
    "tag": "TAG=VALUE: sets what carries a tag in {of}; may be repeated",
    "fiddler": "NAME(...): lets a function edit {of}; may be repeated",
}


class ExperimentUsageError(app.UsageError, UserError):
    """The command line names no config; `absl.app.run` tells it and exits with 1."""

    def __init__(self, what: str, *lines: str):
        UserError.__init__(self, what, *lines)
        self.exitcode = 1

    def __str__(self) -> str:
        return "\n".join((f"error: {self.lines[0]}", *self.lines[1:]))


class ExperimentFlagHolder(absl_flags.FlagHolder):
    """What `DEFINE_experiment` returns.

    `flag_values[name].value` is the target as text; `.value` here is its config.
    """

    def __init__(self, flag_values: absl_flags.FlagValues, flag: absl_flags.Flag):
        super().__init__(flag_values, flag)
        # The command line and the config that it gave.
        self._made: tuple[object, fdl.Buildable] | None = None

    @property
    def target(self) -> str | None:
        """The target as it was written; None if there is none.

        Raises:
          absl.flags.UnparsedFlagAccessError: Flags have not been parsed.
        """
        return super().value

    @property
    def value(self) -> fdl.Buildable | None:
        """The config with all changes applied; None if no target was given.

        It is made when it is first read. Until the flags change, each reading gives the
        same object, so that what the program changes in it stays changed.

        Raises:
          ExperimentUsageError: There is no such config, or a change cannot be applied;
            at each reading, and none of the changes is applied then.
          absl.flags.UnparsedFlagAccessError: Flags have not been parsed.
        """
        target, overrides = self.target, self._overrides()
        if target is None:
            if overrides:
                raise ExperimentUsageError(
                    f"{overrides[0].prefix}{overrides[0].text} changes "
                    f"no config: there is no --{self.name}",
                    f"  write --{self.name}=TARGET, such as path/file.py:name",
                )
            return None
        allow = tuple(self._flagvalues[f"{self.name}.allow"].value or ())
        asked = target, overrides, allow
        if self._made is None or self._made[0] != asked:
            self._made = asked, _load(target, overrides, allow)
        return self._made[1]

    def _overrides(self) -> tuple[Override, ...]:
        from fdlkit.overrides.apply import Override

        numbered: list[tuple[int, Override]] = []
        for kind in _WHAT:
            for flag in (f"{self.name}.{kind}", f"fdl_{kind}"):
                # Where something else has defined `--fdl_set`, it is not ours to read.
                found = self._flagvalues[flag]
                if isinstance(found, _ChangesFlag):
                    numbered += [
                        (number, Override(kind, text, f"--{flag}"))
                        for number, text in found.numbered
                    ]
        overrides = tuple(change for _, change in sorted(numbered, key=lambda n: n[0]))
        names = list(_experiments(self._flagvalues))
        for change in overrides:
            if change.flag == f"--fdl_{change.kind}" and len(names) > 1:
                raise ExperimentUsageError(
                    f"{change.prefix}{change.text} could mean any of "
                    + ", ".join(f"--{name}" for name in names),
                    "  write "
                    + " or ".join(f"--{name}.{change.kind}=..." for name in names),
                )
        return overrides


def DEFINE_experiment(  # noqa: N802 - as absl names what defines a flag
    name: str,
    default: str | None = None,
    help: str | None = "An experiment: path/file.py:name, pkg.mod:name, config.json",  # noqa: A002 - absl's name
    *,
    flag_values: absl_flags.FlagValues = absl_flags.FLAGS,
    required: bool = False,
    allow: Sequence[str] = (),
) -> ExperimentFlagHolder:
    """Defines `--NAME=TARGET` and `--NAME.set`, `--NAME.tag`, `--NAME.fiddler`.

    Also `--NAME.allow=MODULE`, and `--fdl_set`, `--fdl_tag`, `--fdl_fiddler` for each
    of them that nothing else has defined; whatever defines one later takes it over.

    Args:
      name: The flag's name.
      default: The target where none is given.
      help: What `--help` says of it.
      flag_values: Where the flags are registered.
      required: Whether the command line must name a target.
      allow: Modules that a JSON target may name beside the known ones.

    Returns:
      A holder; its `value` is the config.
    """
    absl_flags.disclaim_key_flags()  # they are flags of the module that calls this
    clock = next(
        (flag.clock for flag in _flags_of(flag_values, _ChangesFlag)), _Clock()
    )
    target = _TargetFlag(
        absl_flags.ArgumentParser(),
        absl_flags.ArgumentSerializer(),
        name,
        default,
        help,
    )
    absl_flags.DEFINE_flag(target, flag_values, required=required)
    for kind, what in _WHAT.items():
        flag = _ChangesFlag(f"{name}.{kind}", what.format(of=f"--{name}"), clock)
        absl_flags.DEFINE_flag(flag, flag_values)
        if f"fdl_{kind}" not in flag_values:
            short = _ChangesFlag(f"fdl_{kind}", what.format(of="the experiment"), clock)
            short.allow_override = True
            absl_flags.DEFINE_flag(short, flag_values)
    absl_flags.DEFINE_multi_string(
        f"{name}.allow",
        list(allow) or None,
        "MODULE: what a JSON target may name besides",
        flag_values=flag_values,
    )
    return ExperimentFlagHolder(flag_values, target)


class _TargetFlag(absl_flags.Flag):
    """The flag that names an experiment's target."""


class _Clock:
    """Tells flags apart by when they were set."""

    def __init__(self) -> None:
        self._ticks = 0

    def tick(self) -> int:
        self._ticks += 1
        return self._ticks


class _ChangesFlag(absl_flags.Flag):
    """A flag that may be repeated and knows its places among its like.

    Its value is a tuple of what was given, or None. What is set from within the program
    (as `flagsaver` does) counts as given then.
    """

    def __init__(self, name: str, what: str, clock: _Clock):
        self.clock = clock
        self._numbers: tuple[int, ...] = ()
        super().__init__(absl_flags.ArgumentParser(), None, name, None, what)

    @property
    def value(self) -> Any:
        """What was given, in order; None if nothing was."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = None if value is None else _texts(value)
        self._numbers = tuple(self.clock.tick() for _ in self._value or ())

    @property
    def numbered(self) -> list[tuple[int, str]]:
        """What was given, each with its place among all flags of this kind."""
        return list(zip(self._numbers, self._value or (), strict=True))

    def parse(self, argument: Any) -> None:
        """Takes one occurrence, or several at once."""
        before = self.numbered if self.present else []
        new = [(self.clock.tick(), text) for text in _texts(argument)]
        self._numbers = tuple(number for number, _ in (*before, *new))
        self._value = tuple(text for _, text in (*before, *new))
        self.present += len(new)

    def serialize(self) -> str:
        """The flags as a command line would give them, one a line.

        Their order among flags of other names is not kept.
        """
        return "\n".join(f"--{self.name}={text}" for text in self._value or ())


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _flags_of(flag_values: absl_flags.FlagValues, kind: type) -> Iterator[Any]:
    for name in flag_values:
        if isinstance(flag_values[name], kind):
            yield flag_values[name]


def _experiments(flag_values: absl_flags.FlagValues) -> Iterator[str]:
    for flag in _flags_of(flag_values, _TargetFlag):
        yield flag.name


def _load(
    target: str, overrides: Sequence[Override], allow: Sequence[str]
) -> fdl.Buildable:
    from fdlkit.targets.overridden import load_overridden

    try:
        loaded, notes = load_overridden(target, overrides, allow=allow)
    except UserError as error:
        raise ExperimentUsageError(*error.lines) from error
    for note in notes:
        logging.info("note: %s", note)
    return loaded.cfg
