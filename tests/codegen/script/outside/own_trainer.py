"""An experiment with a trainer of its own, on top of the shipped one."""

import dataclasses

import fiddle as fdl
import own_loss

from fdlkit.train.trainer import Trainer


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedTrainer(Trainer):
    """A trainer that says what it is for."""

    note: str = ""


def base():
    """The line through points, noted."""
    cfg = own_loss.base()
    fdl.update_callable(cfg, NotedTrainer)
    cfg.note = "a line"
    return cfg
