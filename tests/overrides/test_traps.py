"""What goes wrong in silence elsewhere: NNX names, shared defaults, built objects."""

from __future__ import annotations

import collections
import copy
import dataclasses
import inspect
import sys

import fiddle as fdl
import flax.linen as nn
import numpy as np
import optax
import pytest
from flax import nnx

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override, apply


class Width(fdl.Tag):
    """A width."""


class Net(nnx.Module):
    def __init__(self, width: int, depth: int = 2, *, rate: float = 0.0):
        self.width, self.depth, self.rate = width, depth, rate


class Wide(nnx.Module):
    def __init__(self, width: int, *, gates: int = 1):
        self.width, self.gates = width, gates

    def apply(self):
        return self.width


class Counted(dict):
    pass


@dataclasses.dataclass
class Axes:
    sizes: list[int] = dataclasses.field(default_factory=lambda: [1, 2])
    names: tuple = ("data",)


class Plain:
    def __init__(
        self,
        xs: list[int] = [1, 2, 3],  # noqa: B006 - that it is shared is the point
        nested: list = [[1], {"k": [2]}],  # noqa: B006
        table: dict[str, int] = {"a": 1},  # noqa: B006
        names: set[str] = {"x"},  # noqa: B006
        counted: dict[str, int] = Counted(a=1),  # noqa: B008
        ordered: dict[str, int] = collections.OrderedDict(a=1),  # noqa: B006
        axes: Axes = Axes(),  # noqa: B008
        node: object = fdl.Config(Axes),
        pair: tuple = ([1], 2),
    ):
        self.all = (xs, nested, table, names, counted, ordered, axes, node, pair)


linen = nn.Dense(3)
net = Wide(1)
method = net.apply
optimizer = optax.adam(0.1)
table = np.zeros(100)

HERE = sys.modules[__name__]


def change(config, *texts):
    changed, notes = apply(config, [Override("set", text) for text in texts], HERE)
    return changed, notes


@pytest.mark.parametrize("config", [fdl.Config(Net, 3), fdl.Config(Net, width=3)])
def test_an_nnx_typo_is_refused_with_the_real_names(config):
    with pytest.raises(UserError) as refused:
        change(fdl.Config(dict, a=config), "a.widht=4")
    assert refused.value.lines == (
        f"no parameter 'widht' at a ({__name__}.Net)",
        "  --fdl_set=a.widht=4",
        "              ^^^^^ did you mean 'width'?",
        "  parameters: width, depth, rate",
    )


def test_nnx_arguments_are_typed_by_their_real_annotations():
    with pytest.raises(UserError, match="'wide' is not an int"):
        change(fdl.Config(Net, 3), "width=wide")
    changed, _ = change(fdl.Config(Net, 3), "rate=1", "depth=1e3")
    assert (build(changed).rate, build(changed).depth) == (1.0, 1000)


@pytest.mark.parametrize("text", ["width=7", "0=7", "[0]=7", "width+=4", "**.width=7"])
def test_what_stands_by_place_is_set_by_name_and_by_place(text):
    config = fdl.Config(dict, a=fdl.Config(Net, 3, 4))
    prefix = "" if text.startswith("**") else "a" if text.startswith("[") else "a."
    changed, _ = change(config, f"{prefix}{text}")
    built = build(changed)["a"]
    assert (built.width, built.depth) == (7, 4)
    assert config.a.__arguments__ == {0: 3, 1: 4}


def test_unsetting_what_stands_by_place_moves_nothing_else():
    changed, _ = change(fdl.Config(Net, 3, 4), "~depth")
    assert (build(changed).width, build(changed).depth) == (3, 2)


def test_an_argument_by_place_keeps_its_tags_and_its_writer():
    config = fdl.Config(Net, 3)
    config.__argument_tags__[0].add(Width)
    changed, _ = change(config, "depth=4")
    (argument,) = [a for a in snapshot(changed).nodes[-1].arguments if a.key == "width"]
    assert [tag.live for tag in argument.tags] == [Width]
    assert argument.origin.file == __file__
    before = snapshot(config).nodes[-1].argument("width")
    assert before.tags == argument.tags and before.origin == argument.origin


def test_a_swap_drops_what_the_new_class_does_not_take():
    config = fdl.Config(dict, x=fdl.Config(Net, 3, depth=4))
    changed, notes = change(config, "x=Wide")
    assert notes == ("x is now Wide, which has no depth",)
    assert (build(changed)["x"].width, build(changed)["x"].gates) == (3, 1)


def test_a_new_nnx_node_is_checked():
    with pytest.raises(UserError, match="Wide has no parameter 'gate'"):
        change(fdl.Config(dict, x=fdl.Config(Net, 3)), "x=Wide(width=1, gate=2)")
    changed, _ = change(fdl.Config(dict, x=fdl.Config(Net, 3)), "x=Wide(width=1)")
    assert build(changed)["x"].width == 1


@pytest.mark.parametrize("name", ["linen", "net", "method", "optimizer", "table"])
def test_a_built_object_cannot_be_named(name):
    with pytest.raises(UserError, match=f"'{name}' is a built"):
        change(fdl.Config(dict, x=fdl.Config(Net, 3)), f"x={name}")
    with pytest.raises(UserError):
        change(fdl.Config(dict, x=fdl.Config(Net, 3)), f"x=Wide(width={name})")


EDITS = {
    "xs[0]=9": [9, 2, 3],
    "xs+=[4]": [1, 2, 3, 4],
    "~xs[1]": [1, 3],
    "nested[0][0]=9": [[9], {"k": [2]}],
    "nested[0]+=[9]": [[1, 9], {"k": [2]}],
    "nested[1]['k'][0]=9": [[1], {"k": [9]}],
    "table.b=2": {"a": 1, "b": 2},
    "table['a']+=1": {"a": 2},
    "~table.a": {},
    "table+={'b': 2}": {"a": 1, "b": 2},
    "names+={'y'}": {"x", "y"},
    "counted.b=2": {"a": 1, "b": 2},
    "ordered.b=2": {"a": 1, "b": 2},
    "axes.sizes[0]=9": fdl.Config(Axes, sizes=[9, 2], names=("data",)),
    "axes.sizes+=[9]": fdl.Config(Axes, sizes=[1, 2, 9], names=("data",)),
    "node.names=('a',)": fdl.Config(Axes, names=("a",)),
    "node.sizes[0]=9": fdl.Config(Axes, sizes=[9, 2]),
    "pair[0][0]=9": ([9], 2),
    "**.xs[0]=9": [9, 2, 3],
}


@pytest.mark.parametrize("text", EDITS)
def test_an_edit_of_what_is_not_set_never_touches_the_default(text):
    defaults = [p.default for p in inspect.signature(Plain).parameters.values()]
    before = copy.deepcopy(defaults)
    changed, _ = change(fdl.Config(Plain), text)
    name = text.removeprefix("~").removeprefix("**.").partition("[")[0]
    name = name.partition(".")[0].partition("+")[0].partition("*")[0]
    assert getattr(changed, name) == EDITS[text]
    assert defaults == before
