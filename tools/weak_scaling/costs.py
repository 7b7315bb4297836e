"""What a training step costs a chip: closed formulas, no program and no device.

Bytes of an exchange are what one chip receives. Whatever crosses slices as well is done
in two levels: inside each slice over ICI, and of what is then a chip's part over DCN.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Bytes that one chip receives.

    Attributes:
      ici: From chips of its slice.
      dcn: From other slices.
    """

    ici: float = 0.0
    dcn: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.ici + other.ici, self.dcn + other.dcn)

    def __mul__(self, times: float) -> Traffic:
        return Traffic(self.ici * times, self.dcn * times)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The sizes of the axes of a mesh.

    Attributes:
      ici: Inside a slice, by axis; an axis that is not there has size 1.
      dcn: Across slices.
    """

    ici: Mapping[str, int]
    dcn: Mapping[str, int]

    def inside(self, axes: Iterable[str]) -> int:
        """The chips of a slice along some axes."""
        return math.prod(self.ici.get(axis, 1) for axis in axes)

    def across(self, axes: Iterable[str]) -> int:
        """The slices along some axes."""
        return math.prod(self.dcn.get(axis, 1) for axis in axes)

    def parts(self, axes: Iterable[str]) -> int:
        """In how many parts some axes cut an array."""
        axes = tuple(axes)
        return self.inside(axes) * self.across(axes)


@dataclasses.dataclass(frozen=True)
class Array:
    """Parameters that lie alike.

    Attributes:
      elements: How many, of all layers and devices.
      axes: The mesh axes that cut them.
      in_layers: Whether they are the layers', not the embeddings' or the last norm's.
    """

    elements: int
    axes: tuple[str, ...]
    in_layers: bool


def all_gather(size: float, sizes: Sizes, axes: Sequence[str]) -> Traffic:
    """An array that is cut over `axes` is put together on every chip.

    With `n` chips in a slice and `m` slices along the axes: first every chip gets its
    part from the other slices, `(m - 1) / m * size / n`, then all parts from its own
    slice, `(n - 1) / n * size`.

    Args:
      size: Bytes of the whole.
      sizes: The mesh.
      axes: The axes along which it is cut.
    """
    n, m = sizes.inside(axes), sizes.across(axes)
    return Traffic((n - 1) / n * size, (m - 1) / m * size / n)


def reduce_scatter(size: float, sizes: Sizes, axes: Sequence[str]) -> Traffic:
    """Arrays of all chips along `axes` are added, and each chip keeps a part.

    It is `all_gather` backwards, and costs the same.
    """
    return all_gather(size, sizes, axes)


def all_reduce(size: float, sizes: Sizes, axes: Sequence[str]) -> Traffic:
    """Arrays of all chips along `axes` are added, and each chip has the sum.

    `reduce_scatter`, then `all_gather`: the least there is (Patarasuk, Yuan, 2009).
    """
    return reduce_scatter(size, sizes, axes) + all_gather(size, sizes, axes)


def parameter_traffic(
    array: Array, sizes: Sizes, rows: Sequence[str], *, itemsize: int, times: int = 1
) -> Traffic:
    """Parameters for their use, and the gradient on its way back.

    Along the axes that cut parameters *and* rows (`fsdp`) a product needs them whole:
    gathered for the forward and again for the backward pass, and the gradient is
    reduced to the parts (ZeRO-3; Rajbhandari et al., 2020). Along those that cut rows
    alone (`data`) the gradient of each part is added up, once a step. Along those that
    cut parameters alone (`tensor`, `stage`) every chip works with its part.

    Args:
      array: The parameters.
      sizes: The mesh.
      rows: The mesh axes that cut the rows of a batch.
      itemsize: Bytes of an element in what is computed in; gradients are added in it.
      times: How often a step does that: once for each microbatch that is computed.
    """
    shared = [axis for axis in array.axes if axis in rows]
    alone = [axis for axis in rows if axis not in array.axes]
    part = array.elements * itemsize / sizes.parts(array.axes)
    whole = part * sizes.parts(shared)
    gathered = all_gather(whole, sizes, shared) * 2
    reduced = reduce_scatter(whole, sizes, shared)
    return (gathered + reduced) * times + all_reduce(part, sizes, alone)


# Exchanges over `tensor` of a layer: attention and MLP each gather the stream before
# their first product and reduce it after their last; backwards as many. Computed again
# are those that the backward pass reads something of: not the reduction that ends the
# layer, and not attention at all where its output is kept.
FORWARD_EXCHANGES = 4
BACKWARD_EXCHANGES = 4
AGAIN: Mapping[str, int] = {
    "none": 0,
    "save_nothing": 3,
    "full": 3,
    "save_context_and_out_proj": 2,
}


def tensor_traffic(
    sizes: Sizes,
    *,
    tokens: float,
    hidden: int,
    layers: float,
    itemsize: int,
    remat: str,
    vocab_is_cut: bool,
) -> Traffic:
    """The residual stream, gathered over `tensor` before products and reduced after.

    The stream lies cut over `tensor` in `embed` (or whole: then a gather and a
    reduction are one all-reduce, which costs as much). One exchange of it is
    `all_gather(tokens * hidden * itemsize)`. Outside of layers, a table that is cut
    over `tensor` in `vocab` costs one after the lookup, one before the logits, and as
    many backwards; one that is whole costs a gather each way.

    Args:
      sizes: The mesh.
      tokens: Of a step, on one chip's share of rows.
      hidden: The width of the stream.
      layers: On one chip.
      itemsize: Bytes of an element of the stream.
      remat: What the backward pass computes again: a key of `AGAIN`.
      vocab_is_cut: Whether `tensor` cuts the table.
    """
    of_layer = FORWARD_EXCHANGES + AGAIN[remat] + BACKWARD_EXCHANGES
    count = layers * of_layer + (4 if vocab_is_cut else 2)
    return all_gather(tokens * hidden * itemsize, sizes, ["tensor"]) * count


def pipeline_traffic(
    sizes: Sizes, *, iterations: int, microbatch: float, microbatches: int
) -> Traffic:
    """What stages hand on, and the results that come to all of them.

    In every iteration, forward and backward, a stage gets one microbatch from the stage
    before. At the end of the forward pass all stages get all results, and at its
    beginning, backwards, the gradients of what they were given are added: an all-reduce
    over the stages each.

    Args:
      sizes: The mesh.
      iterations: Of the pipeline.
      microbatch: Bytes of what one chip has of the stream of one microbatch.
      microbatches: How many of them.
    """
    if sizes.parts(["stage"]) == 1:
        return Traffic()
    handed = 2 * iterations * microbatch
    # A ring of stages that spans slices is as slow as its hops between them.
    far = sizes.across(["stage"]) > 1
    given = Traffic(0.0, handed) if far else Traffic(handed, 0.0)
    return given + all_reduce(microbatch * microbatches, sizes, ["stage"]) * 2


def activation_bytes(
    *,
    hidden: int,
    width: float,
    heads: float,
    head_dim: int,
    length: int,
    itemsize: int,
) -> float:
    """Bytes to and from HBM for one token in one layer's forward pass, on one chip.

    Each product reads its operands and writes its result once, and all that lies
    between two products is done on the way. With `a = heads * head_dim`: query, key and
    value `hidden + 3a`; scores `2a` in, `heads * length` float32 out; sums of values
    `heads * length + a` in, `a` out; the output `a + hidden`; up `hidden + width`;
    down `width + hidden`.

    Args:
      hidden: The width of the stream.
      width: Of the MLP, of one chip's part.
      heads: Those of one chip.
      head_dim: The width of a head.
      length: Tokens in a row.
      itemsize: Bytes of an element of an activation.
    """
    attention = heads * head_dim
    streams = 4 * hidden + 8 * attention + 2 * width
    return streams * itemsize + heads * length * (4 + itemsize)


def memory_bytes(
    *,
    weights: float,
    state: float,
    forward: float,
    logits: float,
    recomputed: float,
) -> float:
    """Bytes to and from HBM of a step, on one chip.

    Weights are read in the forward pass, for the part of it that is computed again, and
    in the backward pass, and their gradient is written, for each microbatch. The
    update reads all of the state and writes it. Of a product the backward pass makes
    two of the same size, so activations cost two forward passes there.

    Args:
      weights: Bytes that one chip computes with, in the dtype that it computes in.
      times: How many microbatches use them, one after another.
      state: Bytes of parameters and of what the optimizer keeps.
      forward: Bytes of activations of all layers in the forward pass.
      logits: The same of the output layer, which is not computed again.
      recomputed: The share of the forward pass that the backward pass does again.
    """
    passes = 3 + recomputed
    return weights * passes + 2 * state + forward * passes + 3 * logits


def computed_flops(
    traced: float, *, logits: float, copies: float, bubble: float, chips: int
) -> float:
    """FLOPs in the time of which one chip is busy in a step.

    Args:
      traced: What the step's program computes, on all devices, with what it computes
        twice.
      logits: FLOPs of the output layer in it, forward and backward.
      copies: By how many chips each part of the logits is computed: those along axes
        that cut neither rows nor vocabulary.
      bubble: The share of iterations that a stage of a pipeline waits in.
      chips: How many.
    """
    layers = (traced - logits) / (1 - bubble)
    return (layers + copies * logits) / chips
