"""The texts that are kept of a config: its values and, of an experiment, its arrays."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from collections.abc import Iterator
from typing import Any

from fdlkit.graph.model import Graph
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import flat

FORMAT = "fdlkit.golden/1"
_TRAINER = "fdlkit.train.trainer"

_CONFIG = f"# {FORMAT}: a config, a line a value. `fdlkit golden --update` writes it."
_PARAMETERS = f"# {FORMAT}: a model's arrays. `fdlkit golden --update` writes it."


@dataclasses.dataclass(frozen=True)
class Texts:
    """What is kept of a config.

    Attributes:
      config: Every value, library defaults too.
      parameters: Every array of the model with its shape, logical axes and weight
        decay; None for a config that is no experiment.
    """

    config: str
    parameters: str | None


def texts(config: Any) -> Texts:
    """Both texts. Nothing is read and no device is used.

    Raises:
      UserError: An experiment that cannot be built, or that does not fit together.
    """
    graph = snapshot(config)
    lines = [_CONFIG, *map(str, flat.lines(graph))]
    parameters = _parameters(config) if is_experiment(graph) else None
    return Texts(_joined(lines), parameters)


def is_experiment(graph: Graph) -> bool:
    """Whether a config builds a `Trainer`."""
    root = graph.node(graph.root)
    if root is None or root.kind != "config" or root.callable is None:
        return False
    # Whatever refers to the class has loaded its module.
    trainer = getattr(sys.modules.get(_TRAINER), "Trainer", None)
    live = root.callable.live
    return (
        isinstance(trainer, type)
        and isinstance(live, type)
        and (issubclass(live, trainer))
    )


def _parameters(config: Any) -> str:
    from fdlkit.run.parameters import variables

    with _without_devices():
        found = variables(config)
    trained = [v for v in found if v.decay is not None]
    count = sum(math.prod(variable.shape) for variable in trained)
    total = f"<all> = {count:,} parameters in {len(trained)} arrays"
    ordered = sorted(found, key=lambda v: [flat.natural(p) for p in v.path.split("/")])
    return _joined([_PARAMETERS, total, *(f"{v.path} = {v}" for v in ordered)])


@contextlib.contextmanager
def _without_devices() -> Iterator[None]:
    """Keeps an accelerator, which another program may use, out of it."""
    import jax

    try:
        device = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # this process has been told to have no such backend
        yield
        return
    with jax.default_device(device):
        yield


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
