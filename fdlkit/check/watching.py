"""What is noted while a model is traced: constraints, named axes, who failed.

Flax tells an interceptor of every call of a module's method, so who calls whom is known
without a word in the model. `nn.with_logical_constraint` is exchanged for the time of
the trace by one that notes its arguments and calls the real one: a compiler's program
has the mesh axes of a constraint left, and not the names that a person wrote.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn

from fdlkit.check import frames
from fdlkit.check.layouts import NamedArray, bad_names
from fdlkit.nn.repeat import Repeat
from fdlkit.train import named_axes
from fdlkit.train.named_axes import Disagreement


class BadConstraintError(Exception):
    """Names that do not fit the array which they constrain.

    Attributes:
      array: The array and its names.
    """

    def __init__(self, array: NamedArray, text: str):
        super().__init__(text)
        self.array = array


@dataclasses.dataclass(frozen=True)
class Failure:
    """An exception in what was traced.

    Attributes:
      part: The part of the experiment that failed: `model`, `loss`,
        `metrics['accuracy']`, `optimizer`, `learning_rate`, `train_step`.
      module: The Flax path of the innermost module that was running.
      error: The exception.
      frame: The user's own line, `file:line in function`; None if there is none.
    """

    part: str
    module: tuple[str, ...]
    error: Exception
    frame: str | None


class Watch:
    """Notes what happens in traces.

    Attributes:
      constraints: The activations that a model constrains, each once.
      disagreements: Named-axis annotations that arrays disagreed with, each once.
      failures: What was raised.
    """

    def __init__(self) -> None:
        self.constraints: dict[NamedArray, None] = {}
        self.disagreements: dict[Disagreement, None] = {}
        self.failures: list[Failure] = []
        self._modules: list[tuple[tuple[str, ...], nn.Module]] = []
        self._parts: list[str] = []
        self._raised: tuple[Exception, tuple[str, ...], str] | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Notes what is traced inside."""
        real = nn.with_logical_constraint
        noting = functools.wraps(real)(functools.partial(self._constrain, real))
        nn.with_logical_constraint = noting
        try:
            with (
                nn.intercept_methods(self._intercept),
                named_axes.observing(self._disagree),
            ):
                yield
        finally:
            nn.with_logical_constraint = real

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What runs inside belongs to this part of the experiment."""
        self._parts.append(name)
        try:
            yield
        except Exception as error:
            self._note(error, (), name)
            raise
        finally:
            self._parts.pop()

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, as a part of the experiment."""

        def call(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        return call

    def attempt(self, name: str, function: Callable[[], Any]) -> Any:
        """What a function returns; None if it fails, which is noted."""
        try:
            with self.part(name):
                return function()
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            noted, module, part = self._raised or (error, (), name)
            first = error
            # The trainer explains some; what JAX raises may have a cause as well.
            if noted is not error and isinstance(error.__cause__, Exception):
                first = error.__cause__
            if noted is not first:
                module, part = (), name
            frame = frames.users_line(first)
            if frame is None and isinstance(error.__cause__, Exception):
                frame = frames.users_line(error.__cause__)
            self.failures.append(Failure(part, module, error, frame))
            return None

    def _note(self, error: Exception, module: tuple[str, ...], part: str) -> None:
        known = self._raised[0] if self._raised else None
        if known is not error and (known is None or error.__cause__ is not known):
            self._raised = (error, module, part)

    def _intercept(
        self, call: Callable[..., Any], args: Any, kwargs: Any, context: Any
    ) -> Any:
        path = self._path_of(context.module)
        self._modules.append((path, context.module))
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self._note(error, path, self._parts[-1] if self._parts else "model")
            raise
        finally:
            self._modules.pop()

    def _disagree(self, found: Disagreement) -> None:
        self.disagreements[found] = None

    def _path_of(self, module: nn.Module) -> tuple[str, ...]:
        """The Flax path of a module that is being called.

        The layers of a pipeline are applied apart from the module that holds them, and
        by themselves know no more than what is below the template.
        """
        if module.scope is None:
            return ()
        path = tuple(module.path)
        for outer, holder in self._modules:
            if isinstance(holder, Repeat) and holder.pipeline is not None:
                return path if holder.is_initializing() else (*outer, "block", *path)
        return path

    def _constrain(
        self, real: Callable[..., Any], x: Any, axes: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if isinstance(axes, tuple | list) and hasattr(x, "shape"):
            frame = frames.of_caller(sys._getframe(1))
            module = self._modules[-1][0] if self._modules else ()
            name = "/".join(module) or "the model"
            array = NamedArray(
                f"{name} at {frame}", tuple(x.shape), tuple(axes), module
            )
            bad = bad_names(array.names or (), array.shape)
            if bad is not None:
                raise BadConstraintError(array, bad)
            self.constraints[array] = None
        return real(x, axes, *args, **kwargs)
