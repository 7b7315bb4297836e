"""About a million parameters; five minutes on two CPU cores.

    python train_lm.py --workdir=runs/first

Started again, it goes on from the last checkpoint.

Written from experiments/lm.py:base:

    fdlkit codegen experiments/lm.py:base --out=train_lm.py

Written for …

Left out: writers (it logs to metrics.jsonl alone).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fractions
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import signal
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TextIO

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from etils import epath
from flax.typing import VariableDict
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import mesh_utils
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import DTypeLike

# Errors
# ------


class UserError(Exception):
    """Refused before anything ran or was written (exit code 2)."""

    exit_code = 2

    def __init__(self, what: str, *lines: str):
        super().__init__("\n".join((what, *lines)))


class RunFailedError(UserError):
    """It ran, and the answer is no (exit code 1)."""

    exit_code = 1


# Key paths
# ---------


Key = Annotated[str, "key path"]


def parse_key(key: str) -> tuple[str | int, ...]:
    """`preds.aux[0]` as `("preds", "aux", 0)`."""
    parts = re.findall(r"([A-Za-z_]\w*)|\[(-?\d+)\]|\[(['\"])(.*?)\3\]", key)
    return tuple(
        int(index) if index else name or quoted for name, index, _, quoted in parts
    )


def get_key(context: Mapping[str, Any], key: str, *, wanted_by: str = "key") -> Any:
    """The value at a key path: `batch.tokens`, `preds.aux[0]`, `preds['a b']`.

    Raises:
      UserError: It leads nowhere; `wanted_by` says who asked.
    """
    value: Any = context
    try:
        for part in parse_key(key):
            if isinstance(value, Mapping) or isinstance(part, int):
                value = value[part]
            else:
                value = getattr(value, part)
    except (AttributeError, LookupError) as error:
        raise UserError(f"{wanted_by}={key!r} leads nowhere: {error!r}") from error
    return value


def key_fields(cls: type) -> tuple[str, ...]:
    """The names of a dataclass's fields that are annotated `Key` or `Key | None`."""
    return tuple(
        field.name
        for field in dataclasses.fields(cls)
        if field.type in (Key, Key | None, "Key", "Key | None")
    )


def resolve_keys(part: Any, context: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What each `Key` field of a part leads to; one that is None is left out."""
    return {
        name: get_key(context, getattr(part, name), wanted_by=f"{where}.{name}")
        for name in key_fields(type(part))
        if getattr(part, name) is not None
    }


# Sharding
# --------


AxisRules = Sequence[tuple[str, str | tuple[str, ...] | None]]

# The first rule that still has its mesh axes free wins, array by array, so an
# activation's `embed` is not split again where its `batch` holds `fsdp`.
DEFAULT_RULES: AxisRules = (
    ("batch", ("data", "fsdp")),
    ("layers", "stage"),
    ("vocab", "tensor"),
    ("heads", "tensor"),
    ("kv_heads", "tensor"),
    ("mlp", "tensor"),
    ("embed", "fsdp"),
    ("time", "context"),
    ("head_dim", None),
)


def mesh_spec(axes: Sequence[str | None], rules: AxisRules) -> PartitionSpec:
    """The mesh axes of an array whose dims have these logical axis names."""
    return nn.logical_to_mesh_axes(tuple(axes), tuple(rules)) or PartitionSpec()


def split_of(entry: str | tuple[str, ...] | None, mesh: Any) -> int:
    """In how many parts a dim with this `PartitionSpec` entry is cut."""
    names = (entry,) if isinstance(entry, str) else entry or ()
    return math.prod(mesh.shape[name] for name in names)


def like_parameters(tree: Any, params: Any, specs: Any) -> Any:
    """Specs for a tree that holds copies of the parameters (optimizer state).

    A leaf whose path ends like a parameter's and which has that parameter's shape
    (Adam's moments) is laid out like the parameter; any other is copied to every
    device. This works on paths, so a transformation that wraps, masks or
    partitions the tree needs no special case.

    Args:
      tree: Abstract arrays.
      params: Abstract parameters.
      specs: A `PartitionSpec` for each parameter.
    """
    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    by_path: Mapping[tuple[str, ...], tuple[Any, PartitionSpec]] = {
        _names(path): (leaf.shape, spec)
        for (path, leaf), spec in zip(
            jax.tree_util.tree_leaves_with_path(params),
            jax.tree.leaves(specs, is_leaf=is_spec),
            strict=True,
        )
    }

    def spec(path: Sequence[Any], leaf: Any) -> PartitionSpec:
        names = _names(path)
        for start in range(len(names)):
            shape, found = by_path.get(names[start:], (None, PartitionSpec()))
            if shape == leaf.shape:
                return found
        return PartitionSpec()

    return jax.tree_util.tree_map_with_path(spec, tree)


def _names(path: Sequence[Any]) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr((key,), simple=True) for key in path)


def named(specs: Any, mesh: jax.sharding.Mesh) -> Any:
    """A tree of specs as a tree of `NamedSharding` on `mesh`."""
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        specs,
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )


def splits(axis: str) -> bool:
    """Whether a logical axis is divided among two or more devices here and now.

    False outside any mesh, without rules, and where no rule names the axis.
    """
    spec = nn.logical_to_mesh_axes((axis,))
    mesh = jax.sharding.get_abstract_mesh()
    return not mesh.empty and spec is not None and split_of(spec[0], mesh) > 1


MESH_AXES = ("data", "fsdp", "tensor", "context", "stage")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeshAxes:
    """Sizes of the mesh axes over one kind of network; -1 once: the rest.

    Attributes:
      data: Replicas: the batch is split, parameters are copied.
      fsdp: The batch is split, and parameters are split over their `embed` dim.
      tensor: Heads, MLP width and vocabulary are split.
      context: The time dim of activations is split.
      stage: Stages of a pipeline.
    """

    data: int = 1
    fsdp: int = 1
    tensor: int = 1
    context: int = 1
    stage: int = 1

    def sizes(self) -> tuple[int, ...]:
        """The sizes in the order of `MESH_AXES`, -1 still in place."""
        return (self.data, self.fsdp, self.tensor, self.context, self.stage)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh:
    """The mesh of a run; it always has all of `MESH_AXES`.

    Attributes:
      ici: The size of each axis; -1 once: the rest.
    """

    ici: MeshAxes = MeshAxes(data=-1)

    def make(self) -> jax.sharding.Mesh:
        """A `jax.sharding.Mesh` of all devices."""
        devices = jax.devices()
        fixed = math.prod(n for n in self.ici.sizes() if n != -1)
        rest = len(devices) // fixed
        shape = tuple(rest if n == -1 else n for n in self.ici.sizes())
        if math.prod(shape) != len(devices):
            raise UserError(f"{self.ici} does not fit the {len(devices)} devices")
        array = mesh_utils.create_device_mesh(
            shape, devices=devices, allow_split_physical_axes=True
        )
        # Stated, because `jax.make_mesh` has come to default to Explicit.
        auto = (jax.sharding.AxisType.Auto,) * len(MESH_AXES)
        return jax.sharding.Mesh(array, MESH_AXES, axis_types=auto)


def spec_tree(variables: Any, rules: AxisRules) -> Any:
    """Mesh axes of every array: a tree of `PartitionSpec` like unboxed `variables`.

    Arrays without logical axis names are copied to every device.
    """
    return jax.tree.map(
        lambda leaf: (
            mesh_spec(leaf.names, rules)
            if isinstance(leaf, nn.Partitioned)
            else PartitionSpec()
        ),
        variables,
        is_leaf=lambda leaf: isinstance(leaf, nn.Partitioned),
    )


# Model
# -----


def normal_init(stddev: float, axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser, axes named: normal around 0.

    Args:
      stddev: The standard deviation.
      axes: Logical names of the dims.
    """
    initial = nn.initializers.normal(stddev)
    return nn.with_logical_partitioning(initial, axes)


def ones_init(axes: tuple[str | None, ...]) -> Callable[..., Any]:
    """Returns an initialiser: all ones, axes named."""
    return nn.with_logical_partitioning(nn.initializers.ones, axes)


class RmsNorm(nn.Module):
    """Divides by the root mean square and scales (Zhang & Sennrich, 2019).

    Attributes:
      epsilon: Added to the mean square.
      param_dtype: What the scale is stored in.
    """

    epsilon: float = 1e-6
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Returns `x`, normalised, in its own dtype: `[..., embed]`."""
        # x: Float[*b embed], returns: Float[*b embed]
        scale = self.param(
            "scale",
            ones_init(("embed",)),
            x.shape[-1:],
            self.param_dtype,
        )
        y = x.astype(jnp.float32)
        y *= jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + self.epsilon)
        return (y * scale).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class Rotary:
    """Rotates pairs of features by an angle that grows with the position.

    Dot products of rotated queries and keys depend on the distance alone (Su et al.,
    2021). Feature `i` is paired with feature `i + head_dim / 2`.

    Attributes:
      base: The slowest pair turns by about one radian in `base` positions.
    """

    base: float = 10_000.0

    def __call__(self, x: jax.Array, positions: jax.Array) -> jax.Array:
        """Returns `x`, rotated.

        Args:
          x: `[batch, time, heads, head_dim]`, with an even `head_dim`.
          positions: Integers, `[batch, time]`, or `[1, time]` for all rows alike.
        """
        half = x.shape[-1] // 2
        if x.shape[-1] % 2:
            raise ValueError(
                f"rotary positions need an even head_dim, not {x.shape[-1]}"
            )
        frequency = self.base ** (-jnp.arange(half, dtype=jnp.float32) / half)
        angle = positions[:, :, None, None].astype(jnp.float32) * frequency
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        rotated = (first * cos - second * sin, second * cos + first * sin)
        return jnp.concatenate(rotated, axis=-1).astype(x.dtype)


def segment_positions(segment_ids: jax.Array) -> jax.Array:
    """Returns each token's place in its own segment.

    Args:
      segment_ids: Integers, `[batch, time]`; neighbours of one value are a segment.

    Returns:
      `[batch, time]`: 0, 1, 2, …, from 0 again wherever the value changes.
    """
    time = jnp.arange(segment_ids.shape[1])
    changes = segment_ids[:, 1:] != segment_ids[:, :-1]
    starts = jnp.pad(jnp.where(changes, time[1:], 0), ((0, 0), (1, 0)))
    return time - jax.lax.cummax(starts, axis=1)


class Transformer(nn.Module, kw_only=True):
    """Embeds tokens, runs them through layers, and says what may come next.

    The order of the fields is part of the parameters' names: Flax names a module that
    two fields hold by the first of them, so fields that may share one come first.

    Attributes:
      vocab_size: The number of tokens.
      hidden: The width of the residual stream.
      embed: Tokens `[batch, time]` to `[batch, time, embed]`.
      output: Has `attend`: `[batch, time, embed]` to logits. The very module that is
        `embed`: the two are tied.
      layers: `[batch, time, embed]`, `segment_ids=` and `positions=` to the same shape.
      norm: Makes the last normalisation when called with `name=`.
    """

    vocab_size: int
    hidden: int
    embed: nn.Module
    output: nn.Module
    layers: nn.Module
    norm: Callable[..., nn.Module] = RmsNorm

    @nn.compact
    def __call__(
        self,
        tokens: jax.Array,
        *,
        segment_ids: jax.Array | None = None,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Returns the logits of each next token.

        Args:
          tokens: Integers in `[0, vocab_size)`, `[batch, time]`.
          segment_ids: Integers, `[batch, time]`, for rows packed with several
            documents; attention stays within one. None: a row is one document.
          positions: Integers, `[batch, time]`. None: counted within each segment.

        Returns:
          `[batch, time, vocab]`, in float32.

        Raises:
          ValueError: A part does not fit `hidden` or `vocab_size`.
        """
        # tokens: Integer[batch time], segment_ids: Integer[batch time],
        # positions: Integer[#batch time], returns: Float[batch time {self.vocab_size}]
        if positions is None:
            positions = (
                jnp.arange(tokens.shape[1])[None]
                if segment_ids is None
                else segment_positions(segment_ids)
            )
        x = self.embed(tokens)
        expect("model.embed", x.shape[-1], "hidden", self.hidden)
        x = nn.with_logical_constraint(x, ("batch", "time", "embed"))
        x = self.layers(x, segment_ids=segment_ids, positions=positions)
        logits = self.output.attend(self.norm(name="norm")(x))
        expect("model.output", logits.shape[-1], "vocab_size", self.vocab_size)
        return nn.with_logical_constraint(
            logits.astype(jnp.float32), ("batch", "time", "vocab")
        )


def expect(part: str, got: int, name: str, wanted: int) -> None:
    """Refuses a part of another width than the model says."""
    if got != wanted:
        raise ValueError(f"{part} gives {got} values a token, but {name}={wanted}")


class Einsum(nn.Module):
    """Multiplies its input by a learned kernel, axes matched by letters.

    Kernels keep their axes apart (`[embed, heads, head_dim]`, not
    `[embed, heads * head_dim]`), so that a mesh axis splits whole heads and never
    cuts through one.

    Usage:

    ```
    Einsum("btd,dhk->bthk", (128, 4, 32), ("embed", "heads", "head_dim"))
    ```

    Attributes:
      equation: Input and kernel to output, as `jnp.einsum` spells it; input and output
        begin with batch and time: `bt`.
      shape: The kernel's shape.
      axes: The kernel's logical axis names, one for each dimension.
      init_scale: The kernel's entries are normal with variance `init_scale / fan_in`,
        where the fan-in is the product of *all* summed kernel dimensions.
      dtype: What is computed in.
      param_dtype: What the kernel is stored in.
    """

    equation: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    def __post_init__(self) -> None:
        """Refuses an equation, a shape and axes that do not fit together."""
        super().__post_init__()
        kernel = kernel_letters(self.equation)
        if not len(kernel) == len(self.shape) == len(self.axes):
            raise ValueError(
                f"equation={self.equation!r} gives a kernel of {len(kernel)} axes, "
                f"shape={self.shape} has {len(self.shape)} and axes={self.axes} "
                f"names {len(self.axes)}"
            )

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Returns the product, in `dtype`."""
        stddev = math.sqrt(self.init_scale / fan_in(self.equation, self.shape))
        kernel = self.param(
            "kernel",
            normal_init(stddev, self.axes),
            self.shape,
            self.param_dtype,
        )
        return contract(self.equation, x.astype(self.dtype), kernel.astype(self.dtype))


def contract(
    equation: str,
    x: jax.Array,
    kernel: jax.Array,
    *,
    preferred_element_type: DTypeLike | None = None,
) -> jax.Array:
    """Returns `jnp.einsum(equation, x, kernel)`, with fast gradients on CPU.

    Batch and time are merged for the product: with two summed axes in the kernel's
    gradient, XLA on CPU computes what comes before it again, transposed (a whole MLP
    then takes three times as long). A mesh that splits time cannot split the merged
    axis, so there they stay apart.

    Args:
      equation: Input and kernel to output; `bt` comes first in input and output.
      x: `[batch, time, ...]`.
      kernel: What `x` is multiplied by.
      preferred_element_type: The dtype of the sums and of the output; None: `x`'s.
    """
    if splits("time"):
        return jnp.einsum(
            equation, x, kernel, preferred_element_type=preferred_element_type
        )
    rows = jnp.einsum(
        equation.replace("bt", "n"),
        x.reshape(-1, *x.shape[2:]),
        kernel,
        preferred_element_type=preferred_element_type,
    )
    return rows.reshape(*x.shape[:2], *rows.shape[1:])


def kernel_letters(equation: str) -> str:
    """Returns the kernel's letters: `"dhk"` for `"btd,dhk->bthk"`."""
    form = re.fullmatch(r"bt[a-z]+,([a-z]+)->bt[a-z]+", equation)
    if form is None or set("btn") & set(form[1]):
        raise ValueError(f"equation={equation!r} is not of the form 'bt…,kernel->bt…'")
    return form[1]


def fan_in(equation: str, shape: tuple[int, ...]) -> int:
    """Returns how many kernel entries are summed into one output value."""
    output = equation.partition("->")[2]
    letters = kernel_letters(equation)
    return math.prod(
        size
        for letter, size in zip(letters, shape, strict=True)
        if letter not in output
    )


class Embed(nn.Module):
    """A table of one vector for each token, read both ways.

    One node used as a model's `embed` and as its `output` is one table: tied.
    Two nodes are two tables.

    Attributes:
      vocab_size: The number of tokens.
      features: The width of a vector.
      init_scale: The length of a vector at the start. It is also the root mean square
        of an embedding, and the standard deviation of the logits of a normalised
        input, whatever the width: a first loss of about
        `log(vocab_size) + init_scale**2 / 2`.
      dtype: What is computed in.
      param_dtype: What the table is stored in.
    """

    vocab_size: int
    features: int
    init_scale: float = 0.5
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        """Makes the table, `[vocab, embed]`."""
        self.embedding = self.param(
            "embedding",
            normal_init(self.init_scale / math.sqrt(self.features), ("vocab", "embed")),
            (self.vocab_size, self.features),
            self.param_dtype,
        )

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Returns the tokens' vectors.

        Args:
          tokens: Integers in `[0, vocab_size)`, of any shape.

        Returns:
          `[..., embed]`. A token past the end gives NaN: a wrong tokenizer is not to
          train in silence.
        """
        # tokens: Integer[*b], returns: Float[*b {self.features}]
        # Rows are looked up in whole: cut by `fsdp`, they would have to be put together
        # after the lookup, once for each token instead of once for each row.
        table = nn.with_logical_constraint(
            self.embedding.astype(self.dtype), ("vocab", None)
        )
        vectors = jnp.take(table, tokens, axis=0, mode="fill")
        return vectors * math.sqrt(self.features)

    def attend(self, x: jax.Array) -> jax.Array:
        """Returns every token's logit, in float32.

        Args:
          x: `[batch, time, embed]`.

        Returns:
          `[batch, time, vocab]`.
        """
        # x: Float[batch time {self.features}],
        # returns: Float[batch time {self.vocab_size}]
        return contract(
            "btd,vd->btv",
            x.astype(self.dtype),
            self.embedding.astype(self.dtype),
            preferred_element_type=jnp.float32,
        )


class Repeat(nn.Module):
    """Runs `n` layers that are built alike, each with its own parameters.

    Their parameters are one tree whose arrays have a leading axis of length `n`.

    Attributes:
      block: The template: `[batch, time, embed]` to the same shape and dtype.
      n: The number of layers.
      axis_name: The logical name of the leading axis. A `Repeat` inside a `Repeat`
        needs its own.

    Raises:
      ValueError: `n` is not positive, or an attribute is not as said above.
    """

    block: nn.Module
    n: int
    axis_name: str = "layers"

    def __post_init__(self) -> None:
        """Refuses what could not run."""
        super().__post_init__()
        if self.n < 1:
            raise ValueError(f"n={self.n} layers: there must be one at least")

    @nn.compact
    def __call__(self, x: jax.Array, **inputs: Any) -> jax.Array:
        """Returns what the last layer returns.

        Args:
          x: What the first layer gets: `[batch, time, embed]`.
          **inputs: What every layer gets by name, unchanged, such as `segment_ids`.
        """

        def layer(
            block: nn.Module,
            x: jax.Array,
            variables: tuple[VariableDict, ...],
            inputs: dict[str, Any],
        ) -> jax.Array:
            return block(x, **inputs)

        def step(block: nn.Module, x: jax.Array, *rest: Any) -> tuple[jax.Array, None]:
            return layer(block, x, *rest), None

        loop = nn.scan(
            step,
            variable_axes={"params": 0, "intermediates": 0, "cache": 0},
            split_rngs={"params": True, "dropout": True},
            in_axes=nn.broadcast,
            length=self.n,
            # Else the layer is traced twice, to see that variables which all of them
            # share do not change: this loop has none. While it is initialised that
            # stays: the keys drawn depend on it, and with them what a seed gives.
            check_constancy_invariants=self.is_initializing(),
            unroll=1,
            metadata_params={nn.PARTITION_NAME: self.axis_name},
        )
        return loop(self.block, x, (), inputs)[0]


class Block(nn.Module):
    """Attention and a feed-forward layer, each on a normalised residual stream.

    Attributes:
      attention: Called with `[batch, time, embed]`, `segment_ids` and `positions`.
      mlp: Called with `[batch, time, embed]`.
      norm: Makes a normalisation when called with `name=`.
    """

    attention: nn.Module
    mlp: nn.Module
    norm: Callable[..., nn.Module] = RmsNorm

    @nn.compact
    def __call__(
        self,
        x: jax.Array,
        *,
        segment_ids: jax.Array | None = None,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Returns the stream after this layer, `[batch, time, embed]`, in its dtype."""
        # x: Float[batch time embed], segment_ids: Integer[batch time],
        # positions: Integer[#batch time], returns: Float[batch time embed]
        residual = self.attention(
            self.norm(name="attention_norm")(x),
            segment_ids=segment_ids,
            positions=positions,
        )
        x = self._add(x, residual)
        residual = self.mlp(self.norm(name="mlp_norm")(x))
        return self._add(x, residual)

    def _add(self, x: jax.Array, residual: jax.Array) -> jax.Array:
        x += residual.astype(x.dtype)
        return nn.with_logical_constraint(x, ("batch", "time", "embed"))


HEADS = ("batch", "time", "heads", "head_dim")
KV_HEADS = ("batch", "time", "kv_heads", "head_dim")


class SelfAttention(nn.Module):
    """Each token attends to itself and to earlier tokens of its own segment.

    Attributes:
      features: The width of input and output.
      num_heads: The number of query heads.
      rotary: Turns queries and keys by their positions; None: no rotation.
      out_init_scale: The variance of the output kernel, times its fan-in.
      dtype: What is computed in; softmax is in float32 whatever it is.
      param_dtype: What the kernels are stored in.

    Raises:
      ValueError: Heads do not fit the features or each other, or are of an odd width
        while `rotary` is given.
    """

    features: int
    num_heads: int
    rotary: Callable[[jax.Array, jax.Array], jax.Array] | None = Rotary()
    out_init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    def __post_init__(self) -> None:
        """Refuses heads that do not fit together."""
        super().__post_init__()
        if self.num_heads < 1:
            raise ValueError(f"num_heads={self.num_heads}: it must be one at least")
        if self.features % self.num_heads:
            raise ValueError(
                f"features={self.features} is not a multiple of "
                f"num_heads={self.num_heads}"
            )
        if self.rotary is not None and self._width_of_a_head() % 2:
            raise ValueError(
                f"head_dim={self._width_of_a_head()} is odd: "
                "rotary positions turn pairs"
            )

    def _width_of_a_head(self) -> int:
        return self.features // self.num_heads

    @nn.compact
    def __call__(
        self,
        x: jax.Array,
        *,
        segment_ids: jax.Array | None = None,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Returns what each token gathers.

        Args:
          x: `[batch, time, embed]`.
          segment_ids: Integers, `[batch, time]`; None: a row is one segment.
          positions: Integers, `[batch, time]` or `[1, time]`; None: 0, 1, 2, ….

        Returns:
          `[batch, time, embed]`.
        """
        # x: Float[batch time embed], segment_ids: Integer[batch time],
        # positions: Integer[#batch time], returns: Float[batch time embed]
        head_dim = self._width_of_a_head()
        num_kv_heads = self.num_heads

        def project(name: str, num_heads: int, heads: str) -> jax.Array:
            y = Einsum(
                "btd,dhk->bthk",
                (self.features, num_heads, head_dim),
                ("embed", heads, "head_dim"),
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                name=name,
            )(x)
            return checkpoint_name(y, f"{name}_proj")

        query = project("query", self.num_heads, "heads")
        key = project("key", num_kv_heads, "kv_heads")
        value = project("value", num_kv_heads, "kv_heads")
        if self.rotary is not None:
            if positions is None:
                positions = jnp.arange(x.shape[1])[None]
            query = self.rotary(query, positions)
            key = self.rotary(key, positions)
        query = nn.with_logical_constraint(query, HEADS)
        key = nn.with_logical_constraint(key, KV_HEADS)
        value = nn.with_logical_constraint(value, KV_HEADS)
        gathered = self.gather(query, key, value, segment_ids=segment_ids)
        gathered = nn.with_logical_constraint(gathered, HEADS)
        gathered = checkpoint_name(gathered, "context")
        y = Einsum(
            "bthk,hkd->btd",
            (self.num_heads, head_dim, self.features),
            ("heads", "head_dim", "embed"),
            init_scale=self.out_init_scale,
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            name="out",
        )(gathered)
        return checkpoint_name(y, "out_proj")

    def gather(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        *,
        segment_ids: jax.Array | None = None,
    ) -> jax.Array:
        """Returns what each query gathers; arguments are `causal_attention`'s.

        It is a method so that keys and values of earlier calls can be put in.
        """
        return causal_attention(query, key, value, segment_ids=segment_ids)


def causal_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    *,
    segment_ids: jax.Array | None = None,
) -> jax.Array:
    """Returns softmax(query · key / sqrt(head_dim)) · value over what may be seen.

    Args:
      query: `[batch, time, heads, head_dim]`.
      key: `[batch, source, kv_heads, head_dim]`; `kv_heads` divides `heads`.
      value: As `key`.
      segment_ids: Integers, `[batch, time]`; None: a row is one segment.

    Returns:
      `[batch, time, heads, head_dim]`, in the query's dtype.
    """
    batch, time, num_heads, head_dim = query.shape
    num_kv_heads = key.shape[2]
    # Heads before time: the two products are then plain batched ones, and XLA on CPU
    # moves a few megabytes once where it would move the scores several times.
    grouped = query.reshape(
        batch, time, num_kv_heads, num_heads // num_kv_heads, head_dim
    ).transpose(0, 2, 3, 1, 4)
    key = key.transpose(0, 2, 1, 3)
    value = value.transpose(0, 2, 1, 3)
    scores = jnp.einsum(
        "bngtk,bnsk->bngts",
        grouped * (1 / math.sqrt(head_dim)),
        key,
        preferred_element_type=jnp.float32,
    )
    mask = jnp.tril(jnp.ones((time, time), bool))[None]
    if segment_ids is not None:
        mask &= segment_ids[:, :, None] == segment_ids[:, None, :]
    # A finite floor: a row of `-inf` would make the gradient NaN.
    scores = jnp.where(mask[:, None, None], scores, jnp.finfo(jnp.float32).min)
    weights = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    gathered = jnp.einsum("bngts,bnsk->bngtk", weights, value)
    return gathered.transpose(0, 3, 1, 2, 4).reshape(batch, time, num_heads, head_dim)


class Mlp(nn.Module):
    """Up, a non-linearity, down.

    Attributes:
      features: The width of input and output.
      width: The width between.
      out_init_scale: The variance of the output kernel, times its fan-in.
      dtype: What is computed in.
      param_dtype: What the kernels are stored in.
    """

    features: int
    width: int
    out_init_scale: float = 1.0
    dtype: DTypeLike = jnp.float32
    param_dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Returns the layer's output, `[batch, time, embed]` to the same shape."""

        # x: Float[batch time embed], returns: Float[batch time embed]
        def up(name: str) -> jax.Array:
            y = Einsum(
                "btd,df->btf",
                (self.features, self.width),
                ("embed", "mlp"),
                dtype=self.dtype,
                param_dtype=self.param_dtype,
                name=name,
            )(x)
            return checkpoint_name(y, "ffn1")

        y = activate(up("up"))
        y = nn.with_logical_constraint(y, ("batch", "time", "mlp"))
        y = Einsum(
            "btf,fd->btd",
            (self.width, self.features),
            ("mlp", "embed"),
            init_scale=self.out_init_scale,
            dtype=self.dtype,
            param_dtype=self.param_dtype,
            name="down",
        )(y)
        return checkpoint_name(y, "ffn2")


def activate(x: jax.Array) -> jax.Array:
    """Applies a non-linearity."""
    return jax.nn.gelu(x, approximate=True)


# Data
# ----


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByteTokenizer:
    """One token a byte of UTF-8; byte 0, which text does not hold, separates.

    Usage:

        ByteTokenizer().encode("né").tolist() == [110, 195, 169]
    """

    @property
    def name(self) -> str:
        """`bytes`."""
        return "bytes"

    @property
    def vocab_size(self) -> int:
        """256, the separator included."""
        return 256

    @property
    def separator(self) -> int:
        """0."""
        return 0

    @property
    def bytes_per_token(self) -> np.ndarray:
        """One for each id but the separator, `[vocab]` int32."""
        counts = np.ones(self.vocab_size, np.int32)
        counts[self.separator] = 0
        return counts

    def encode(self, text: str | bytes) -> np.ndarray:
        """The bytes of `text`. `[time]` uint8

        Raises:
          ValueError: The text holds a zero byte, so it is not text.
        """
        raw = text.encode() if isinstance(text, str) else text
        position = raw.find(b"\0")
        if position >= 0:
            raise ValueError(f"a zero byte at position {position}: this is not text")
        return np.frombuffer(raw, np.uint8)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArraySpec:
    """Shape, type and axis names of one array.

    Attributes:
      shape: The size of each axis.
      dtype: The NumPy type of an element.
      axes: The logical name of each axis (`batch`, `time`, …), or None.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    axes: tuple[str | None, ...]


def batched(example: Mapping[str, ArraySpec], batch_size: int) -> dict[str, ArraySpec]:
    """The specs of `batch_size` such examples, stacked on a leading `batch` axis."""
    return {
        name: ArraySpec(
            shape=(batch_size, *spec.shape),
            dtype=spec.dtype,
            axes=("batch", *spec.axes),
        )
        for name, spec in example.items()
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Batches of examples in a reproducible order.

    Attributes:
      source: Examples.
      batch_size: Examples in a batch.
      shuffle: Whether each epoch has an order of its own, or the source's.
      num_epochs: Passes over the data; None for ever.
      seed: Of the order; None: whoever reads the batches says it.
      remainder: What becomes of the examples after the last full batch: `drop`
        leaves them out, `pad` fills their batch up with rows of zeros and marks
        these by zeros in the entry `mask`, which then every batch has.
    """

    source: TokenWindows
    batch_size: int
    shuffle: bool = True
    num_epochs: int | None = None
    seed: int | None = None
    remainder: Literal["drop", "pad"] = "drop"

    def spec(self) -> dict[str, ArraySpec]:
        """The specs of a batch."""
        example = self.source.example_spec()
        if self.remainder == "pad" and "mask" not in example:
            mask = ArraySpec(shape=(), dtype=np.dtype(np.float32), axes=())
            example = {**example, "mask": mask}
        return batched(example, self.batch_size)

    @property
    def num_examples(self) -> int:
        """Examples in an epoch."""
        return len(self.source)

    @property
    def num_batches(self) -> int | None:
        """Batches in all epochs together; None if there is no end."""
        if self.num_epochs is None:
            return None
        examples = self.num_epochs * self.num_examples
        full, rest = divmod(examples, self.batch_size)
        return full + 1 if rest and self.remainder == "pad" else full

    def batches(self, *, default_seed: int = 0) -> BatchIterator:
        """An iterator from the first batch on."""
        return BatchIterator(self, default_seed if self.seed is None else self.seed)

    def batch(self, index: int, seed: int) -> dict[str, np.ndarray]:
        """Batch number `index`, `[batch, …]` each."""
        positions = index * self.batch_size + np.arange(self.batch_size)
        valid = self.batch_size
        if self.num_epochs is not None:
            end = self.num_epochs * len(self.source)
            valid = int(np.clip(end - positions[0], 0, valid))
            # Rows of padding read the last example, for its shapes, and are cleared.
            positions = np.minimum(positions, end - 1)
        epochs, indices = np.divmod(positions, len(self.source))
        if self.shuffle:
            for epoch in np.unique(epochs).tolist():
                now = epochs == epoch
                indices[now] = self._order_of(seed, epoch)[indices[now]]
        batch = self.source.take(indices, epochs)
        if self.remainder == "pad":
            batch.setdefault("mask", np.ones(self.batch_size, np.float32))
        for array in batch.values():
            array[valid:] = 0
        return batch

    def _order_of(self, seed: int, epoch: int) -> np.ndarray:
        """Which example is at which position of an epoch."""
        if epoch not in self._orders:
            mixed = np.random.SeedSequence((seed, 0))
            own = int(mixed.generate_state(1)[0])
            # The one generator whose stream NumPy promises never to change.
            bits = np.random.MT19937(np.random.SeedSequence((own, epoch)))
            for old in [e for e in self._orders if abs(e - epoch) > 1]:
                del self._orders[old]
            self._orders[epoch] = np.random.RandomState(bits).permutation(
                len(self.source)
            )
        return self._orders[epoch]

    @functools.cached_property
    def _orders(self) -> dict[int, np.ndarray]:
        return {}


class BatchIterator(Iterator[dict[str, np.ndarray]]):
    """The batches of a pipeline, from any of them on."""

    def __init__(self, pipeline: Pipeline, seed: int):
        self._pipeline = pipeline
        self._seed = seed
        self._next_batch = 0
        self._data = {
            "seed": seed,
            "shuffle": pipeline.shuffle,
            "batch_size": pipeline.batch_size,
            "num_examples": [len(pipeline.source)],
            "contents": [pipeline.source.fingerprint],
        }

    def __next__(self) -> dict[str, np.ndarray]:
        if self._next_batch == self._pipeline.num_batches:
            raise StopIteration
        self._next_batch += 1
        return self._pipeline.batch(self._next_batch - 1, self._seed)

    def get_state(self) -> dict[str, Any]:
        """Where the iterator stands, for `json`."""
        return {"next_batch": self._next_batch, "data": self._data}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes to where an iterator over the same data stood."""
        if state["data"] != self._data:
            raise UserError(
                "the data is not what it was when its state was saved",
                f"  then: {state['data']}",
                f"  now:  {self._data}",
            )
        self._next_batch = state["next_batch"]


def files_of_split(
    names: Sequence[str], *, split: Split, eval_fraction: float
) -> list[str]:
    """The names that belong to `split`, sorted.

    A name is held out if its hash, a number in [0, 1), is below `eval_fraction`: a
    file stays on its side when others come or go. Of two files or more, neither
    side is left empty (unless the fraction is 0 or 1): the nearest file moves over.
    """
    ranked = sorted(names, key=unit_hash)
    held_out = sum(unit_hash(name) < eval_fraction for name in names)
    if 0 < eval_fraction < 1:
        held_out = min(max(held_out, 1), len(ranked) - 1)
    return sorted(ranked[:held_out] if split == "eval" else ranked[held_out:])


Split = Literal["train", "eval"]

# Folders of the standard library, at any depth, that hold tests, other people's
# packages, or what a program wrote: tables of characters (`encodings`) and one page
# of prose (`pydoc_data`) that alone would be half of what is held out.
_NOT_LIBRARY_TEXT = frozenset(
    {
        *("test", "tests", "idle_test"),
        *("site-packages", "dist-packages", "__pycache__"),
        *("encodings", "pydoc_data"),
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Document:
    """One text of a corpus.

    Attributes:
      name: Its name relative to the corpus, with `/` on every system.
      text: Its bytes, as they are on disk.
    """

    name: str
    text: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class StdlibCorpus:
    """The `.py` files of the running Python's own standard library, without tests.

    Real text of about 10 MB that is on every machine; generated files are left out
    too. It differs a little between versions of Python. The split is by file (see
    `files_of_split`).

    Attributes:
      split: The files to train on, or those held out.
      eval_fraction: The share of the files that is held out.
    """

    split: Split = "train"
    eval_fraction: float = 0.1

    def documents(self) -> Iterator[Document]:
        """The documents in the order of their names.

        Raises:
          UserError: This Python has no sources on disk.
        """
        root = pathlib.Path(sysconfig.get_path("stdlib"))
        files = {
            path.relative_to(root).as_posix(): path for path in _library_files(root)
        }
        if not files:
            raise UserError(
                f"this Python has no standard library sources in {root}",
                "  use a Python that has them, or TextFiles('texts/**/*.txt')",
            )
        return _read(files, self.split, self.eval_fraction)


def unit_hash(name: str) -> float:
    """A number in [0, 1) that a name always has."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _read(
    files: Mapping[str, pathlib.Path], split: Split, eval_fraction: float
) -> Iterator[Document]:
    # Not a generator itself: a wrong split is refused now, not at the first text.
    names = files_of_split(list(files), split=split, eval_fraction=eval_fraction)
    return (_document(name, files[name]) for name in names)


def _document(name: str, path: pathlib.Path) -> Document:
    try:
        return Document(name=name, text=path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _library_files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder, subfolders, names in os.walk(root):
        # Not walked into: the packages beside the library may be many.
        subfolders[:] = [name for name in subfolders if name not in _NOT_LIBRARY_TEXT]
        for name in names:
            of_this_machine = name.startswith("_sysconfigdata")
            if name.endswith(".py") and not of_this_machine:
                yield pathlib.Path(folder, name)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenStream:
    """All tokens of a corpus, in order.

    Attributes:
      tokens: `[time]`, of the smallest unsigned type that holds the vocabulary;
        read-only, usually mapped from a file.
      fingerprint: A hash of the documents and the tokenizer's name.
    """

    tokens: np.ndarray
    fingerprint: str


def token_stream(corpus: StdlibCorpus, tokenizer: ByteTokenizer) -> TokenStream:
    """The stream `separator document separator document … separator`.

    Each document is begun and ended by one, so a model learns both to start a text
    and to end it.
    """
    digest = hashlib.sha256(b"separator document separator/1")
    dtype = np.min_scalar_type(tokenizer.vocab_size - 1)
    separator = np.asarray([tokenizer.separator], dtype)
    parts = [separator]
    named = [tokenizer.name.encode()]
    for document in corpus.documents():
        named += [document.name.encode("utf-8", "surrogateescape"), document.text]
        parts += [tokenizer.encode(document.text).astype(dtype), separator]
    for text in named:
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text)
    return TokenStream(
        tokens=np.concatenate(parts), fingerprint=digest.hexdigest()[:32]
    )


# The golden ratio's fraction: its multiples, modulo 1, spread evenly however many
# are taken, so that few epochs already cut the text at far-apart places.
_SPREAD = 0.6180339887498949


@dataclasses.dataclass(frozen=True)
class TokenWindows:
    """Examples `tokens` and `labels` `[time]` int32: each label is the next token.

    An epoch is the corpus' tokens, documents joined by separators, cut into windows
    side by side: each token after the first is a label once; what is left at the
    end and shorter than a window is left out. Epoch 0 starts at the first token and
    each later one at another offset, so that the cuts, and with them what a label's
    context is, differ from pass to pass.

    Attributes:
      corpus: The texts.
      tokenizer: Makes tokens of them.
      length: The length of a window (`time`), in tokens.
    """

    corpus: StdlibCorpus
    tokenizer: ByteTokenizer
    _: dataclasses.KW_ONLY
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"length={self.length} of windows is not positive")

    @functools.cached_property
    def stream(self) -> TokenStream:
        """All tokens of the corpus.

        Raises:
          UserError: The corpus is missing, not text or shorter than one window.
        """
        stream = token_stream(self.corpus, self.tokenizer)
        if len(stream.tokens) <= self.length:
            raise UserError(
                f"a corpus of {len(stream.tokens):,} tokens is too short for a "
                f"window of length={self.length} and the label after it",
                f"  {self.corpus}",
            )
        return stream

    @property
    def fingerprint(self) -> str:
        """The content of the corpus and the tokenizer's name, hashed."""
        return self.stream.fingerprint

    def __len__(self) -> int:
        return (len(self.stream.tokens) - 1) // self.length

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The windows at `indices`, with their epoch's offset."""
        tokens = self.stream.tokens
        offsets = (epochs * _SPREAD % 1.0 * self.length).astype(np.int64)
        last_start = len(tokens) - 1 - self.length
        starts = np.minimum(indices * self.length + offsets, last_start)
        windows = np.lib.stride_tricks.sliding_window_view(tokens, self.length + 1)
        taken = windows[starts]
        return {
            "tokens": taken[:, :-1].astype(np.int32),
            "labels": taken[:, 1:].astype(np.int32),
        }

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of a window; needs no corpus."""
        spec = ArraySpec(shape=(self.length,), dtype=np.dtype(np.int32), axes=("time",))
        return {"tokens": spec, "labels": spec}


def derived_seed(seed: int, name: str) -> int:
    """The seed of one part of something that has a seed.

    Args:
      seed: Of the whole.
      name: What the part is to it: `train_data`.

    Returns:
      A number below 2**32, another one for every seed and name.
    """
    mixed = np.random.SeedSequence((seed % 2**32, *name.encode()))
    return int(mixed.generate_state(1)[0])


# Training
# --------


def batch_mask(context: Mapping[str, Any]) -> Any | None:
    """The `mask` of a step's batch, where it has one.

    It is the one reserved name in a batch: rows that only fill the last batch of an
    evaluation, and tokens that are not to be predicted, have 0 there.
    """
    batch = context.get("batch")
    return batch.get("mask") if isinstance(batch, Mapping) else None


def weighted(values: jax.Array, weights: jax.Array) -> jax.Array:
    """Values times weights; what counts nothing is 0, whatever its value is."""
    return jnp.where(weights != 0, values * weights, 0.0)


def spread_mask(mask: Any | None, shape: tuple[int, ...]) -> jax.Array:
    """The mask of some first dims, or 1 where there is none, float32 of `shape`."""
    if mask is None:
        return jnp.ones(shape, jnp.float32)
    weights = jnp.asarray(mask, jnp.float32)
    extra = len(shape) - weights.ndim
    return jnp.broadcast_to(weights.reshape(weights.shape + (1,) * extra), shape)


def observed(method: Callable[..., Any], read: Mapping[str, Any]) -> Any:
    """What a method of a loss or metric makes of what it reads."""
    return method(**read)


Context = Mapping[str, Any]


class Elements(NamedTuple):
    """What a loss says of a batch, before it is one number.

    Attributes:
      values: A loss each, `[batch, ...]` float32.
      weights: How much each counts, of the same shape; 0 for padding.
      factor: What the mean is multiplied by in the total, [] float32.
    """

    values: jax.Array
    weights: jax.Array
    factor: jax.Array

    def mean(self, count: jax.Array | None = None) -> jax.Array:
        """The weighted mean of the values, []; 0, not 0/0, where all is padding.

        Args:
          count: The sum of weights that it is taken over, [] float32, where these are
            but some of the elements: then it is their share of the mean.
        """
        total = jnp.sum(weighted(self.values, self.weights))
        over = jnp.sum(self.weights) if count is None else count
        # Not `maximum(over, 1)`: weights may be parts of one.
        return total / jnp.where(over > 0, over, 1.0)


def total_loss(
    losses: Mapping[str, Elements], counts: Mapping[str, jax.Array] | None = None
) -> jax.Array:
    """What is minimized: the sum of factor times mean over all losses, [].

    Args:
      losses: Elements by the loss's name.
      counts: What each mean is taken over; None: the elements that are there.
    """
    means = [
        elements.factor * elements.mean(None if counts is None else counts[name])
        for name, elements in losses.items()
    ]
    return jnp.sum(jnp.stack(means)) if len(means) > 1 else means[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loss:
    """One loss: a subclass says `values`, from what its `Key` fields lead to.

        @dataclasses.dataclass(frozen=True, kw_only=True)
        class Hinge(Loss):
            scores: Key = "preds"
            signs: Key = "batch.signs"

            def values(self, *, scores, signs):
                return jnp.maximum(0.0, 1.0 - signs * scores)

    Attributes:
      weight: What its mean is multiplied by in the sum of all losses: a number, or a
        schedule (a function of the step, from 0).
      unit: What one element is, in the plural; names the logged rate.
    """

    weight: float | optax.Schedule = 1.0
    unit: str = "examples"

    def values(self, *args: Any, **read: Any) -> jax.Array:
        """The loss of each element, `[batch, ...]`.

        Args:
          **read: What each `Key` field (but `mask`) leads to, by the field's name.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `values`, the loss of each element"
        )

    def __call__(self, context: Context, *, where: str = "loss") -> Elements:
        """The elements of a step's context: values, their weights and the factor.

        Args:
          context: The step's: `batch`, `preds`, `step` and what else a key reads.
          where: The config path of this loss, for messages.

        Raises:
          UserError: A key path that leads nowhere, or a mask that does not fit.
        """
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        values = observed(self.values, read).astype(jnp.float32)
        weights = spread_mask(mask, values.shape)
        factor = self.weight
        if callable(factor):
            factor = factor(get_key(context, "step", wanted_by=f"{where}.weight"))
        return Elements(values, weights, jnp.asarray(factor, jnp.float32))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossEntropy(Loss):
    """Softmax cross-entropy with integer labels, in nats.

    Attributes:
      logits: Key path of the scores, `[batch, ..., classes]`.
      labels: Key path of the right classes, `[batch, ...]` integers.
      unit: What one label is, in the plural.
    """

    logits: Key = "preds"
    labels: Key = "batch.labels"
    unit: str = "tokens"

    def values(self, *, logits: jax.Array, labels: jax.Array) -> jax.Array:
        """Nats per label, `[batch, ...]`."""
        # logits: Float[*b classes], labels: Integer[*b], returns: Float[*b]
        logits = logits.astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def exact_sum(numbers: Any) -> Any:
    """The sum of an array's numbers; of such a sum itself. No fraction: not finite."""
    if isinstance(numbers, fractions.Fraction | float):
        return numbers
    flat = np.asarray(numbers, np.float64).reshape(-1)
    if not np.isfinite(flat).all():
        return float(flat.sum())
    return sum(map(fractions.Fraction, flat.tolist()), fractions.Fraction())


def exact_ratio(numerator: Any, denominator: Any) -> float:
    """The quotient of two sums, each rounded once; 0 where nothing was counted."""
    above, below = float(exact_sum(numerator)), float(exact_sum(denominator))
    return above / below if below else 0.0


State = Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric:
    """A number (or several) over a data set: a subclass says `state` and `result`.

    `state` is traced into the step and is one batch's share; `merge` and `result` run
    on the host, with NumPy, at log points only. Numerators and denominators stay apart
    until `result`, so that ragged batches weigh what they should.
    """

    def state(self, *args: Any, **read: Any) -> State:
        """One batch's share, a tree of arrays, float32 or int32.

        Args:
          **read: What each `Key` field leads to, by the field's name; `mask` always:
            `[batch, ...]` float32, or None where everything counts.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `state`, what one batch comes to"
        )

    def merge(self, a: State, b: State) -> State:
        """The state of what `a` and `b` are of, on the host; associative.

        Sums of leaves, in float64 and int64. Another merge than a sum is overridden
        here; leaves come as NumPy arrays.
        """
        return jax.tree.map(lambda x, y: _widened(x) + _widened(y), a, b)

    def result(self, state: State) -> float | Mapping[str, float]:
        """The number that a state comes to, or several by name; on the host."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method `result`, the number of a state"
        )

    def read(self, context: Context, *, where: str) -> dict[str, Any]:
        """The arguments of `state`, from a step's context.

        Raises:
          UserError: A key path that leads nowhere.
        """
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        return read | {"mask": None if mask is None else jnp.asarray(mask, jnp.float32)}

    def __call__(self, context: Context, *, where: str = "metrics") -> State:
        """The state of a step's context; `where` is the config path, for messages."""
        return observed(self.state, self.read(context, where=where))


def _widened(leaf: Any) -> Any:
    array = np.asarray(leaf)
    return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratio(Metric):
    """A quotient of two sums over all elements that count.

    A batch's state has a number a row and the host adds these up without rounding: any
    cut of the rows into batches, over any number of devices and processes, gives the
    same digits.
    """

    def merge(self, a: State, b: State) -> State:
        """Sums of all numbers in a leaf, without rounding."""
        return jax.tree.map(lambda x, y: exact_sum(x) + exact_sum(y), a, b)

    def result(self, state: State) -> float:
        """The quotient; 0 where nothing was counted."""
        return exact_ratio(state["numerator"], state["denominator"])


def quotient(numerator: jax.Array, denominator: jax.Array) -> dict[str, jax.Array]:
    """The state of a `Ratio`: sums of each row, `[batch]` float32 both.

    Args:
      numerator: `[batch, ...]`, or [] for what a step has once.
      denominator: The same.
    """
    return {"numerator": _row_sums(numerator), "denominator": _row_sums(denominator)}


def _row_sums(x: jax.Array) -> jax.Array:
    return jnp.sum(x.reshape(*x.shape[:1], -1), axis=-1, dtype=jnp.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanLoss(Ratio):
    """The mean of a loss over all elements that count.

    Attributes:
      loss: Key path of one loss, `losses.NAME`, or of all (`losses`): then it is the
        total that is trained on, the sum of factor times mean.
    """

    loss: Key = "losses"

    def state(
        self, *, loss: Elements | Mapping[str, Elements], mask: jax.Array | None
    ) -> State:
        """For each loss the weighted sum and the sum of weights, `[batch]`."""
        del mask  # the weights of a loss have it
        if isinstance(loss, Elements):
            return {"loss": loss_share(loss)}
        states = {name: loss_share(elements) for name, elements in loss.items()}
        for name, elements in loss.items():
            states[name]["numerator"] *= elements.factor
        return states

    def result(self, state: State) -> float:
        """The mean; the total of the means where there are several."""
        return math.fsum(Ratio.result(self, share) for share in state.values())


def loss_share(loss: Elements) -> dict[str, jax.Array]:
    """The state of a loss's mean."""
    return quotient(weighted(loss.values, loss.weights), loss.weights)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BitsPerByte(Ratio):
    """Cross-entropy in bits per byte of text, whatever the tokenizer.

    Attributes:
      tokenizer: Says how many bytes of text each token stands for.
      labels: Key path of the predicted tokens, `[batch, time]`.
      loss: Key path of their cross-entropy in nats.
    """

    tokenizer: ByteTokenizer
    labels: Key = "batch.labels"
    loss: Key = "losses.loss"

    def state(
        self,
        *,
        labels: jax.Array,
        loss: Elements,
        mask: jax.Array | None,
    ) -> State:
        """Nats that the model spends, and bytes of text that they encode."""
        # labels: Integer[batch time]
        del mask  # the weights of the loss have it
        sizes = jnp.asarray(self.tokenizer.bytes_per_token, jnp.float32)[labels]
        nats = weighted(loss.values, loss.weights)
        return quotient(nats, sizes * loss.weights)

    def result(self, state: State) -> float:
        """Bits per byte."""
        return Ratio.result(self, state) / math.log(2)


@flax.struct.dataclass
class TrainState:
    """Everything that the next step depends on, but for the data.

    A tree of this shape also holds what there is one of for each array: its
    abstract shape, its `PartitionSpec`, its `NamedSharding`.

    Attributes:
      step: How many updates were made, [] int32.
      params: The trained variables.
      model_state: The model's other variable collections.
      opt_state: The optimizer's.
      window: Sums since the last log point, [len(WINDOW)] float32: a run that is
        stopped between two log points still logs true means.
    """

    step: Any
    params: Any
    model_state: Any
    opt_state: Any
    window: Any

    @property
    def eval_params(self) -> Any:
        """What is evaluated."""
        return self.params


def as_saved(state: TrainState) -> dict[str, Any]:
    """The fields of a state (or of shapes, or layouts) that are not None, by name."""
    fields = {name: getattr(state, name) for name in state.__dataclass_fields__}
    return {name: value for name, value in fields.items() if value is not None}


# The parts of a checkpoint, each a folder in it.
ITEMS = ("state", "data", "record")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckpointPolicy:
    """When checkpoints are saved and how many stay.

    Attributes:
      every: Steps between checkpoints; the final state is always saved.
      keep: How many of the newest stay; None keeps all.
    """

    every: int = 1000
    keep: int | None = 3

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise ValueError(
                f"keep={self.keep}: a run goes on from its newest checkpoint, so at "
                "least 1; None keeps all"
            )


class Checkpoints:
    """The checkpoints in one folder, saved by a thread of Orbax's.

    A context manager: leaving it waits until the last save is on disk.
    """

    def __init__(self, folder: epath.Path, policy: CheckpointPolicy):
        folder.mkdir(parents=True, exist_ok=True)
        self._manager = ocp.CheckpointManager(
            folder if folder.is_absolute() else folder.absolute(),
            options=ocp.CheckpointManagerOptions(
                create=False,
                max_to_keep=policy.keep,
                cleanup_tmp_directories=True,
            ),
            item_names=ITEMS,
        )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *error: object) -> None:
        self._manager.wait_until_finished()
        self._manager.close()

    @property
    def last_step(self) -> int | None:
        """The step of the newest whole checkpoint, or None."""
        return self._manager.latest_step()

    def save(self, state: TrainState, data: Mapping[str, Any], *, step: int) -> None:
        """Starts a save; the arrays may be donated as soon as this returns."""
        self._manager.save(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardSave(as_saved(state)),
                data=ocp.args.JsonSave(dict(data)),
                record=ocp.args.JsonSave({}),
            ),
            force=True,
        )

    def restore(
        self, step: int, *, like: TrainState, shardings: TrainState
    ) -> tuple[TrainState, Mapping[str, Any]]:
        """The state at a step, laid out as the run wants it now, and the data's."""
        target = jax.tree.map(
            lambda a, s: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s),
            like,
            shardings,
        )
        restored = self._manager.restore(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardRestore(as_saved(target)),
                data=ocp.args.JsonRestore(),
            ),
        )
        return TrainState(**restored["state"]), restored["data"]


class MetricsFile:
    """One JSON object a line, with `step` and plain names such as `loss`."""

    def __init__(self, path: epath.Path, step: int):
        """Appends to the file, after cutting it back to `step`."""
        kept = []
        if path.exists():
            for line in path.read_text().splitlines(keepends=True):
                # A line that a kill cut in half is of a step that is run again.
                if line.endswith("\n") and json.loads(line)["step"] <= step:
                    kept.append(line)
            path.write_text("".join(kept))
        self._file = path.open("a")
        self._evaluated = [
            json.loads(line)["step"] for line in kept if '"eval/' in line
        ]

    def is_evaluated(self, step: int) -> bool:
        """Whether an evaluation of this step was there."""
        return step in self._evaluated

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Keeps the numbers of a step."""
        self._file.write(json.dumps({"step": step} | plain_numbers(values)) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Ends; nothing is written after this."""
        self._file.close()


def plain_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them: none that are not finite; histograms summed up."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, float | int):
            plain[name] = value if math.isfinite(value) else str(value)
        else:
            plain[name] = plain_numbers(value.summary())
    return plain


Inputs = Mapping[str, Any]
Variables = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class LinenModel:
    """A Flax Linen module as a `Model`; inputs are passed by keyword."""

    module: nn.Module

    def init(self, rng: jax.Array, inputs: Inputs) -> Variables:
        """Initial variables of the module."""
        params_rng, dropout_rng = jax.random.split(rng)
        rngs = {"params": params_rng, "dropout": dropout_rng}
        return self.module.init(rngs, **inputs)

    def apply(
        self, variables: Variables, inputs: Inputs, rngs: Mapping[str, jax.Array]
    ) -> tuple[Any, Variables]:
        """Runs the module; collections other than `params` may change in training."""
        mutable = [name for name in variables if name != "params"] if rngs else []
        return self.module.apply(variables, rngs=dict(rngs), mutable=mutable, **inputs)


def named_losses(loss: Loss | Mapping[str, Loss]) -> Mapping[str, Loss]:
    """The losses of a trainer by name; a single one is named `loss`."""
    return loss if isinstance(loss, Mapping) else {"loss": loss}


def step_spec() -> jax.ShapeDtypeStruct:
    """The shape of `step`."""
    return jax.ShapeDtypeStruct((), jnp.int32)


def loss_path(losses: Collection[str], name: str) -> str:
    """The config path of a loss of this name: `loss` where there is but one."""
    return "loss" if tuple(losses) == ("loss",) else f"loss[{name!r}]"


def model_inputs(inputs: Mapping[str, str], context: Context) -> dict[str, Any]:
    """The model's arguments, taken from the context by their key paths."""
    return {
        name: get_key(context, key, wanted_by=f"inputs.{name}")
        for name, key in inputs.items()
    }


def forward(
    model: LinenModel,
    losses: Mapping[str, Loss],
    inputs: Mapping[str, str],
    *,
    variables: Mapping[str, Any],
    batch: Mapping[str, Any],
    step: jax.Array,
    rngs: Mapping[str, jax.Array],
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The context of a step after the model and the losses ran.

    Args:
      model: The model.
      losses: By name.
      inputs: The model's arguments by name, as key paths.
      variables: The model's.
      batch: The batch.
      step: How many updates were made, [] int32.
      rngs: For the model: a step in training gives `dropout`, evaluation nothing.

    Returns:
      The context, and the model's other variable collections as they are now.
    """
    context: dict[str, Any] = {"batch": batch, "step": step}
    given = model_inputs(inputs, context)
    context["params"] = variables.get("params", {})
    context["preds"], model_state = model.apply(variables, given, rngs)
    found = {
        name: loss(context, where=loss_path(losses, name))
        for name, loss in losses.items()
    }
    return context | {"losses": found}, model_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class LineProgress:
    """A line of text a log point.

    Attributes:
      stream: Where the lines go.
      num_train_steps: The last step, for `step 100/1000`.
    """

    stream: TextIO
    num_train_steps: int

    def say(self, text: str) -> None:
        """Prints the line."""
        print(text, file=self.stream, flush=True)

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """Prints step and numbers."""
        self.say(f"step {step}/{self.num_train_steps}  {format_values(values)}")


def format_values(values: Mapping[str, float]) -> str:
    """`loss 2.345  rows 25,830`: four significant digits, and whole numbers in full.

    What is no number, a histogram, is left out.
    """
    numbers = {n: v for n, v in values.items() if isinstance(v, float | int)}
    return "  ".join(f"{name} {_written(value)}" for name, value in numbers.items())


def _written(value: float) -> str:
    # Past 2**53 a float cannot tell whole numbers apart.
    whole = abs(value) <= 2**53 and float(value).is_integer()
    return f"{int(value):,}" if whole else f"{value:.4g}"


def compute_states(
    metrics: Mapping[str, Metric], context: Context, *, where: str = "metrics"
) -> dict[str, State]:
    """Each metric's state of a step's context, by name.

    A metric finds the states of those before it in the context, as `metrics.NAME`.

    Args:
      metrics: By name.
      context: The step's.
      where: The config path of `metrics`, for messages.
    """
    states: dict[str, State] = {}
    for name, metric in metrics.items():
        states[name] = metric(
            {**context, "metrics": states}, where=f"{where}[{name!r}]"
        )
    return states


def only_if(wanted: jax.Array | bool, compute: Callable[[], Any]) -> Any:
    """What `compute` gives where it is wanted; zeros, for nothing, elsewhere.

    Args:
      wanted: [] bool, known on the devices alone; or True.
      compute: Makes a tree of arrays; traced twice, and run where it is wanted.
    """
    if wanted is True:
        return compute()
    like = jax.eval_shape(compute)
    return jax.lax.cond(
        wanted,
        compute,
        lambda: jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), like),
    )


def merge_states(
    metrics: Mapping[str, Metric],
    states: Mapping[str, State] | None,
    more: Mapping[str, State],
) -> dict[str, State]:
    """The states of what two are of together, by name; None stands for nothing yet."""
    if states is None:
        return dict(more)
    return {
        name: metric.merge(states[name], more[name]) for name, metric in metrics.items()
    }


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Packed:
    """All arrays of a tree in one: it goes to the host in a fraction of the time.

    Attributes:
      values: `[n]` float32: the leaves one after another.
      structure: The tree's.
      shapes: The shape of each leaf.
    """

    values: Any
    structure: Any = dataclasses.field(metadata={"static": True})
    shapes: tuple[tuple[int, ...], ...] = dataclasses.field(metadata={"static": True})

    def unpack(self) -> Any:
        """The tree, of NumPy arrays; waits for the devices."""
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in self.shapes])
        parts = np.split(np.asarray(self.values), ends[:-1])
        leaves = [a.reshape(shape) for a, shape in zip(parts, self.shapes, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)


def pack_states(tree: Any) -> Packed:
    """A tree of float32 arrays as one array."""
    leaves, structure = jax.tree.flatten(tree)
    return Packed(
        values=jnp.concatenate([leaf.reshape(-1) for leaf in leaves]),
        structure=structure,
        shapes=tuple(leaf.shape for leaf in leaves),
    )


def results(
    metrics: Mapping[str, Metric], states: Mapping[str, State]
) -> dict[str, Any]:
    """What each state comes to, by name."""
    return {name: metric.result(states[name]) for name, metric in metrics.items()}


def batch_gradient(
    objective: Callable[..., Any],
    params: Any,
    model_state: Any,
    batch: Any,
    rng: jax.Array,
) -> tuple[jax.Array, Any, dict[str, Any], Any]:
    """What is minimized, its gradient, the context, and the model's other variables."""
    (value, (context, model_state)), grads = jax.value_and_grad(
        objective, has_aux=True
    )(params, model_state, batch, rng, None)
    return value, grads, context, model_state


class Updated(NamedTuple):
    """What an update made.

    Attributes:
      kept: Fields of the next `TrainState`.
      updates: What was added to the parameters.
      grads: The gradient of the loss.
      grad_norm: Its norm over all parameters, [] float32.
      failed: Whether loss or gradient were not finite, [] bool.
      made: How many updates were made before this one, [] int32.
      left_out: How many steps made none: 0.
      reported: What a step reports beside what every step does: nothing.
    """

    kept: dict[str, Any]
    updates: Any
    grads: Any
    grad_norm: jax.Array
    failed: jax.Array
    made: jax.Array
    left_out: int = 0
    reported: tuple[jax.Array, ...] = ()

    def counted(self, number: jax.Array) -> jax.Array:
        """A number of this step as a sum takes it up."""
        return number


def make_update(
    optimizer: optax.GradientTransformation,
    state: TrainState,
    *,
    loss: jax.Array,
    grads: Any,
    model_state: Any,
) -> Updated:
    """One update of the state, of the gradient of the loss."""
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    grad_norm = optax.tree.norm(grads)
    return Updated(
        kept={"params": params, "opt_state": opt_state, "model_state": model_state},
        updates=updates,
        grads=grads,
        grad_norm=grad_norm,
        failed=~(jnp.isfinite(loss) & jnp.isfinite(grad_norm)),
        made=state.step,
    )


Batch = Mapping[str, Any]
Schedule = Callable[[jax.Array], jax.Array]

# What `TrainState.window` sums up in every run. A vector: one more scalar in a step's
# arguments costs more than all of this arithmetic.
WINDOW = ("steps", "loss", "grad_norm", "elements", "first_nonfinite")

# The schedule that follows the optimizer's own count of its updates.
RATE = "learning_rate"


def window_names(losses: Collection[str]) -> tuple[str, ...]:
    """What `TrainState.window` sums up: `WINDOW`, and losses where they are several."""
    several = losses if len(losses) > 1 else ()
    return (*WINDOW, *(f"losses/{name}" for name in several))


def report_names(
    losses: Collection[str], schedules: Collection[str]
) -> tuple[str, ...]:
    """What a step reports, in its order, before `update_reports`."""
    return (*window_names(losses), "param_norm", "stop_votes", *schedules)


def logged(losses: Collection[str], schedules: Collection[str]) -> tuple[str, ...]:
    """The entries of a report that are shown to people, in their order."""
    several = window_names(losses)[len(WINDOW) :]
    return ("loss", *several, "grad_norm", *schedules, "param_norm")


def initial_state(
    variables: Mapping[str, Any],
    optimizer: optax.GradientTransformation,
    losses: Collection[str],
) -> TrainState:
    """The state before step 1, from what a model's `init` makes.

    Args:
      variables: Boxed or bare.
      optimizer: Makes its own state.
      losses: The names of the losses.
    """
    bare = dict(nn.meta.unbox(variables))
    params = bare.pop("params", {})
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        model_state=bare,
        opt_state=optimizer.init(params),
        window=jnp.zeros(len(window_names(losses)), jnp.float32),
    )


def make_train_step(
    model: LinenModel,
    losses: Mapping[str, Loss],
    optimizer: optax.GradientTransformation,
    *,
    inputs: Mapping[str, str],
    schedules: Mapping[str, Schedule | float],
    log_every: int,
    num_train_steps: int,
    seed: int,
) -> Callable[..., tuple[TrainState, jax.Array, Any]]:
    """The function `(state, batch, votes=None) -> (state, report, measured)`.

    `report` is `[len(report_names)]` float32: means over the window that began after
    the last multiple of `log_every`, the number of steps in it, the sum of `elements`
    (the weights of the first loss), which step of it (from 1) was the first with a loss
    or gradient that is not finite (0: none), what only a log point needs, else 0, and
    the largest of `votes`: each process's wish to stop, `[devices]` int32, so that all
    of them learn of it at the same step. Of `schedules` it has the values that this
    update was made with.

    Args:
      model: The model.
      losses: By name; what is minimized is the sum of weight times mean.
      optimizer: What makes an update of a gradient.
      inputs: The model's arguments by name, as key paths.
      schedules: Functions of the step (or numbers) to be reported, by name.
      log_every: Steps between log points.
      num_train_steps: The last step, which is a log point too.
      seed: Of dropout.
    """

    def train_step(
        state: TrainState, batch: Batch, votes: jax.Array | None = None
    ) -> tuple[TrainState, jax.Array, Any]:
        rng = jax.random.fold_in(jax.random.key(seed), state.step)

        def objective(
            params: Any, model_state: Any, rows: Batch, key: jax.Array, counts: Any
        ) -> tuple[jax.Array, Any]:
            context, model_state = forward(
                model,
                losses,
                inputs,
                variables={"params": params, **model_state},
                batch=rows,
                step=state.step,
                rngs={"dropout": key},
            )
            loss = total_loss(context["losses"], counts)
            return loss, (context, model_state)

        loss, grads, context, model_state = batch_gradient(
            objective, state.params, state.model_state, batch, rng
        )
        new_window = state.step % log_every == 0
        done = make_update(
            optimizer, state, loss=loss, grads=grads, model_state=model_state
        )
        params = done.kept["params"]
        step = state.step + 1

        window = jnp.where(new_window, 0.0, state.window)
        steps = window[0] + 1
        newly = done.failed & (window[WINDOW.index("first_nonfinite")] == 0)
        # JAX has put them into the order of their names.
        first, *others = found = [context["losses"][name] for name in losses]
        means = [one.mean() for one in found] if others else []
        window += jnp.stack(
            [
                jnp.float32(1),
                done.counted(loss),
                done.counted(done.grad_norm),
                jnp.sum(first.weights),
                jnp.where(newly, steps, 0.0),
                *map(done.counted, means),
            ]
        )
        at_log_point: jax.Array | bool = True
        if log_every > 1:
            at_log_point = (step % log_every == 0) | (step == num_train_steps)
        # One branch for all of it: each has its cost also where it is not taken.
        param_norm, measured = only_if(
            at_log_point,
            lambda: (
                optax.tree.norm(params).astype(jnp.float32),
                None,
            ),
        )
        counted = steps - done.left_out
        report = jnp.concatenate(
            [
                window[:1],
                window[1:3] / counted,
                window[3:5],
                window[5:] / counted,
                jnp.stack(
                    [
                        param_norm,
                        jnp.float32(0) if votes is None else jnp.max(votes),
                        *(
                            _value(rate, done.made if name == RATE else state.step)
                            for name, rate in schedules.items()
                        ),
                        *done.reported,
                    ]
                ),
            ]
        )
        state = TrainState(step=step, window=window, **done.kept)
        return state, report, measured

    return train_step


def _value(rate: Schedule | float, step: jax.Array) -> jax.Array:
    """What a schedule, or a number, says of a step, [] float32."""
    return jnp.asarray(rate(step) if callable(rate) else rate, jnp.float32)


def make_eval_step(
    model: LinenModel,
    losses: Mapping[str, Loss],
    *,
    inputs: Mapping[str, str],
    metrics: Mapping[str, Metric],
    where: str = "metrics",
) -> Callable[..., Packed]:
    """The function `(params, model_state, batch, step) -> Packed`.

    What is packed are the metrics' states of this batch, by name. `step` is the number
    of updates that were made, [] int32, for losses whose weight is a schedule. `where`
    is the config path of the metrics, for messages.
    """

    def eval_step(
        params: Any, model_state: Any, batch: Batch, step: jax.Array
    ) -> Packed:
        context, _ = forward(
            model,
            losses,
            inputs,
            variables={"params": params, **model_state},
            batch=batch,
            step=step,
            rngs={},
        )
        return pack_states(compute_states(metrics, context, where=where))

    return eval_step


class Stop:
    """Somebody else sets it (a signal handler); the loop only reads it.

    Attributes:
      signal: The number of the signal that asked, or None.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def request(self, signal: int) -> None:
        """Asks the run to end after the current step, with a checkpoint."""
        self.signal = signal


def token_inputs() -> dict[str, str]:
    """The inputs of a language model."""
    return {"tokens": "batch.tokens"}


def mean_loss() -> dict[str, Metric]:
    """The metrics that every experiment has: its loss."""
    return {"loss": MeanLoss()}


class Setup:
    """The functions of a run and where their arrays live.

    Attributes:
      state: The training state's shapes.
      shardings: A `NamedSharding` for each of its arrays.
      batch_sharding: The layout of every array of a batch.
    """

    def __init__(self, trainer: Trainer):
        model = (
            LinenModel(trainer.model)
            if isinstance(trainer.model, nn.Module)
            else trainer.model
        )
        self._mesh = trainer.mesh.make()
        self._rules = tuple(trainer.rules)
        self._trainer = trainer
        losses = trainer.losses

        def variables_of(inputs: Any) -> Any:
            return model.init(jax.random.key(trainer.seed), inputs)

        def init(inputs: Any) -> TrainState:
            return initial_state(variables_of(inputs), trainer.optimizer, tuple(losses))

        self._init = init
        self._train_step = make_train_step(
            model,
            losses,
            trainer.optimizer,
            inputs=trainer.inputs,
            schedules=trainer.all_schedules,
            log_every=trainer.log_every,
            num_train_steps=trainer.num_train_steps,
            seed=trainer.seed,
        )
        self._eval_step = make_eval_step(
            model, losses, inputs=trainer.inputs, metrics=trainer.metrics
        )
        self._batch = abstract_batch(trainer.train_data)
        context = {"batch": self._batch, "step": step_spec()}
        self._inputs = model_inputs(trainer.inputs, context)
        with self._around():
            boxed = dict(jax.eval_shape(variables_of, self._inputs))
            self.state = jax.eval_shape(self._init, self._inputs)
        specs = spec_tree(boxed, self._rules)
        params = specs.pop("params", {})
        layout = TrainState(
            step=PartitionSpec(),
            params=params,
            model_state=specs,
            opt_state=like_parameters(self.state.opt_state, self.state.params, params),
            window=PartitionSpec(),
        )
        self.shardings = named(layout, self._mesh)
        batch_spec = mesh_spec(("batch",), self._rules)
        self.batch_sharding = NamedSharding(self._mesh, batch_spec)
        self._replicated = NamedSharding(self._mesh, PartitionSpec())

    def init_state(self) -> TrainState:
        """The state before step 1; every array is made where it will live."""
        inputs = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), self._inputs)
        with self._around():
            return jax.jit(self._init, out_shardings=self.shardings)(inputs)

    def lower_train_step(self) -> Any:
        """The lowered training step; its state argument is donated."""
        with self._around():
            return jax.jit(
                self._train_step,
                donate_argnums=0,
                in_shardings=(self.shardings, self.batch_sharding, None),
                out_shardings=(self.shardings, self._replicated, self._replicated),
            ).lower(self.state, self._batch, None)

    def lower_eval_step(self) -> Any:
        """The lowered evaluation step."""
        assert self._trainer.eval_data is not None
        with self._around():
            return jax.jit(
                self._eval_step,
                in_shardings=(
                    self.shardings.eval_params,
                    self.shardings.model_state,
                    self.batch_sharding,
                    self._replicated,
                ),
                out_shardings=self._replicated,
            ).lower(
                self.state.eval_params,
                self.state.model_state,
                abstract_batch(self._trainer.eval_data),
                step_spec(),
            )

    @contextlib.contextmanager
    def _around(self) -> Iterator[None]:
        """Traces under the mesh and the logical axis rules."""
        with jax.set_mesh(self._mesh), nn.logical_axis_rules(self._rules):
            yield


def abstract_batch(pipeline: Pipeline) -> Mapping[str, jax.ShapeDtypeStruct]:
    """The shapes of a pipeline's batches."""
    return {
        name: jax.ShapeDtypeStruct(array.shape, array.dtype)
        for name, array in pipeline.spec().items()
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended: at which step, and whether that is the last."""

    step: int
    finished: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trainer:
    """Trains a model on batches; stops and goes on to the same bits.

    Attributes:
      model: A Flax Linen module.
      train_data: Training batches.
      optimizer: An Optax transformation.
      num_train_steps: How many updates the run makes.
      loss: What is minimized: a loss, or several by name, summed.
      inputs: The model's arguments by name, and where in the batch they are.
      eval_data: Held-out batches; None: no evaluation.
      metrics: What an evaluation reports, by name.
      learning_rate: What the optimizer was given as its own, to be logged.
      mesh: The device mesh.
      rules: What mesh axes a logical axis is cut over.
      log_every: Steps between log points; what is logged is a mean over them.
      eval_every: Steps between evaluations; None: only after the last step.
      checkpoints: When checkpoints are saved and how many stay.
      seed: Of initial values and dropout.
    """

    model: Any
    train_data: Pipeline
    optimizer: optax.GradientTransformation
    num_train_steps: int
    loss: Loss | Mapping[str, Loss] = CrossEntropy()
    inputs: Mapping[str, str] = dataclasses.field(default_factory=token_inputs)
    eval_data: Pipeline | None = None
    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=mean_loss)
    learning_rate: Schedule | float | None = None
    mesh: Mesh = Mesh()
    rules: AxisRules = DEFAULT_RULES
    log_every: int = 100
    eval_every: int | None = None
    checkpoints: CheckpointPolicy = CheckpointPolicy()
    seed: int = 0

    @property
    def losses(self) -> Mapping[str, Loss]:
        """The losses by name; a single one is named `loss`."""
        return named_losses(self.loss)

    @property
    def all_schedules(self) -> dict[str, Schedule | float]:
        """What follows the step and is logged, by the name under which it is."""
        rate = self.learning_rate
        return {} if rate is None else {"learning_rate": rate}

    @functools.cached_property
    def setup(self) -> Setup:
        """Shapes, layout and functions of the run on the devices that are there."""
        return Setup(self)

    def train(self, workdir: str, *, stop: Stop, progress: LineProgress) -> Result:
        """Runs, or goes on with the run in `workdir`, to `num_train_steps`.

        Raises:
          RunFailedError: A loss or gradient was not finite.
        """
        folder = epath.Path(workdir)
        setup = self.setup
        batches = self.train_data.batches(
            default_seed=derived_seed(self.seed, "train_data")
        )
        with Checkpoints(folder / "checkpoints", self.checkpoints) as checkpoints:
            step = checkpoints.last_step or 0
            if checkpoints.last_step is None:
                state = setup.init_state()
            else:
                state, position = checkpoints.restore(
                    step, like=setup.state, shardings=setup.shardings
                )
                batches.set_state(position)
                progress.say(f"resumed from step {step} in {workdir}")
            metrics = MetricsFile(folder / "metrics.jsonl", step)

            def tell(values: Mapping[str, float]) -> None:
                metrics.write(step, values)
                progress.update(step, values)

            if self._evaluates_at(step) and not metrics.is_evaluated(step):
                tell(self._evaluate(state))
            if step < self.num_train_steps:
                train_step = setup.lower_train_step().compile()
            unit = next(iter(self.losses.values())).unit
            report, began, timed = None, time.perf_counter(), step
            while step < self.num_train_steps and stop.signal is None:
                # The devices are at work on the step before while this is read.
                rows = next(batches, None)
                if rows is None:
                    raise RunFailedError(f"the training data ends after {step} batches")
                batch = jax.device_put(rows, setup.batch_sharding)
                jax.block_until_ready(report)
                made = train_step(state, batch, None)
                state, report = made[:2]
                step += 1
                if step % self.log_every == 0 or step == self.num_train_steps:
                    values = self._checked(step, report)
                    now = time.perf_counter()
                    rate = (step - timed) / (now - began)
                    elements = rate * values["elements"] / values["steps"]
                    names = logged(self.losses, self.all_schedules)
                    told = {name: values[name] for name in names}
                    tell(told | {"steps_per_sec": rate, f"{unit}_per_sec": elements})
                    began, timed = now, step
                if self._evaluates_at(step):
                    tell(self._evaluate(state))
                    began, timed = time.perf_counter(), step
                if step % self.checkpoints.every == 0:
                    self._checked(step, report)
                    checkpoints.save(state, batches.get_state(), step=step)
            if step != checkpoints.last_step:
                if report is not None:
                    self._checked(step, report)
                checkpoints.save(state, batches.get_state(), step=step)
            metrics.close()
        return Result(step=step, finished=step >= self.num_train_steps)

    def _checked(self, step: int, report: jax.Array) -> dict[str, float]:
        """A step's report by name; refuses numbers that are not finite."""
        names = report_names(self.losses, self.all_schedules)
        values = dict(zip(names, np.asarray(report).tolist(), strict=True))
        if values["first_nonfinite"]:
            bad = step - int(values["steps"]) + int(values["first_nonfinite"])
            raise RunFailedError(
                f"the loss or its gradient is not finite at step {bad}",
                "what to try: a lower learning rate, a longer warm-up, clipping",
            )
        return values

    def _evaluates_at(self, step: int) -> bool:
        """Whether the state after this step is evaluated."""
        if self.eval_data is None or step == 0:
            return False
        periodic = self.eval_every is not None and step % self.eval_every == 0
        return periodic or step == self.num_train_steps

    def _evaluate(self, state: TrainState) -> dict[str, float]:
        """Each metric over the whole set."""
        data = self.eval_data
        assert data is not None and data.num_epochs is not None
        totals = None
        seed = derived_seed(self.seed, "eval_data")
        for rows in data.batches(default_seed=seed):
            batch = jax.device_put(rows, self.setup.batch_sharding)
            packed = self._eval_step(
                state.eval_params, state.model_state, batch, state.step
            )
            totals = merge_states(self.metrics, totals, packed.unpack())
        numbers = {} if totals is None else results(self.metrics, totals)
        seen = data.batch_size * (data.num_batches or 0)
        numbers["rows"] = min(seen, data.num_epochs * data.num_examples)
        return {f"eval/{name}": number for name, number in numbers.items()}

    @functools.cached_property
    def _eval_step(self) -> Any:
        return self.setup.lower_eval_step().compile()


# The experiment
# --------------


def experiment(*, num_train_steps: int = 1500, seed: int = 0) -> Trainer:
    """About a million parameters; five minutes on two CPU cores."""
    vocab_size = 256
    hidden = 128
    tokenizer = ByteTokenizer()
    learning_rate = optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=0.003,
        warmup_steps=num_train_steps // 20,
        decay_steps=num_train_steps,
        end_value=0.0003,
    )
    return Trainer(
        model=Transformer(
            vocab_size=vocab_size,
            hidden=hidden,
            embed=Embed(vocab_size=vocab_size, features=hidden),
            output=Embed(vocab_size=vocab_size, features=hidden),
            layers=Repeat(
                block=Block(
                    attention=SelfAttention(features=hidden, num_heads=4),
                    mlp=Mlp(features=hidden, width=hidden * 4),
                ),
                n=4,
            ),
        ),
        train_data=Pipeline(
            source=TokenWindows(
                corpus=StdlibCorpus(split="train"), tokenizer=tokenizer, length=128
            ),
            batch_size=8,
            shuffle=True,
            num_epochs=None,
            seed=0,
            remainder="drop",
        ),
        optimizer=optax.chain(
            optax.clip_by_global_norm(max_norm=1.0),
            optax.adamw(learning_rate=learning_rate, b2=0.98, weight_decay=0.1),
        ),
        num_train_steps=num_train_steps,
        loss=CrossEntropy(),
        inputs={"tokens": "batch.tokens"},
        eval_data=Pipeline(
            source=TokenWindows(
                corpus=StdlibCorpus(split="eval"), tokenizer=tokenizer, length=128
            ),
            batch_size=64,
            shuffle=False,
            num_epochs=1,
            seed=0,
            remainder="pad",
        ),
        metrics={"loss": MeanLoss(), "bits_per_byte": BitsPerByte(tokenizer=tokenizer)},
        learning_rate=learning_rate,
        mesh=Mesh(ici=MeshAxes(data=-1)),
        log_every=100,
        eval_every=750,
        checkpoints=CheckpointPolicy(every=500, keep=3),
        seed=seed,
    )


def main(make_trainer: Callable[..., Trainer]) -> int:
    """Trains, or goes on with the run in the workdir.

    Returns:
      The exit code: 0 at the end; 75 after SIGTERM and 130 after Ctrl-C, which leave a
      checkpoint: started again, the run goes on from there.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True, help="the run's folder")
    parser.add_argument("--steps", type=int, help="how many updates to make")
    parser.add_argument("--seed", type=int, help="of initial values and dropout")
    flags = parser.parse_args()
    given = {"num_train_steps": flags.steps, "seed": flags.seed}
    stop = Stop()

    def heed(number: int, _: object) -> None:
        stop.request(number)
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once

    signal.signal(signal.SIGTERM, heed)
    signal.signal(signal.SIGINT, heed)
    try:
        trainer = make_trainer(**{k: v for k, v in given.items() if v is not None})
        progress = LineProgress(
            stream=sys.stderr, num_train_steps=trainer.num_train_steps
        )
        result = trainer.train(flags.workdir, stop=stop, progress=progress)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if result.finished:
        return 0
    progress.say(f"stopped at step {result.step}; the same command goes on from there")
    return 130 if stop.signal == signal.SIGINT else 75


if __name__ == "__main__":
    sys.exit(main(experiment))
