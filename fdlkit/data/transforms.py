"""Changes to single examples on their way to a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fdlkit.errors import UserError


@runtime_checkable
class ExampleMap(Protocol):
    """What Grain's `Map` is; said here so that a config does not load Grain."""

    def map(self, element: Any) -> Any:
        """The example that one example becomes."""


@runtime_checkable
class RandomExampleMap(Protocol):
    """What Grain's `RandomMap` is."""

    def random_map(self, element: Any, rng: np.random.Generator) -> Any:
        """The example that one example becomes."""


# A function of one example, or Grain's `Map` or `RandomMap`. Each makes one example
# of one example: a filter would make batch k depend on the batches before it.
Transform: TypeAlias = (
    Callable[[Mapping[str, Any]], Mapping[str, Any]] | ExampleMap | RandomExampleMap
)


def transform_example(
    example: Mapping[str, Any],
    transforms: Sequence[Transform],
    *,
    seed: int,
    position: int,
) -> Mapping[str, Any]:
    """Applies `transforms` in order.

    Args:
      example: Arrays by name, without a batch axis.
      transforms: What to apply.
      seed: The pipeline's seed.
      position: The example's place in the whole run's sequence of examples. It and
        the seed are all that a random transform's generator depends on.

    Returns:
      The last transform's result.
    """
    for number, transform in enumerate(transforms):
        if isinstance(transform, RandomExampleMap):
            generator = np.random.default_rng((seed, position, number))
            example = transform.random_map(example, generator)
        elif isinstance(transform, ExampleMap):
            example = transform.map(example)
        else:
            example = transform(example)
    return example


def check_transforms(transforms: Sequence[Transform]) -> None:
    """Refuses what is not a function of one example.

    Raises:
      UserError: One of them is neither callable nor Grain's `Map` or `RandomMap`.
    """
    grain_maps = (ExampleMap, RandomExampleMap)
    for number, transform in enumerate(transforms):
        if not isinstance(transform, grain_maps) and not callable(transform):
            raise UserError(
                f"transforms[{number}] is a {type(transform).__name__}, "
                "not a function of one example",
                "  possible: a function, grain.transforms.Map, "
                "grain.transforms.RandomMap",
                "  filter, flatten or batch in the source: batch k must not depend "
                "on the batches before it",
            )
