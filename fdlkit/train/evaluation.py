"""Evaluation of the state on held-out data, exact over a ragged last batch."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any

from fdlkit.data.pipeline import Pipeline
from fdlkit.train.feed import Feed
from fdlkit.train.metrics import Metric
from fdlkit.train.state import TrainState
from fdlkit.train.states import Packed, merge_states, results
from fdlkit.train.stop import Stop


class EvaluationStoppedError(Exception):
    """The run was asked to stop while it was evaluating."""


def evaluate(
    step: Callable[..., Packed],
    state: TrainState,
    pipeline: Pipeline,
    *,
    feed: Feed,
    metrics: Mapping[str, Metric],
    stop: Stop,
    in_flight: int,
) -> dict[str, float]:
    """One pass over the pipeline.

    Args:
      step: The compiled evaluation step; the metrics' states for each batch.
      state: The state whose parameters are evaluated.
      pipeline: The data; read from its beginning.
      feed: Puts its batches on the devices.
      metrics: What the states are of, by name.
      stop: Looked at before each batch.
      in_flight: How many batches the devices may have before them.

    Returns:
      Each metric over the whole set; nothing where there is no batch.

    Raises:
      EvaluationStoppedError: `stop` was requested.
    """
    totals: Any = None
    pending: collections.deque[Packed] = collections.deque()
    batches = pipeline.batches(rows=feed.rows)
    try:
        for batch in batches:
            if stop.signal is not None:
                raise EvaluationStoppedError
            packed = step(
                state.params, state.model_state, feed.place(batch), state.step
            )
            pending.append(packed)
            while len(pending) >= in_flight:
                # Reading waits for one device; the others must be done as well, or
                # two programs are in flight on those.
                pending[0].values.block_until_ready()
                totals = merge_states(metrics, totals, pending.popleft().unpack())
    finally:
        batches.close()
    for packed in pending:
        totals = merge_states(metrics, totals, packed.unpack())
    return {} if totals is None else results(metrics, totals)
