"""How fast a run is: steps, elements, FLOPs per second, share of the peak."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any

import jax

from fdlkit.nn.pipelining import share_of_use

# Dense bfloat16 FLOP/s of one device, by `device_kind` prefix; from the makers'
# data sheets (NVIDIA's without sparsity).
PEAK_FLOPS: Mapping[str, float] = {
    "TPU v4": 275e12,
    "TPU v5 lite": 197e12,
    "TPU v5e": 197e12,
    "TPU v5": 459e12,
    "TPU v6": 918e12,
    "NVIDIA A100": 312e12,
    "NVIDIA H100": 989e12,
    "NVIDIA H200": 989e12,
}


def peak_flops(device_kind: str) -> float | None:
    """The peak of one device, where it is known."""
    for prefix, peak in PEAK_FLOPS.items():
        if device_kind.startswith(prefix):
            return peak
    return None


def count_flops(jaxpr: Any) -> int:
    """FLOPs of the matrix products and convolutions of a program.

    A multiply-add is two; a loop's body counts as often as it runs; element-wise
    work is left out, as is the custom in model-FLOPs utilisation (PaLM, appendix
    B). Of a `cond`, the dearest branch counts; of a pipeline, not its bubble.

    Args:
      jaxpr: A closed or open jaxpr.
    """
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    total = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == "dot_general":
            (contracting, _), _ = eqn.params["dimension_numbers"]
            shape = eqn.invars[0].aval.shape
            depth = math.prod(shape[dim] for dim in contracting)
            total += 2 * math.prod(eqn.outvars[0].aval.shape) * depth
        elif name == "conv_general_dilated":
            kernel = eqn.invars[1].aval.shape
            features = kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
            per_output = math.prod(kernel) // features
            total += 2 * math.prod(eqn.outvars[0].aval.shape) * per_output
        elif name == "cond":
            total += max(count_flops(branch) for branch in eqn.params["branches"])
        else:
            times = 1
            if name == "scan":
                share = share_of_use(str(eqn.source_info.name_stack))
                times = round(eqn.params["length"] * share)
            inner = [
                value
                for value in eqn.params.values()
                if hasattr(value, "eqns") or hasattr(value, "jaxpr")
            ]
            total += times * sum(count_flops(program) for program in inner)
    return total


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepCost:
    """What one training step computes.

    Attributes:
      flops: Model FLOPs of a step on all devices: three times the forward pass,
        recomputation under rematerialisation not counted.
      device_kind: As JAX names it.
      num_devices: In the mesh.
      unit: What an element of the loss is, in the plural.
    """

    flops: int
    device_kind: str
    num_devices: int
    unit: str


class Clock:
    """Turns log points into rates, leaving out what is not training.

    The clock starts when the first step of this process has finished, so neither
    compilation nor the first steps count.
    """

    def __init__(self, cost: StepCost):
        self._cost = cost
        self._peak = peak_flops(cost.device_kind)
        self._note: str | None = None
        if self._peak is not None:
            self._note = (
                f"mfu is the share of {self._peak / 1e12:g} TFLOP/s, the bfloat16 peak "
                f"of one {cost.device_kind}"
            )
        self._mark: tuple[int, float] | None = None
        self._away = 0.0
        self._steps_per_sec: float | None = None

    def start(self, step: int) -> None:
        """The step that just finished is where counting begins."""
        self._mark = (step, time.perf_counter())
        self._away = 0.0

    @property
    def started(self) -> bool:
        """Whether a first step has finished."""
        return self._mark is not None

    def leave_out(self, seconds: float) -> None:
        """Time that went to evaluation or saving."""
        self._away += seconds

    def measure(self, step: int) -> None:
        """This step has just finished: the rate since the last such call."""
        if self._mark is None or step <= self._mark[0]:
            return
        seconds = time.perf_counter() - self._mark[1] - self._away
        self._steps_per_sec = (step - self._mark[0]) / max(seconds, 1e-9)
        self.start(step)

    def rates(self, *, elements_per_step: float) -> dict[str, float]:
        """Rates as last measured, in units per second.

        Returns:
          `steps_per_sec`, `<unit>_per_sec`, `tflops_per_sec` (of all devices) and,
          where the device's peak is known, `mfu`; nothing where no step was timed.
          A rate over the peak shows that the noted peak is wrong: it gives no `mfu`,
          then or later.
        """
        if self._steps_per_sec is None:
            return {}
        flops = self._cost.flops * self._steps_per_sec
        rates = {
            "steps_per_sec": self._steps_per_sec,
            f"{self._cost.unit}_per_sec": elements_per_step * self._steps_per_sec,
            "tflops_per_sec": flops / 1e12,
        }
        if self._peak is not None:
            per_device = flops / self._cost.num_devices
            if per_device <= self._peak:
                rates["mfu"] = per_device / self._peak
            else:
                self._note = (
                    f"{per_device / 1e12:g} TFLOP/s is over the peak of "
                    f"{self._peak / 1e12:g} TFLOP/s noted for {self._cost.device_kind} "
                    "(bfloat16): that peak is wrong, so no mfu is logged"
                )
                self._peak = None
        return rates

    def take_note(self) -> str | None:
        """What is to be said of the peak, once; None if nothing is left to say."""
        note, self._note = self._note, None
        return note


def device_kind_of(mesh: jax.sharding.Mesh) -> str:
    """The kind of the mesh's devices, as JAX names it."""
    return mesh.devices.flat[0].device_kind
