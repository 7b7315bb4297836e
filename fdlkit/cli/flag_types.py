"""What the values of flags may be, with an answer to a wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from absl import flags

from fdlkit import suggest

_MOST_DIGITS = 18


class ChoiceParser(flags.ArgumentParser):
    """One of several words; a wrong one is told the nearest."""

    def __init__(self, name: str, choices: Sequence[str]):
        self._name = name
        self._choices = tuple(choices)

    def parse(self, argument: str) -> str:
        """The word itself, if it is one of them."""
        if argument in self._choices:
            return argument
        hint = suggest.hint(argument, self._choices)
        raise ValueError(
            f"it is one of {', '.join(self._choices)}" + (f"; {hint}" if hint else "")
        )


class CountParser(flags.ArgumentParser):
    """A number that is not negative."""

    def parse(self, argument: str | int) -> int:
        """The number; an `int` as it is, which absl gives for a default."""
        text = str(argument).strip()
        if not text.isdecimal() or len(text) > _MOST_DIGITS:
            raise ValueError("it is a number: 0, 1, 2, ...")
        return int(text)


class NumberParser(flags.ArgumentParser):
    """A number, which may have a point; its range is whose it is to say."""

    def parse(self, argument: str | float) -> float:
        """The number; a `float` as it is, which absl gives for a default."""
        try:
            return float(argument)
        except ValueError:
            raise ValueError("it is a number, such as 0.7") from None


class SwitchParser(flags.BooleanParser):
    """On or off."""

    def parse(self, argument: Any) -> bool:
        """What absl takes for true and false."""
        try:
            return super().parse(argument)
        except ValueError:
            raise ValueError("it is true or false") from None


class StepParser(flags.ArgumentParser):
    """Which checkpoint: a step, `last` or `best`."""

    def parse(self, argument: Any) -> Any:
        """The step or the word."""
        text = str(argument)
        if text.isdecimal() and len(text) <= _MOST_DIGITS:
            return int(text)
        if text in ("last", "best"):
            return text
        hint = suggest.hint(text, ("last", "best"))
        raise ValueError(
            "it is a step, or one of last, best" + (f"; {hint}" if hint else "")
        )


class CheckpointParser(SwitchParser):
    """Which checkpoint: a step, `last` or `best`; `last` where nothing is said."""

    def parse(self, argument: Any) -> Any:
        """The step or the word; None for `false`."""
        if argument in ("last", "best"):
            return argument
        if isinstance(argument, str) and argument.isdecimal():
            if len(argument) <= _MOST_DIGITS:
                return int(argument)
        else:
            try:
                return "last" if super().parse(argument) else None
            except ValueError:
                pass
        hint = suggest.hint(str(argument), ("last", "best"))
        raise ValueError(
            "it is a step, or one of last, best" + (f"; {hint}" if hint else "")
        )


class StepsParser(SwitchParser):
    """On, off, or for how many steps.

    Attributes:
      default: How many steps where nothing is said.
    """

    def __init__(self, default: int):
        super().__init__()
        self.default = default

    def parse(self, argument: Any) -> Any:
        """The number; None for `false`."""
        text = str(argument)
        if text.isdecimal() and not isinstance(argument, bool):
            if len(text) <= _MOST_DIGITS and int(text) > 0:
                return int(text)
        else:
            try:
                return self.default if super().parse(argument) else None
            except ValueError:
                pass
        raise ValueError("it is a number of steps: 1, 2, 3, ...")
