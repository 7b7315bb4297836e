"""Evaluation of the state on held-out data, exact over a ragged last batch."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.train.feed import Feed
from fdlkit.train.state import TrainState
from fdlkit.train.stop import Stop


class EvaluationStoppedError(Exception):
    """The run was asked to stop while it was evaluating."""


def evaluate(
    step: Callable[..., jax.Array],
    state: TrainState,
    pipeline: Pipeline,
    *,
    feed: Feed,
    names: Sequence[str],
    stop: Stop,
    in_flight: int,
) -> dict[str, float]:
    """One pass over the pipeline.

    Args:
      step: The compiled evaluation step; `[metrics, 2]` for each batch.
      state: The state whose parameters are evaluated.
      pipeline: The data; read from its beginning.
      feed: Puts its batches on the devices.
      names: The metrics' names, in the step's order.
      stop: Looked at before each batch.
      in_flight: How many batches the devices may have before them.

    Returns:
      Each metric over the whole set: sums in float64, one division at the end.

    Raises:
      EvaluationStoppedError: `stop` was requested.
    """
    totals = np.zeros((len(names), 2))
    pending: collections.deque[jax.Array] = collections.deque()
    batches = pipeline.batches(rows=feed.rows)
    try:
        for batch in batches:
            if stop.signal is not None:
                raise EvaluationStoppedError
            sums = step(state.params, state.model_state, feed.place(batch))
            pending.append(sums)
            while len(pending) >= in_flight:
                # Reading waits for one device; the others must be done as well, or
                # two programs are in flight on those.
                oldest = pending.popleft().block_until_ready()
                totals += np.asarray(oldest, np.float64)
    finally:
        batches.close()
    for sums in pending:
        totals += np.asarray(sums, np.float64)
    return {
        name: _ratio(numerator, denominator)
        for name, (numerator, denominator) in zip(names, totals, strict=True)
    }


def _ratio(numerator: Any, denominator: Any) -> float:
    return float(numerator / denominator) if denominator else 0.0
