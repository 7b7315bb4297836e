"""Several processes as one run."""

from __future__ import annotations

import dataclasses

import jax

from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distributed:
    """Where this process stands among those of its run.

    Attributes:
      coordinator: `host:port` of process 0.
      num_processes: How many there are.
      process_id: Which this one is, from 0.
    """

    coordinator: str
    num_processes: int
    process_id: int

    def __post_init__(self) -> None:
        if not 0 <= self.process_id < self.num_processes:
            raise UserError(
                f"--process_id={self.process_id} is none of the "
                f"--num_processes={self.num_processes} processes, counted from 0"
            )


def join(distributed: Distributed) -> None:
    """Connects this process to the others; before any device is used.

    Raises:
      UserError: The coordinator cannot be reached.
    """
    # Without this, CPU processes cannot exchange anything; elsewhere it is not read.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # JAX's own notice of a coming preemption would take SIGTERM away from the handler
    # that saves a checkpoint; the run's processes agree on a stop by `Votes`.
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            distributed.coordinator,
            distributed.num_processes,
            distributed.process_id,
        )
    except (RuntimeError, ValueError, IndexError) as error:
        raise UserError(
            f"process {distributed.process_id} cannot join the run at "
            f"{distributed.coordinator}",
            (str(error) or repr(error)).splitlines()[0],
            f"all {distributed.num_processes} processes need the same --coordinator; "
            "process 0 listens there",
        ) from error


def leave(distributed: Distributed | None) -> None:
    """Disconnects, so that no process waits for one that has ended."""
    if distributed is not None:
        jax.distributed.shutdown()
