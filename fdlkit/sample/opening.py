"""From a run's folder to its language model, with the variables of a checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import fiddle as fdl
import jax
from etils import epath

from fdlkit import suggest
from fdlkit.check.saved import SavedArray, saved
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.sharding.layout import AxisRules, named, tree_path
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.caching import why_uncached
from fdlkit.train.checkpoints import read_variables, saved_steps
from fdlkit.train.generation import TokenGenerator
from fdlkit.train.language import LanguageModel, language_model
from fdlkit.train.models import as_model
from fdlkit.train.sampling import Sampler
from fdlkit.train.setup import state_layout
from fdlkit.train.standalone import Chosen, chosen_step
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

    def generator(self, sampler: Sampler) -> TokenGenerator:
        """Makes tokens as a sampler says."""
        return TokenGenerator(
            language=self.language,
            sampler=sampler,
            mesh=self.mesh,
            rules=self.rules,
            cached=self.why_uncached is None,
        )


def choose_step(directory: str, which: Chosen) -> int:
    """The step of the checkpoint that is meant.

    Args:
      directory: The run's folder.
      which: A step, `last`, or `best`, which the run has noted.

    Raises:
      UserError: There is none yet, or not this one; which ones there are.
    """
    steps = sorted(saved_steps(epath.Path(directory) / "checkpoints"))
    if not steps:
        raise UserError(
            f"the run {directory} has no checkpoint yet",
            "its first is saved after `checkpoints.every` steps, or when it ends",
        )
    step = chosen_step(epath.Path(directory), which) if which == "best" else which
    if step == "last":
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
    return int(step)


def open_run(cfg: Any, directory: str, *, step: Chosen = "last") -> TrainedModel:
    """Builds a run's experiment and reads its model from a checkpoint.

    Of the checkpoint the variables alone are read, not the optimizer's state; no data
    is opened.

    Args:
      cfg: The run's config, a `Trainer`'s.
      directory: The run's folder.
      step: Of the checkpoint, or `last`, or `best`.

    Raises:
      UserError: It is no experiment, has no language model or no such checkpoint.
    """
    step = choose_step(directory, step)
    folder = epath.Path(directory) / "checkpoints"
    trainer = build_trainer(cfg, directory)
    mesh, notes = mesh_here(trainer.mesh)
    shapes = trainer.shapes(mesh)
    model = as_model(trainer.model)
    state = shapes.state
    language = language_model(
        model,
        loss=trainer.losses,
        inputs=trainer.inputs,
        data=trainer.train_data,
        variables={"params": state.params, **state.model_state},
    )
    held = held_arrays(directory, step)
    # What is evaluated: the averages of the parameters, where the run keeps some.
    averaged = state.ema is not None and any(path.startswith("ema/") for path in held)
    params = "ema" if averaged else "params"
    like = {params: getattr(state, params), "model_state": state.model_state}
    refuse_another_model(directory, step, like, held)
    layout = state_layout(shapes, trainer.rules)
    shardings = {part: named(getattr(layout, part), mesh) for part in like}
    read = read_variables(folder, step, like=like, shardings=shardings)
    variables = {"params": read[params], **(read.get("model_state") or {})}
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


def held_arrays(directory: str, step: int) -> Mapping[str, SavedArray]:
    """What a checkpoint says that it holds, by path: `params/embed/embedding`.

    Raises:
      UserError: It says nothing.
    """
    folder = epath.Path(directory) / "checkpoints"
    try:
        return saved(str(folder / str(step))).arrays
    except UserError as error:
        others = sorted(set(saved_steps(folder)) - {step})
        raise UserError(
            f"the checkpoint of step {step} in {directory} is damaged",
            f"other checkpoints: {', '.join(map(str, others)) or 'none'}",
        ) from error


def refuse_another_model(
    directory: str, step: int, like: Mapping[str, Any], held: Mapping[str, SavedArray]
) -> None:
    """Compares what a checkpoint holds with what is to be read from it.

    Args:
      directory: The run's folder.
      step: Of the checkpoint.
      like: Abstract arrays of parts of the state, by their names in it.
      held: What the checkpoint holds.

    Raises:
      UserError: An array is not there, or of another shape.
    """
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
