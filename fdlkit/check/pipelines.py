"""What the axes level says of pipelines: of their stages and microbatches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import flax.linen as nn

from fdlkit.check import module_paths
from fdlkit.graph import paths
from fdlkit.nn.stages import stage_faults
from fdlkit.train.setup import batches_of

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.sharding.layout import AxisRules

CODES = {"misfit": "AX017", "none": "AX018", "idle": "AX019"}


def find(subject: Subject, rules: AxisRules) -> Iterator[Finding]:
    """What is wrong with the stages of a run's model.

    Args:
      subject: The config.
      rules: Its rules, without those that cannot be used.
    """
    trainer, mesh = subject.trainer, subject.mesh
    if trainer is None or mesh is None or not isinstance(trainer.model, nn.Module):
        return
    batches = batches_of(trainer.train_data, trainer.eval_data, trainer.microbatches)
    for fault in stage_faults(trainer.model, mesh=mesh, rules=rules, batches=batches):
        yield subject.finding(
            CODES[fault.kind],
            module_paths.source_of(subject, paths.parse(fault.path)),
            fault.text,
            fix=fault.fix,
            numbers={axis: size for axis, size in mesh.shape.items() if size > 1},
            nearest=fault.nearest,
        )
