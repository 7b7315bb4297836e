"""Options that nobody sets go with all that they lead to; others stay as written."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from fdlkit.codegen.carry.carrier import Carried, Section
from fdlkit.codegen.carry.identifiers import Identifiers
from fdlkit.codegen.carry.leaner import without_options
from fdlkit.codegen.carry.modules import Module
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.pruning import Reached


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
        "layer = Layer(width=3)\nprint(f'{layer.cap}')",
        "layer = Layer(width=3)\nprint([getattr(layer, n) for n in names])",
        "layer = Layer(width=3)\nprint(vars(layer), dataclasses.asdict(layer))",
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


def test_an_option_with_a_name_for_its_default_goes_where_its_name_decides():
    text = folded(
        """
        import dataclasses

        KEPT = {"some": 1}

        @dataclasses.dataclass
        class Stack:
            n: int
            remat: str = "none"

            def __post_init__(self) -> None:
                policy(self.remat)

            def __call__(self, x):
                known = policy(self.remat)
                if known is not None:
                    x = x * known
                return x, known

        def policy(name):
            '''The policy of a name.'''
            if name == "none":
                return None
            return KEPT[name]
        """,
        "Stack(3)",
    )
    assert not any(word in text for word in ("remat", "policy", "KEPT", "known"))
    assert text.endswith(
        "    n: int\n\n    def __call__(self, x):\n        return x, None"
    )


def test_a_name_that_is_a_key_path_stays():
    text = """
        import dataclasses

        @dataclasses.dataclass
        class Loss:
            logits: Key = "preds"

            def __call__(self, x):
                return x if self.logits == "preds" else None
        """
    assert folded(text, "Loss()") == textwrap.dedent(text).strip("\n")


def test_a_method_of_a_module_is_no_field():
    text = folded(
        """
        import dataclasses

        @dataclasses.dataclass
        class Stack:
            n: int
            scan: bool = True

            def __call__(self, x):
                return nn.scan(x, unroll=1 if self.scan else self.n)
        """,
        "Stack(3)",
    )
    assert "scan: bool" not in text and "nn.scan(x, unroll=1)" in text


def test_methods_that_all_return_nothing_are_not_asked():
    text = """
        import dataclasses

        @dataclasses.dataclass
        class Loss:
            weight: float

            def counts(self, **read):
                return None

            def __call__(self, x):
                own = self.counts(x=x)
                return x if own is None else x * own
        """
    assert "counts" not in folded(text, "Loss(1.0)")
    heir = "class Mine(Loss):\n    def counts(self, x):\n        return x"
    assert "own = self.counts(x=x)" in folded(text, heir)


def test_a_function_that_returns_its_argument_is_the_argument():
    text = folded(
        """
        def held(params):
            '''The parameters.'''
            return params

        def step(params):
            return {"params": held(params)}
        """,
        "step(3)",
    )
    assert text == 'def step(params):\n    return {"params": params}'


def test_code_that_is_not_of_the_house_keeps_all_that_it_reads():
    shown = """
        def mine(layer: Layer):
            return 1 if layer.cap is None else layer.cap

        mine(Layer(width=3))
        """
    assert folded(LAYER, shown) == LAYER.strip("\n")


PROTOCOL = """
from typing import Protocol

class Tokenizer(Protocol):
    '''What has ids.'''

    def encode(self, text: str) -> list[int]:
        '''Ids.'''

class Bytes:
    def encode(self, text: str) -> list[int]:
        return list(text.encode())

def count(tokenizer: Tokenizer | None, text: str) -> int:
    return len(tokenizer.encode(text))
"""
ANOTHER = (
    "\nclass Letters:\n    def encode(self, text):\n        return [*map(ord, text)]\n"
)


def test_a_protocol_with_one_class_is_that_class():
    text = folded(PROTOCOL, "count(Bytes(), 'a')")
    assert "Protocol" not in text.split("class Bytes")[1]
    assert "class Tokenizer" not in text and "tokenizer: Bytes | None" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (PROTOCOL + ANOTHER, "count(Bytes(), 'a'), count(Letters(), 'a')"),
        (PROTOCOL, "count(Bytes(), 'a'), isinstance(Bytes(), Tokenizer)"),
        (PROTOCOL, "tokenizer: Tokenizer = Bytes()\ncount(tokenizer, 'a')"),
    ],
)
def test_a_protocol_of_several_classes_or_that_others_name_stays(text, shown):
    assert folded(text, shown) == text.strip("\n")


def test_a_base_of_abstract_methods_goes_where_one_class_has_them_all():
    text = """
        import abc

        class Source(abc.ABC):
            @abc.abstractmethod
            def take(self) -> int:
                '''Some.'''

        class Windows(Source):
            def take(self) -> int:
                return len(str(self))

        def first(source: Source) -> int:
            return source.take()
        """
    found = folded(text, "first(Windows())")
    assert "Source" not in found and "class Windows:" in found
    kept = """
        class Windows(Source):
            def give(self) -> int:
                return len(str(self))
        """
    shown = f"{textwrap.dedent(kept)}\nfirst(Windows())"
    without = text.replace("class Windows(Source)", "class Others(Source)")
    assert "class Others(Source):" in folded(without, f"{shown}; Others()")


def test_a_class_without_methods_left_is_still_a_class():
    text = """
        class Told:
            def say(self, text):
                print(text)

        def told(loud=False):
            if loud:
                Told().say("it")
            return Told()
        """
    assert folded(text, "told()").startswith("class Told:\n    pass\n")


def test_texts_of_several_lines_stay_as_they_are_where_code_moves():
    text = folded(
        """
        def told(quiet=False):
            if not quiet:
                text = '''One.
                    Two.
                '''
                return text
        """,
        "told()",
    )
    names = {}
    exec(text, names)
    assert names["told"]() == "One.\n            Two.\n        "


def test_methods_of_one_text_are_told_apart_by_their_decorators():
    text = """
class A:
    @first
    def go(self):
        return 1

class B:
    @second
    def go(self):
        return 1
"""
    module = Module("script", Path("script.py"), text)
    assert {"first", "second"} <= Reached(Program(module, []), {}).names
