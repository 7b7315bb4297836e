"""Names behind `**kwargs`: known where they can be, open where they cannot."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import subprocess
import sys
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import optax
import pytest
from flax import nnx

from fdlkit.errors import UserError
from fdlkit.graph import signatures
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from fdlkit.graph.origins import written_by
from fdlkit.graph.snapshot import snapshot
from fdlkit.nn.mlp import Mlp
from fdlkit.serialize.loading import loads
from fdlkit.serialize.writing import dumps
from fdlkit.view.tree import render, tree


class Net(nnx.Module):
    def __init__(self, width: int, depth: int = 2, *, rngs: nnx.Rngs | None = None):
        self.width, self.depth = width, depth


class Deeper(Net):
    def __init__(self, *args, extra: float = 0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.extra = extra


class Fixed(Net):
    def __init__(self, name: str, **kwargs):
        super().__init__(8, depth=1, **kwargs)
        self.name = name


class Sorting(Net):
    def __init__(self, **kwargs):
        self.colour = kwargs.pop("colour", "red")
        super().__init__(**kwargs)


class Sometimes(Net):
    def __init__(self, width=0, **kwargs):
        if width:
            super().__init__(width, **kwargs)


@nnx.dataclass
class Settings(nnx.Module):
    width: int
    rate: float = 0.1


class Strict(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.is_made = True
        return made


class Taking(type):
    def __call__(cls, *args, **kwargs):
        kwargs.pop("note", None)
        return super().__call__(*args, **kwargs)


class StrictTaking(Strict, Taking):
    pass


def noted(init):
    @functools.wraps(init)
    def call(self, *args, note=None, **kwargs):
        init(self, *args, **kwargs)

    return call


def plainly(init):
    @functools.wraps(init)
    def call(self, *args, **kwargs):
        init(self, *args, **kwargs)

    return call


class NotedNet(nnx.Module):
    @noted
    def __init__(self, width: int):
        self.width = width


class PlainNet(nnx.Module):
    @plainly
    def __init__(self, width: int):
        self.width = width


class Both(metaclass=StrictTaking):
    def __init__(self, size: int = 1):
        self.size = size


class Measured(metaclass=Strict):
    def __init__(self, size: int, unit: str = "m"):
        self.size, self.unit = size, unit


class Noted(metaclass=Taking):
    def __init__(self, size: int = 1):
        self.size = size


class Other:
    def __new__(cls, *args, **kwargs):
        return dict(kwargs)

    def __init__(self, size: int):
        self.size = size


class Bag:
    def __init__(self, *args: Any, **kwargs: Any):
        self.__dict__.update(kwargs)


class Base:
    def __init__(self, a: int, b: int = 2):
        self.a, self.b = a, b


class Middle(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class Mixin:
    def __init__(self, *, c: int = 3, **kwargs):
        super().__init__(**kwargs)
        self.c = c


class Mixed(Mixin, Middle):
    pass


class Alone(Mixin):
    pass


class SignedByHand:
    """What pydantic and its like do: an own signature, and `**data` behind it."""

    def __init__(self, **data: Any):
        self.__dict__.update(data)

    __signature__ = inspect.Signature(
        [inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=int)]
    )


def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def seeded(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, seed=7, **kwargs)

    return call


def filling(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        kwargs.setdefault("seed", 8)
        return function(*args, **kwargs)

    return call


def counting(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > 2 or "colour" in kwargs:
            raise TypeError(args[0], kwargs.get("colour"))
        return function(*args, **kwargs)

    return call


def replacing(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        args = (5, *args)
        return function(*args, **kwargs)

    return call


def bound(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(5, *args, **kwargs)

    return call


def unnamed(function):
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def draw(size: int, *, seed: int):
    return size, seed


NAMES = {
    Net: ["width", "depth", "rngs"],
    Deeper: ["width", "depth", "extra", "rngs"],
    Fixed: ["name", "rngs"],
    Settings: ["width", "rate"],
    PlainNet: ["width"],
    Measured: ["size", "unit"],
    Middle: ["a", "b"],
    Mixed: ["c", "a", "b"],
    Alone: ["c"],
    SignedByHand: ["x"],
    functools.partial(Net, 8): ["depth", "rngs"],
    functools.partial(Net, width=8): ["width", "depth", "rngs"],
    logged(draw): ["size", "seed"],
    nnx.Linear: None,
}


@pytest.mark.parametrize(
    ("called", "names"), NAMES.items(), ids=lambda v: getattr(v, "__name__", "")
)
def test_the_real_names_are_found(called, names):
    assert not signatures.takes_any(called)
    found = list(signatures.parameters(called))
    if names is None:
        names = [*inspect.signature(called.__init__).parameters][1:]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize(
    "called",
    [
        Sorting,
        Sometimes,
        Noted,
        NotedNet,
        Both,
        Other,
        Bag,
        unnamed(draw),
        nnx.Rngs,
        dict,
    ],
    ids=lambda v: v.__name__,
)
def test_what_cannot_be_known_stays_open(called):
    assert signatures.takes_any(called)


def test_annotations_and_defaults_are_those_of_the_real_constructor():
    found = signatures.parameters(Deeper)
    assert found["width"].annotation is int and not found["width"].has_default
    assert (found["depth"].annotation, found["depth"].default) == (int, 2)
    assert (found["extra"].annotation, found["extra"].default) == (float, 0.5)
    assert found["rngs"].annotation == nnx.Rngs | None
    linear = signatures.parameters(nnx.Linear)
    assert linear["in_features"].annotation is int
    assert linear["use_bias"].default is True
    part = signatures.parameters(functools.partial(Net, 8))
    assert part["depth"].annotation is int
    assert signatures.parameters(Settings)["rate"].default == 0.1


CALLS = [
    (Net, {"width": 1}),
    (Deeper, {"width": 1, "extra": 2.0}),
    (Fixed, {"name": "x"}),
    (Settings, {"width": 3}),
    (Sorting, {"colour": "blue", "width": 3}),
    (Sometimes, {"width": 0, "any": 3}),
    (Measured, {"size": 3}),
    (Noted, {"note": "x"}),
    (NotedNet, {"width": 1, "note": "x"}),
    (Both, {"note": "x"}),
    (Other, {"anything": 3}),
    (Bag, {"anything": 3}),
    (Mixed, {"a": 1, "c": 2}),
    (Alone, {"c": 2}),
    (SignedByHand, {"x": 1}),
    (functools.partial(Net, 8), {"depth": 3}),
    (functools.partial(Net, width=8), {"width": 3}),
    (logged(draw), {"size": 1, "seed": 2}),
    (seeded(draw), {"size": 1}),
    (filling(draw), {"size": 1}),
    (replacing(draw), {"seed": 1}),
    (bound(draw), {"seed": 1}),
    (counting(draw), {"size": 1, "seed": 2}),
    (unnamed(draw), {"size": 1, "seed": 2}),
    (nnx.Rngs, {"params": 0, "noise": 1}),
    (dict, {"x": 1}),
]


@pytest.mark.parametrize(
    ("called", "given"), CALLS, ids=lambda v: getattr(v, "__name__", "")
)
def test_what_works_when_called_is_built(called, given):
    made = called(**given)
    built = build(fdl.Config(called, **given))
    assert type(built) is type(made)
    build(fdl.Partial(called, **given))()


@pytest.mark.parametrize(
    ("called", "wrong"),
    [
        (Net, {"width": 1, "deth": 2}), (Deeper, {"width": 1, "extr": 2}),
        (Fixed, {"name": "x", "depth": 2}), (Settings, {"width": 1, "rates": 2}),
        (Measured, {"size": 1, "units": "m"}), (Mixed, {"a": 1, "d": 2}),
        (Alone, {"a": 1}), (functools.partial(Net, 8), {"deph": 3}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_what_fails_when_called_is_refused_before(called, wrong):
    with pytest.raises(TypeError):
        called(**wrong)
    with pytest.raises(UserError, match="no parameter") as refused:
        build(fdl.Config(called, **wrong))
    assert refused.value.__cause__ is None


def test_a_wrong_name_in_the_file_is_told_before_anything_is_built():
    made = []

    def make(x):
        made.append(x)

    with written_by("--fdl_set"):
        linear = fdl.Config(nnx.Linear, in_feature=3)
    with pytest.raises(UserError) as refused:
        build(fdl.Config(dict, a=fdl.Config(make, 1), b=[linear]))
    first, hint, parameters = refused.value.lines
    assert first == (
        "no parameter 'in_feature' at b[0] (flax.nnx.Linear) (from --fdl_set)"
    )
    assert hint == "  did you mean 'in_features'?"
    assert parameters.startswith("  parameters: in_features, out_features, use_bias,")
    assert made == []


def test_every_wrong_name_is_told():
    config = [fdl.Config(Net, width=1, dept=1), fdl.Partial(Net, wdth=1)]
    with pytest.raises(UserError) as refused:
        build(config)
    told = [line for line in refused.value.lines if "no parameter" in line]
    assert [line.split(" (")[0] for line in told] == [
        "no parameter 'dept' at [0]",
        "error: no parameter 'wdth' at [1]",
    ]


MISSING = {
    logged(draw): ["size", "seed"],
    counting(draw): ["size", "seed"],
    seeded(draw): ["size"],
    bound(draw): ["seed"],
    filling(draw): [],  # what it fills in cannot be told
    jax.jit(draw): ["size", "seed"],
    functools.lru_cache(draw): ["size", "seed"],
    nn.Dense: ["features"],
    Mlp: ["features", "width"],
    optax.adam: ["learning_rate"],
    Fixed: ["name"],
    Deeper: ["width"],
}


@pytest.mark.parametrize(
    ("called", "names"), MISSING.items(), ids=lambda v: getattr(v, "__name__", "")
)
def test_what_must_be_given_is_known_behind_decorators(called, names):
    found = signatures.parameters(called)
    assert [name for name in found if not found[name].has_default] == names


def test_missing_arguments_are_those_of_the_real_constructor():
    with pytest.raises(UserError) as refused:
        build(fdl.Config(dict, a=fdl.Config(nnx.Linear, 3)))
    assert refused.value.lines[:3] == (
        "2 required arguments are not set",
        "  a.out_features: int (flax.nnx.Linear)",
        "  a.rngs: Rngs (flax.nnx.Linear)",
    )


def test_the_tree_shows_defaults_and_types_and_names_what_stands_by_place():
    text = render(tree(snapshot(fdl.Config(Deeper, 3, extra=1.0))))
    assert text == (
        "Deeper\n├─ width: int = 3\n├─ depth: int = 2  (default)\n"
        "├─ extra: float = 1.0\n└─ rngs: Rngs | None = None  (default)\n"
    )


def test_by_place_and_by_name_are_the_same_config():
    by_place, by_name = fdl.Config(Net, 3, 4), fdl.Config(Net, width=3, depth=4)
    assert equal(by_place, by_name)
    here = [__name__]
    assert dumps(by_place) == dumps(by_name)
    again = build(loads(dumps(by_place), allow=here))
    assert (again.width, again.depth) == (3, 4)


def test_what_is_given_by_place_and_by_name_is_refused():
    with pytest.raises(UserError) as refused:
        build(fdl.Config(Net, 3, width=4))
    assert refused.value.lines[0].startswith("'width' is given twice")


class Stack(nnx.Module):
    def __init__(self, first: int, *rest: int, last: int = 0):
        self.all = (first, *rest, last)


def test_places_before_a_star_stay_places():
    config = fdl.Config(Stack, 1, 2, 3, last=4)
    assert build(config).all == (1, 2, 3, 4)
    text = render(tree(snapshot(config)))
    assert text == (
        "Stack\n├─ [0]: int = 1\n├─ [1] = 2\n├─ [2] = 3\n└─ last: int = 4\n"
    )
    assert build(fdl.Config(Stack, 1)).all == (1, 0)


def test_flax_is_not_imported_to_ask():
    program = (
        "import sys\n"
        "from fdlkit.graph import signatures\n"
        "class M(type):\n"
        "    def __call__(cls, *args, **kwargs): return super().__call__(*args)\n"
        "class C(metaclass=M): pass\n"
        "assert signatures.takes_any(C)\n"
        "assert not {'flax', 'jax'} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        check=True,
    )


def test_a_dataclass_behind_a_metaclass_has_its_factories():
    @dataclasses.dataclass
    class Local(metaclass=Strict):
        x: list[int] = dataclasses.field(default_factory=list)

    found = signatures.parameters(Local)["x"]
    assert found.factory is list and found.annotation == list[int]


def test_a_wrong_name_in_json_is_refused():
    text = dumps(fdl.Config(Net, width=3)).replace('"width"', '"widht"')
    with pytest.raises(UserError, match="no parameter 'widht', did you mean 'width'"):
        loads(text, allow=[__name__])
