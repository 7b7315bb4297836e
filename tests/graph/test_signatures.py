"""What a callable can be told, typed as it is declared."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import flax.linen as nn
import optax
import pytest

from fdlkit.graph import annotation
from fdlkit.graph.signatures import MISSING, parameters, takes_any

if TYPE_CHECKING:
    from decimal import Decimal


@dataclasses.dataclass
class Settings:
    steps: int
    rate: float | None = 0.1
    widths: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=1, init=False)
    amount: Decimal | None = None


class Plain:
    def __init__(self, width: int, /, *rest: str, mode: Literal["a", "b"] = "a"):
        pass


def takes_more(x: int = 3, **kwargs: Any) -> None:
    pass


def test_a_dataclass_has_types_defaults_and_factories():
    found = parameters(Settings)
    assert list(found) == ["steps", "rate", "widths", "amount"]
    steps, rate, widths, _ = found.values()
    assert (steps.annotation, steps.has_default, steps.default) == (int, False, MISSING)
    assert (rate.annotation, rate.default) == (float | None, 0.1)
    assert widths.annotation == list[int] and widths.factory is list
    assert widths.has_default and widths.default is MISSING


def test_an_annotation_that_cannot_be_resolved_harms_no_other():
    assert parameters(Settings)["amount"].annotation == "Decimal | None"
    assert parameters(Settings)["rate"].annotation == float | None


def test_positional_and_variadic_parameters_cannot_be_set_by_name():
    assert list(parameters(Plain)) == ["mode"]
    assert not takes_any(Plain) and not takes_any(Settings)


def test_a_function_with_kwargs_takes_any_name():
    assert list(parameters(takes_more)) == ["x"] and takes_any(takes_more)


def test_flax_modules_hide_parent_and_name():
    assert not {"parent", "name"} & set(parameters(nn.Dense))
    assert parameters(nn.Dense)["features"].annotation is int


def test_wrapped_functions_and_partials_have_the_inner_types():
    @functools.wraps(takes_more)
    def wrapped(*args, **kwargs):
        return takes_more(*args, **kwargs)

    assert parameters(wrapped)["x"].annotation is int
    assert "learning_rate" in parameters(optax.adamw)
    assert parameters(functools.partial(takes_more, x=4))["x"].default == 4


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (int, "int"), (None, "None"), (int | None, "int | None"),
        (Optional[str], "str | None"), (list[int], "list[int]"),  # noqa: UP045
        (tuple[int, ...], "tuple[int, ...]"), (Literal["a", 1], "Literal['a', 1]"),
        (Annotated[int, "x"], "int"), (Any, "Any"), ("Later", "Later"),
        (inspect.Parameter.empty, ""), (dict[str, list[int]], "dict[str, list[int]]"),
        (Settings, "Settings"), (nn.Module, "Module"),
    ],
)  # fmt: skip
def test_types_are_written_as_a_reader_would(given, text):
    assert annotation.text(given) == text


def test_well_known_unions_go_by_their_names():
    import optax
    from jax.typing import ArrayLike, DTypeLike

    assert annotation.text(DTypeLike) == "DTypeLike"
    assert annotation.text(DTypeLike | None) == "DTypeLike | None"
    assert annotation.text(ArrayLike) == "ArrayLike"
    assert annotation.text(optax.ScalarOrSchedule) == "ScalarOrSchedule"
    assert annotation.text(int | None) == "int | None"
