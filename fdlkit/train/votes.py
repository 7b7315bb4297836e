"""How the processes of one run agree on the step at which to stop."""

from __future__ import annotations

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec


class Votes:
    """Each process's wish, carried by the training step itself.

    A signal reaches the processes at different steps, or only one of them. So each
    gives its wish as an argument of the step, the step's report holds the largest,
    and as all read the reports in the same order, all stop at the same step. With
    one process there is nobody to agree with, and the step has no such argument.

    Attributes:
      several: Whether there are several processes.
      spec: The argument's shape `[devices]`, type and layout; None with one process.
      passed: Whether this run is to stop.
    """

    def __init__(self, mesh: jax.sharding.Mesh):
        self.several = jax.process_count() > 1
        self.passed = False
        self._sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names))
        self._size = mesh.size
        self.spec = None
        self._ballot: jax.Array | None = None
        if self.several:
            self.spec = jax.ShapeDtypeStruct(
                (mesh.size,), np.int32, sharding=self._sharding
            )
            self._ballot = self._filled_with(0)

    def _filled_with(self, wish: int) -> jax.Array:
        return jax.make_array_from_callback(
            (self._size,), self._sharding, lambda _: np.full(1, wish, np.int32)
        )

    def wish_to_stop(self) -> None:
        """This process was asked to stop."""
        if not self.several:
            self.passed = True
        elif not self.passed:
            self._ballot = self._filled_with(1)

    def cast(self) -> jax.Array | None:
        """The step's argument."""
        return self._ballot

    def count(self, largest: float) -> None:
        """Takes the outcome from a step's report."""
        self.passed = self.passed or largest > 0
