"""Options that nobody sets go with all that they lead to; others stay as written."""

from __future__ import annotations

import textwrap

import pytest

from fdlkit.codegen.carry.carrier import Carried, Section
from fdlkit.codegen.carry.identifiers import Identifiers
from fdlkit.codegen.carry.leaner import without_options


def folded(text, shown, module="house.mine"):
    """The text of one module of the house after folding."""
    section = Section(module, "", textwrap.dedent(text).strip("\n"), 0)
    carried = Carried((section,), (), Identifiers({}, {}, frozenset()), frozenset())
    found = without_options(carried, [textwrap.dedent(shown)], house="house")
    return "\n".join(s.text for s in found.sections)


LAYER = """
import dataclasses

@dataclasses.dataclass
class Layer:
    '''A layer.

    Attributes:
      width: Its width.
      cap: What its output is capped at; None:
        nothing.
    '''

    width: int
    cap: float | None = None  # none

    def __call__(self, x):
        y = x * self.width
        # Far from all.
        if self.cap is not None:
            y = capped(y, self.cap)
        return y + 1

def capped(y, cap):
    return min(y, cap)
"""


def test_a_field_that_nobody_sets_goes_with_its_test_and_what_that_reached():
    text = folded(LAYER, "layer = Layer(width=3)")
    assert "cap" not in text and "nothing" not in text and "Far" not in text
    assert "      width: Its width.\n" in text
    names = {}
    exec(f"{text}\nlayer = Layer(width=3)", names)
    assert names["layer"](2) == 7


@pytest.mark.parametrize(
    "shown",
    [
        "layer = Layer(width=3, cap=2.0)",
        "layer = Layer(3, None)",
        "layer = make(Layer, width=3)",
        "import dataclasses\nlayer = dataclasses.replace(Layer(width=3), cap=1.0)",
        "layer = Layer(**given)",
        "layer = Layer(width=3)\nlayer.cap = 2.0",
        "layer = Layer(width=3)\nprint(getattr(layer, 'cap'))",
        "layer = Layer(width=3)\nprint(layer.cap)",
    ],
)
def test_what_is_set_or_read_anywhere_stays(shown):
    assert folded(LAYER, shown) == LAYER.strip("\n")


def test_a_field_with_a_use_that_no_fold_removes_stays_with_its_tests():
    text = LAYER.replace("return y + 1", "return y, self.cap")
    assert folded(text, "Layer(width=3)") == text.strip("\n")


def test_what_is_not_of_the_house_stays():
    assert folded(LAYER, "Layer(width=3)", module="mine") == LAYER.strip("\n")


def test_parameters_that_only_pass_an_option_on_go_with_it():
    text = folded(
        """
        import dataclasses

        @dataclasses.dataclass
        class Layer:
            width: int
            bias: bool = False

            def __call__(self, x):
                return scaled(x, self.width, bias=self.bias)

        def scaled(x, by, *, bias: bool = False):
            '''Scales.

            Args:
              x: What.
              bias: Whether one is added.
            '''
            return x * by + 1 if bias else x * by
        """,
        "Layer(2)",
    )
    assert "bias" not in text and "scaled(x, self.width)" in text
    assert "def scaled(x, by):" in text and "return x * by\n" in text + "\n"


def test_a_parameter_that_gets_a_value_of_its_own_is_a_variable_from_then_on():
    text = folded(
        """
        def seen(n, mask=None):
            if mask is None:
                mask = [1] * n
            return [mask, n]
        """,
        "seen(3)",
    )
    assert text == "def seen(n):\n    mask = [1] * n\n    return [mask, n]"


def test_what_comes_after_a_return_that_always_runs_goes():
    text = folded(
        """
        def nats(x, smooth=0.0, z=0.0):
            y = x + 1
            if not (smooth or z):
                return y
            if smooth:
                y = other(y)
            return y * z

        def other(y):
            return y
        """,
        "nats(3)",
    )
    assert text == "def nats(x):\n    return x + 1"


def test_functions_that_do_nothing_are_what_they_return():
    text = folded(
        """
        def remarks(state):
            '''Nothing is said.'''
            del state
            return []

        def extra(state):
            return {}

        def run(state):
            for remark in remarks(state):
                print(remark)
            return dict(step=1, **extra(state))
        """,
        "run(None)",
    )
    assert text == "def run():\n    return dict(step=1)"


def test_an_elif_becomes_the_test_that_is_left():
    text = folded(
        """
        def kind(x, fast=False):
            if fast:
                return 1
            elif x:
                return 2
            else:
                return 3
        """,
        "kind(3)",
    )
    names = {}
    exec(text, names)
    assert "fast" not in text
    assert (names["kind"](0), names["kind"](1)) == (3, 2)


def test_a_check_of_options_alone_goes():
    text = folded(
        """
        import dataclasses

        @dataclasses.dataclass
        class Loss:
            weight: float
            smooth: float = 0.0

            def __post_init__(self) -> None:
                if not 0 <= self.smooth < 1:
                    raise ValueError(self.smooth)

            def __call__(self, x):
                return x * 2 if self.smooth else x
        """,
        "Loss(1.0)",
    )
    assert "smooth" not in text and "__post_init__" not in text
