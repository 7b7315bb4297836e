"""Metrics: states that merge, exact however the rows are cut into batches."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fdlkit.data.tokenizer import Tokenizer
from fdlkit.keys import Key, resolve_keys
from fdlkit.train.losses import Context, Elements, batch_mask

State = Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric:
    """A number (or several) over a data set: a subclass says `state` and `result`.

    `state` is traced into the step and is one batch's share; `merge` and `result` run
    on the host, with numpy, at log points only. Numerators and denominators stay apart
    until `result`, so that ragged batches weigh what they should.

    Attributes:
      mask: Key path of how much each element counts. None: `batch.mask` where a batch
        has one, else all count the same.
    """

    mask: Key | None = None

    def state(self, **read: Any) -> State:
        """One batch's share, a tree of arrays, float32 or int32.

        Args:
          **read: What each `Key` field leads to, by the field's name; `mask` always:
            `[batch, ...]` float32, or None where everything counts.
        """
        raise NotImplementedError(f"{type(self).__name__} says no `state`")

    def merge(self, a: State, b: State) -> State:
        """The state of what `a` and `b` are of, on the host; associative.

        Sums of leaves, in float64 and int64. Another merge than a sum is overridden
        here; leaves come as numpy arrays.
        """
        return jax.tree.map(lambda x, y: widened(x) + widened(y), a, b)

    def result(self, state: State) -> float | Mapping[str, float]:
        """The number that a state comes to, or several by name; on the host."""
        raise NotImplementedError(f"{type(self).__name__} says no `result`")

    def read(self, context: Context, *, where: str) -> dict[str, Any]:
        """The arguments of `state`, from a step's context."""
        read = resolve_keys(self, context, where)
        mask = read.pop("mask", None)
        if mask is None:
            mask = batch_mask(context)
        return read | {"mask": None if mask is None else jnp.asarray(mask, jnp.float32)}

    def __call__(self, context: Context, *, where: str = "metrics") -> State:
        """The state of a step's context; `where` is the config path, for messages."""
        return self.state(**self.read(context, where=where))


def widened(leaf: Any) -> Any:
    """An array of a state as the host adds it up: float64 or int64."""
    array = np.asarray(leaf)
    return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


def ratio(numerator: Any, denominator: Any) -> float:
    """A quotient; 0 where nothing was counted."""
    return float(numerator) / float(denominator) if denominator else 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanLoss(Metric):
    """The mean of a loss over all elements that count.

    Attributes:
      loss: Key path of one loss, `losses.NAME`, or of all (`losses`): then it is the
        total that is trained on, the sum of factor times mean.
    """

    loss: Key = "losses"

    def state(
        self, *, loss: Elements | Mapping[str, Elements], mask: jax.Array | None
    ) -> State:
        """For each loss, `[losses]`: the weighted sum and the sum of weights."""
        del mask  # the weights of a loss have it
        if isinstance(loss, Elements):
            loss = {"loss": loss._replace(factor=jnp.float32(1))}
        return {
            "sum": jnp.stack([e.factor * e.total() for e in loss.values()]),
            "count": jnp.stack([jnp.sum(e.weights) for e in loss.values()]),
        }

    def result(self, state: State) -> float:
        """The mean; the total of the means where there are several."""
        return math.fsum(map(ratio, state["sum"], state["count"]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class BitsPerByte(Metric):
    """Cross-entropy in bits per byte of text, whatever the tokenizer.

    Attributes:
      tokenizer: Says how many bytes of text each token stands for.
      labels: Key path of the predicted tokens, `[batch, time]`.
      loss: Key path of their cross-entropy in nats.
    """

    tokenizer: Tokenizer
    labels: Key = "batch.labels"
    loss: Key = "losses.loss"

    def state(
        self, *, labels: jax.Array, loss: Elements, mask: jax.Array | None
    ) -> State:
        """Bits that the model spends, and bytes of text that they encode."""
        del mask  # the weights of the loss have it
        sizes = jnp.asarray(self.tokenizer.bytes_per_token, jnp.float32)[labels]
        return {
            "bits": loss.total() / math.log(2),
            "bytes": jnp.sum(sizes * loss.weights),
        }

    def result(self, state: State) -> float:
        """Bits per byte."""
        return ratio(state["bits"], state["bytes"])
