"""From a run's folder to its language model, with the variables of a checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import fiddle as fdl
import jax
from etils import epath

from fdlkit import suggest
from fdlkit.check.saved import saved
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.sharding.layout import AxisRules, named, tree_path
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.caching import why_uncached
from fdlkit.train.checkpoints import read_variables, saved_steps
from fdlkit.train.generation import Generator
from fdlkit.train.language import LanguageModel, language_model
from fdlkit.train.models import as_model
from fdlkit.train.sampling import Sampler
from fdlkit.train.setup import state_layout
from fdlkit.train.trainer import Trainer

# Steps that a message lists at most.
_MOST_STEPS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A run's language model as it was at a checkpoint.

    Attributes:
      directory: The run's folder.
      step: The checkpoint's.
      language: The model.
      variables: Its variables, on the devices.
      mesh: The devices.
      rules: What mesh axes a logical axis is cut over.
      notes: What a person should know, a line each.
      why_uncached: Why it is run without a cache; None: it has one.
    """

    directory: str
    step: int
    language: LanguageModel
    variables: Any
    mesh: Any
    rules: AxisRules
    notes: tuple[str, ...] = ()
    why_uncached: str | None = None

    def generator(self, sampler: Sampler) -> Generator:
        """Makes tokens as a sampler says."""
        return Generator(
            language=self.language,
            sampler=sampler,
            mesh=self.mesh,
            rules=self.rules,
            cached=self.why_uncached is None,
        )


def choose_step(directory: str, step: int | None) -> int:
    """The checkpoint that is meant: the newest, unless one is named.

    Raises:
      UserError: There is none yet, or not this one; which ones there are.
    """
    steps = sorted(saved_steps(epath.Path(directory) / "checkpoints"))
    if not steps:
        raise UserError(
            f"the run {directory} has no checkpoint yet",
            "its first is saved after `checkpoints.every` steps, or when it ends",
        )
    if step is None:
        return steps[-1]
    if step not in steps:
        hint = suggest.hint(str(step), list(map(str, steps)))
        shown = [str(s) for s in steps[-_MOST_STEPS:]]
        more = [f"… ({len(steps)} in all)"] if len(steps) > _MOST_STEPS else []
        raise UserError(
            f"the run {directory} has no checkpoint of step {step}",
            *([hint] if hint else []),
            f"steps: {', '.join([*more, *shown])}",
        )
    return step


def open_run(cfg: Any, directory: str, *, step: int | None = None) -> TrainedModel:
    """Builds a run's experiment and reads its model from a checkpoint.

    Of the checkpoint the variables alone are read, not the optimizer's state; no data
    is opened.

    Args:
      cfg: The run's config, a `Trainer`'s.
      directory: The run's folder.
      step: Of the checkpoint; None: the newest.

    Raises:
      UserError: It is no experiment, has no language model or no such checkpoint.
    """
    step = choose_step(directory, step)
    trainer = build_trainer(cfg, directory)
    mesh, notes = mesh_here(trainer.mesh)
    shapes = trainer.shapes(mesh)
    model = as_model(trainer.model)
    like = {"params": shapes.state.params, "model_state": shapes.state.model_state}
    language = language_model(
        model,
        loss=trainer.loss,
        inputs=trainer.inputs,
        data=trainer.train_data,
        variables={"params": like["params"], **like["model_state"]},
    )
    refuse_another_model(directory, step, like)
    layout = state_layout(shapes, trainer.rules)
    read = read_variables(
        epath.Path(directory) / "checkpoints",
        step,
        like=like,
        shardings={
            "params": named(layout.params, mesh),
            "model_state": named(layout.model_state, mesh),
        },
    )
    variables = {"params": read["params"], **(read.get("model_state") or {})}
    return TrainedModel(
        directory=directory,
        step=step,
        language=language,
        variables=variables,
        mesh=mesh,
        rules=trainer.rules,
        notes=tuple(notes),
        why_uncached=why_uncached(language, variables, mesh=mesh, rules=trainer.rules),
    )


def refuse_another_model(directory: str, step: int, like: Mapping[str, Any]) -> None:
    """Compares what a checkpoint says that it holds with what is to be read from it.

    Args:
      directory: The run's folder.
      step: Of the checkpoint.
      like: Abstract arrays of parts of the state, by their names in it.

    Raises:
      UserError: It says nothing, or an array is not there or of another shape.
    """
    folder = epath.Path(directory) / "checkpoints"
    try:
        held = saved(str(folder / str(step))).arrays
    except UserError as error:
        others = sorted(set(saved_steps(folder)) - {step})
        raise UserError(
            f"the checkpoint of step {step} in {directory} is damaged",
            f"other checkpoints: {', '.join(map(str, others)) or 'none'}",
        ) from error
    unlike = []
    for keys, wanted in jax.tree_util.tree_leaves_with_path(dict(like)):
        path, array = tree_path(keys), held.get(tree_path(keys))
        if array is None or array.shape != wanted.shape:
            there = "none" if array is None else f"{list(array.shape)}"
            unlike.append(f"{path}: {there} there, {list(wanted.shape)} here")
    if unlike:
        more = [f"and {len(unlike) - 3} more"] if unlike[3:] else []
        raise UserError(
            f"the checkpoint of step {step} in {directory} is of another model",
            *unlike[:3],
            *more,
            "a run's checkpoints fit the config and the code that it was trained with",
        )


def build_trainer(cfg: Any, directory: str) -> Trainer:
    """Builds a run's config.

    Raises:
      UserError: It cannot be built, or builds something else.
    """
    trainer = None if isinstance(cfg, fdl.Partial) else build(cfg)
    if isinstance(trainer, Trainer):
        return trainer
    kind = type(cfg if trainer is None else trainer).__name__
    raise UserError(
        f"{directory} is not the run of an experiment: its config makes a {kind}",
        "needed: the run of a fdlkit.train.trainer.Trainer",
    )


def mesh_here(mesh: Mesh) -> tuple[Any, list[str]]:
    """The run's mesh if the devices here make it, else one device, and a note."""
    try:
        return mesh.make(), []
    except UserError as error:
        alone = Mesh(ici=MeshAxes()).make(jax.devices()[:1])
        return alone, [f"on one device: {error.lines[0]}"]
