"""What to write in place of a value that has no lasting form."""

from __future__ import annotations

import inspect
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

from fdlkit.graph import arrays, built, names
from fdlkit.serialize.allowed import NAMES

# Whose functions make functions, and not configs.
_LIBRARIES = frozenset(module.partition(".")[0] for module in NAMES)


def remedy(value: Any) -> str:
    """One line: what to write in place of `value`."""
    plain = inspect.unwrap(value) if hasattr(value, "__wrapped__") else value
    if isinstance(plain, types.FunctionType):
        return _for_function(plain)
    if inspect.isclass(value):
        return _move(value)
    if isinstance(value, types.ModuleType):
        return f"write a function or class of {value.__name__}, or its name as text"
    if isinstance(value, io.IOBase):
        return "write the file's path, and open it where it is read or written"
    if isinstance(value, Iterator):
        return "write a list or a tuple of what it yields"
    if _is_array(value):
        return (
            f"write numbers, a plain array of at most {arrays.MAX_ELEMENTS}, or "
            "fdl.Config(FUNCTION, ...) of what makes it (of a random key: the seed)"
        )
    if "<locals>" in type(value).__qualname__:
        return _move(type(value))
    if (config := built.as_config(value)) is not None:
        return f"write {config}"
    symbol = names.find(type(value))
    if symbol is None:
        return "write numbers and text, or fdl.Config(...) of what makes it"
    return f"write fdl.Config({symbol.name}, ...), or numbers and text"


def _move(kind: type) -> str:
    return f"move class {kind.__name__} to the top level of a module"


def _for_function(function: types.FunctionType) -> str:
    is_lambda = function.__name__ == "<lambda>"
    instead = f"move def {function.__name__} to the top level of a module"
    if is_lambda:
        instead = "write def NAME(...) at the top level of a module, and NAME here"
    outer, inside, _ = function.__qualname__.partition(".<locals>")
    if not function.__closure__ or not inside:
        return instead
    made_by = names.find(names.reach(function.__module__, outer))
    if made_by is None:
        return instead
    config = f"write fdl.Config({made_by.name}, ...)"
    if made_by.module.partition(".")[0] in _LIBRARIES:
        return f"{config}, which makes it"
    return instead if is_lambda else f"{instead}, or {config} if that returns it"


def _is_array(value: Any) -> bool:
    bases = (("numpy", "ndarray"), ("numpy", "generic"), ("jax", "Array"))
    found = (getattr(sys.modules.get(module), name, None) for module, name in bases)
    return any(inspect.isclass(base) and isinstance(value, base) for base in found)
