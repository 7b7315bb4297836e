"""Objects of JAX's frameworks: what a config should hold the recipe of, not them."""

from __future__ import annotations

import inspect
import sys

# Base classes by the module that is loaded wherever there are instances of them, so
# that nothing is imported to ask. The first that fits names the object.
_KINDS = (
    ("flax.linen", "Module", "a Flax module"),
    ("flax.nnx", "Module", "an NNX module"),
    ("flax.nnx", "Pytree", "an NNX object"),
    ("flax.nnx", "Variable", "an NNX variable"),
    ("flax.nnx", "State", "an NNX state"),
    ("flax.training.train_state", "TrainState", "a train state"),
    ("optax", "GradientTransformation", "an Optax transformation"),
    ("optax", "MultiSteps", "an Optax transformation"),
)


def kind(of: type) -> str | None:
    """`a Flax module` for a class of a framework's objects; None for any other."""
    for module, name, what in _KINDS:
        base = getattr(sys.modules.get(module), name, None)
        if inspect.isclass(base) and issubclass(of, base):
            return what
    return None
