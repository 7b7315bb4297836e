"""Flax NNX modules as models of the trainer: pure functions over plain dicts.

A module is made, split and merged while a step is traced and never after it: what runs
is `jax.jit` over dicts of arrays, and costs what a Flax Linen module costs.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import nnx

from fdlkit.errors import UserError
from fdlkit.train.models import Inputs, Place, Variables

# The collections of types of variables that Flax Linen has, too; of any other type the
# collection is named by the class.
COLLECTIONS = {nnx.BatchStat: "batch_stats", nnx.Cache: "cache"}

# Arrays of a module that are in no variable: they are kept, and nothing trains them.
CONSTANTS = "constants"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NnxLeaf:
    """One array of a module.

    Attributes:
      path: Where the module holds it: `("layers", 0, "kernel")`.
      collection: Of the trainer's variables; None for a random stream's, which is
        made anew for each step.
      axes: The logical names of its dims, if it says any.
      shape: Its dims.
      dtype: Its type.
    """

    path: tuple[str | int, ...]
    collection: str | None
    axes: tuple[str | None, ...] | None
    shape: tuple[int, ...]
    dtype: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class NnxStructure:
    """What there is of a module besides the values of its arrays.

    Attributes:
      graph: What `nnx.merge` needs beside the values.
      leaves: Every array, those that two places share once.
      made: The class of the module.
    """

    graph: Any
    leaves: tuple[NnxLeaf, ...]
    made: type[nnx.Module]


@dataclasses.dataclass(frozen=True)
class NnxModel:
    """A Flax NNX module as a `Model`; inputs are passed by keyword.

    Usage:

    ```
    NnxModel(functools.partial(Net, hidden=64))  # in a config: fdl.Partial(Net, …)
    ```

    The recipe is called with `rngs=`, an `nnx.Rngs`. Trained are the `nnx.Param`s;
    other variables (`nnx.BatchStat`) go from step to step. `nnx.with_partitioning`
    names the logical axes of an array, as the trainer's rules know them; they are not
    mesh axes. Dropout and batch statistics are on in training and off in evaluation
    (`module.train()`, `module.eval()`); each random stream of the module gets a new
    key for every step, and a fixed one in evaluation.

    Attributes:
      module: Makes the module: its class with all arguments but `rngs` set, or a
        function.

    Raises:
      UserError: A module, variable or `nnx.Rngs` that is made already; one recipe of
        a module in two places.
    """

    module: Callable[..., nnx.Module]

    def __post_init__(self) -> None:
        refuse_made_modules(self.module)
        refuse_shared_recipes(self.module)

    def called(self) -> tuple[str, Callable[..., Any]]:
        """The module's class and its `__call__`."""
        made = self.structure.made
        return made.__name__, without_self(made.__call__)

    @functools.cached_property
    def structure(self) -> NnxStructure:
        """The module's structure, from an abstract making: no array is made.

        Raises:
          UserError: The recipe makes something else.
        """
        made: list[tuple[Any, type[nnx.Module]]] = []

        def make() -> Any:
            module = self._make(jax.random.key(0))
            graph, state = nnx.split(module)
            made.append((graph, type(module)))
            return state

        # Not `nnx.eval_shape`, which would take names of axes for those of a mesh.
        state = jax.eval_shape(make)
        graph, cls = made[0]
        leaves = tuple(nnx_leaf(path, x) for path, x in nnx.to_flat_state(state))
        return NnxStructure(graph=graph, leaves=leaves, made=cls)

    def _make(self, rng: jax.Array) -> nnx.Module:
        default, params, dropout = jax.random.split(rng, 3)
        rngs = nnx.Rngs(default=default, params=params, dropout=dropout)
        # Where arrays live is for the trainer to say.
        with nnx.use_eager_sharding(False):
            module = self.module(rngs=rngs)
        if not isinstance(module, nnx.Module):
            raise UserError(
                f"model.module: what it makes is no nnx.Module but {module!r:.80}",
                "give it the class of a module with its arguments, but without rngs: "
                "functools.partial(Net, hidden=64)",
            )
        return module

    def init(self, rng: jax.Array, inputs: Inputs) -> Variables:
        """Initial variables: `params`, and a collection for each other type."""
        del inputs  # an NNX module knows its shapes
        _, state = nnx.split(self._make(rng))
        values = dict(nnx.to_flat_state(state))
        return collected(
            {
                leaf: boxed_array(values[leaf.path], leaf.axes)
                for leaf in self.structure.leaves
                if leaf.collection is not None
            }
        )

    def apply(
        self, variables: Variables, inputs: Inputs, rngs: Mapping[str, jax.Array]
    ) -> tuple[Any, Variables]:
        """Runs the module; variables other than `params` may change in training."""
        module = self._merged(variables, rngs)
        with nnx.use_eager_sharding(False):
            preds = module(**inputs)
        return preds, self._state_after(module) if rngs else {}

    def apply_capturing(
        self,
        variables: Variables,
        inputs: Inputs,
        rngs: Mapping[str, jax.Array],
        wanted: Sequence[Place],
    ) -> tuple[Any, Variables, Mapping[str, Any]]:
        """Runs the module as `apply` does, and keeps what modules in it return.

        `nnx.capture` keeps what all of them return; what nobody reads, XLA drops.

        Returns:
          What `apply` does, and the intermediates: nested by the modules' names, a
          tuple for each method with an item a call. What a module sows as an
          `nnx.Intermediate` is among them.
        """
        del wanted
        module = self._merged(variables, rngs)
        capturing = nnx.capture(
            module, nnx.Intermediate, method_outputs=nnx.Intermediate
        )
        with nnx.use_eager_sharding(False):
            preds, kept = capturing(**inputs)
        interms: dict[Any, Any] = {}
        for path, value in nnx.to_flat_state(kept):
            put_at(interms, tuple(path), plain_value(value))
        return preds, self._state_after(module) if rngs else {}, interms

    def _merged(
        self, variables: Variables, rngs: Mapping[str, jax.Array]
    ) -> nnx.Module:
        """The module with these values, set to train if there are random keys."""
        tree: dict[Any, Any] = {}
        for leaf in self.structure.leaves:
            value = (
                stream_value(leaf, rngs)
                if leaf.collection is None
                else value_at(variables[leaf.collection], leaf.path)
            )
            put_at(tree, leaf.path, value)
        module = nnx.merge(self.structure.graph, tree)
        if rngs:
            module.train()
        else:
            module.eval()
        return module

    def _state_after(self, module: nnx.Module) -> Variables:
        """The collections other than `params` as a call has left them.

        Raises:
          UserError: The call has made a variable that was not there before.
        """
        values = dict(nnx.to_flat_state(nnx.split(module)[1]))
        known = {leaf.path for leaf in self.structure.leaves}
        for path, value in values.items():
            if path not in known and not isinstance(value, nnx.Intermediate):
                raise UserError(
                    f"model: the call of {type(module).__name__} makes a variable "
                    f"{'.'.join(map(str, path))}, which a step cannot carry on",
                    "make it where the module is made, in __init__",
                )
        return collected(
            {
                leaf: plain_value(values[leaf.path])
                for leaf in self.structure.leaves
                if leaf.collection not in (None, "params")
            }
        )


def without_self(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a class with its first argument filled, for its signature alone."""
    return functools.partial(method, None)


def nnx_leaf(path: Sequence[Any], value: Any) -> NnxLeaf:
    """What a structure says of a variable or of an array that is in none."""
    array = plain_value(value)
    axes = None
    if isinstance(value, nnx.Variable):
        axes = value.get_metadata("out_sharding", None)
    if axes is not None:
        axes = (*axes, *[None] * (len(array.shape) - len(tuple(axes))))
    return NnxLeaf(
        path=tuple(path),
        collection=collection_of(value),
        axes=axes,
        shape=tuple(array.shape),
        dtype=array.dtype,
    )


def collection_of(value: Any) -> str | None:
    """The collection of a variable; None for a random stream's."""
    if isinstance(value, nnx.RngState):
        return None
    if isinstance(value, nnx.Param):
        return "params"
    if isinstance(value, nnx.Variable):
        return COLLECTIONS.get(type(value), type(value).__name__)
    return CONSTANTS


def plain_value(value: Any) -> Any:
    """The array that a variable holds; any other value as it is."""
    return value.get_value() if isinstance(value, nnx.Variable) else value


def boxed_array(value: Any, axes: tuple[str | None, ...] | None) -> Any:
    """An array with the logical names of its dims, as Linen's initialisers box it."""
    array = plain_value(value)
    return array if axes is None else nn.LogicallyPartitioned(array, axes)


def stream_value(leaf: NnxLeaf, rngs: Mapping[str, jax.Array]) -> jax.Array:
    """The key of a random stream for this step, or its count: 0."""
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jnp.zeros(leaf.shape, leaf.dtype)
    key = rngs["dropout"] if rngs else jax.random.key(0)
    # By its name: another stream that comes or goes changes nothing in this one.
    key = jax.random.fold_in(key, zlib.crc32("/".join(map(str, leaf.path)).encode()))
    return jax.random.split(key, leaf.shape) if leaf.shape else key


def collected(values: Mapping[NnxLeaf, Any]) -> dict[str, Any]:
    """Values as nested dicts, by collection; indices of lists become texts."""
    variables: dict[str, Any] = {}
    for leaf, value in values.items():
        tree = variables.setdefault(str(leaf.collection), {})
        put_at(tree, tuple(map(str, leaf.path)), value)
    return variables


def put_at(tree: dict[Any, Any], path: tuple[Any, ...], value: Any) -> None:
    """Sets a value in nested dicts, which are made on the way."""
    *above, last = path
    for key in above:
        tree = tree.setdefault(key, {})
    tree[last] = value


def value_at(tree: Any, path: tuple[Any, ...]) -> Any:
    """What nested dicts hold at a module's path."""
    for key in path:
        tree = tree[str(key)]
    return tree


def recipe_parts(recipe: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value that a recipe holds, itself first, each with its path.

    Partial functions, lists, tuples and mappings are looked through.
    """
    pending = [(path, recipe)]
    while pending:
        path, value = pending.pop()
        yield path, value
        held: list[tuple[str, Any]] = []
        if isinstance(value, functools.partial):
            held = [(f"{path}[{i}]", x) for i, x in enumerate(value.args)]
            held += [(f"{path}.{name}", x) for name, x in value.keywords.items()]
        elif isinstance(value, list | tuple):
            held = [(f"{path}[{i}]", x) for i, x in enumerate(value)]
        elif isinstance(value, Mapping):
            held = [(f"{path}[{key!r}]", x) for key, x in value.items()]
        pending.extend(reversed(held))


def refuse_made_modules(recipe: Any, *, root: str = "model.module") -> None:
    """Refuses modules, variables and streams of keys that are made already.

    Raises:
      UserError: Naming the first.
    """
    for path, value in recipe_parts(recipe, root):
        if isinstance(value, nnx.Module | nnx.Variable | nnx.Rngs):
            raise UserError(
                f"{path}: the {type(value).__name__} is made already, so its arrays "
                "would be the same whatever the seed, and on one device",
                "give the recipe, functools.partial(Net, …) (in a config: "
                "fdl.Partial(Net, …)), and have the module call it with rngs=",
            )


def refuse_shared_recipes(recipe: Any, *, root: str = "model.module") -> None:
    """Refuses one recipe of a module in two places, which would make two modules.

    Seen are classes of modules with arguments, not functions that make modules.

    Raises:
      UserError: Both places named.
    """
    met: dict[int, str] = {}
    for path, value in recipe_parts(recipe, root):
        if not isinstance(value, functools.partial):
            continue
        made = value.func
        if not (isinstance(made, type) and issubclass(made, nnx.Module)):
            continue
        if id(value) in met:
            raise UserError(
                f"one recipe of a {made.__name__} is in two places, and each would "
                "make a module of its own",
                f"  {met[id(value)]}",
                f"  {path}",
                "  to have two, make it two nodes",
                "  to have one, with tied weights, give it in one place and have the "
                "module use what it makes twice: self.output = self.embed",
            )
        met[id(value)] = path
