"""What an experiment's training step is made of, read off the experiment itself."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

import fdlkit
from fdlkit.check import batches, card, footprint, layouts
from fdlkit.check.layouts import NamedArray
from fdlkit.check.subject import Subject
from fdlkit.check.trace import parameters
from fdlkit.errors import UserError
from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from fdlkit.train.throughput import count_flops
from tools.weak_scaling.costs import AGAIN, Array, Sizes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
    """A training step of a Transformer.

    Attributes:
      name: The experiment's function.
      sizes: Its mesh.
      rows: Of a global batch.
      row_axes: The mesh axes that cut them.
      vocab_axes: The mesh axes that cut the vocabulary.
      length: Tokens in a row.
      num_layers: Of all stages.
      hidden: The width of the residual stream.
      width: Of the MLP.
      num_heads: Of attention; as many key and value heads.
      head_dim: The width of a head.
      vocab_size: The number of tokens.
      itemsize: Bytes of an element in what the layers compute in.
      remat: What the backward pass computes again, by name.
      microbatches: Of the pipeline; 1 without one.
      iterations: Of the pipeline; 1 without one.
      bubble: The share of iterations in which a stage waits.
      model_flops: Three times the matrix products of the forward pass.
      traced_flops: The matrix products of the step's program.
      state: Bytes of parameters and optimizer on one chip.
      arrays: The parameters.
    """

    name: str
    sizes: Sizes
    rows: int
    row_axes: tuple[str, ...]
    vocab_axes: tuple[str, ...]
    length: int
    num_layers: int
    hidden: int
    width: int
    num_heads: int
    head_dim: int
    vocab_size: int
    itemsize: int
    remat: str
    microbatches: int
    iterations: int
    bubble: float
    model_flops: int
    traced_flops: int
    state: int
    arrays: tuple[Array, ...]

    @property
    def slices(self) -> int:
        """How many slices the mesh is laid on."""
        return math.prod(self.sizes.dcn.values())

    @property
    def chips(self) -> int:
        """Of all slices."""
        return math.prod(self.sizes.ici.values()) * self.slices

    @property
    def parameters(self) -> int:
        """How many there are."""
        return sum(array.elements for array in self.arrays)


def read(target: str) -> Workload:
    """The workload of an experiment: built and traced on no device, not compiled.

    Args:
      target: `experiments/c4.py:spmd_1b_adam_4replicas`.

    Raises:
      UserError: It is no experiment, or its model is none that the formulas know.
    """
    subject = Subject(fdlkit.load(target))
    trainer, mesh, shapes = subject.trainer, subject.mesh, subject.shapes
    if trainer is None or mesh is None or shapes is None:
        reason = subject.why_no_experiment and UserError(subject.why_no_experiment)
        raise (
            reason
            or subject.build_error
            or subject.mesh_error
            or subject.shapes_error
            or UserError(f"{target} cannot be built")
        )
    step = subject.trace.step
    if step is None:
        raise UserError(f"{target}: its step cannot be traced; fdlkit check tells why")
    layers, attention, mlp = _parts(target, trainer.model)
    if mesh.shape["context"] > 1 or trainer.microbatches > 1:
        raise UserError(
            f"{target}: there is no formula for a mesh with `context`, nor for "
            "gradients of several microbatches"
        )
    configured = subject.configured_mesh
    assert configured is not None
    sizes = dict(mesh.shape)
    slices = math.prod(subject.across.values())
    ici, dcn = configured.parts(math.prod(sizes.values()), slices)
    held = footprint.footprint(shapes, None, rules=trainer.rules, mesh=sizes)
    pipeline = layers.pipeline
    return Workload(
        name=target.rpartition(":")[2],
        sizes=Sizes(ici, dcn),
        rows=trainer.train_data.batch_size,
        row_axes=batches.axes(trainer.rules),
        vocab_axes=_axes(NamedArray("", (1,), ("vocab",), ()), trainer.rules),
        length=shapes.batch["tokens"].shape[1],
        num_layers=layers.n,
        hidden=trainer.model.hidden,
        width=mlp.width,
        num_heads=attention.num_heads,
        head_dim=attention.head_dim or attention.features // attention.num_heads,
        vocab_size=trainer.model.vocab_size,
        itemsize=jnp.dtype(attention.dtype).itemsize,
        remat=layers.remat,
        microbatches=1 if pipeline is None else pipeline.num_microbatches,
        iterations=1 if pipeline is None else pipeline.num_iterations,
        bubble=0.0 if pipeline is None else pipeline.bubble,
        model_flops=3 * count_flops(card.forward_program(trainer, shapes, mesh)),
        traced_flops=count_flops(step),
        state=held.state,
        arrays=_arrays(shapes, trainer.rules),
    )


def _parts(target: str, model: Any) -> tuple[Repeat, SelfAttention, Mlp]:
    """The stack of layers, and a layer's two halves."""
    layers = model.layers if isinstance(model, Transformer) else None
    block = layers.block if isinstance(layers, Repeat) else None
    if isinstance(layers, Repeat) and isinstance(block, Block):
        attention, mlp = block.attention, block.mlp
        if (
            isinstance(attention, SelfAttention)
            and isinstance(mlp, Mlp)
            and attention.num_kv_heads in (None, attention.num_heads)
            and not mlp.gated
            and layers.remat in AGAIN
            and model.embed is model.output
        ):
            return layers, attention, mlp
    raise UserError(
        f"{target}: the formulas are for a Transformer with one table, and layers that "
        "are a Repeat of a Block of SelfAttention with as many key as query heads and "
        f"an Mlp without a gate, with a remat of {', '.join(AGAIN)}"
    )


def _arrays(shapes: Any, rules: Any) -> tuple[Array, ...]:
    """The parameters, those that lie alike taken together."""
    trained = len(jax.tree.leaves(shapes.state.params))
    found: collections.Counter[tuple[tuple[str, ...], bool]] = collections.Counter()
    named = [one for one in parameters(shapes) if one.path.startswith("params/")]
    assert len(named) == trained
    for one in named:
        in_layers = one.path.startswith("params/layers/")
        found[_axes(one, rules), in_layers] += math.prod(one.shape)
    return tuple(Array(count, *alike) for alike, count in found.items())


def _axes(array: NamedArray, rules: Any) -> tuple[str, ...]:
    return tuple(axis for axes in layouts.dim_axes(array, rules) for axis in axes)
