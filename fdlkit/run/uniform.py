"""Runs a jaxpr on arrays that hold one number each, whatever their size.

Such an array is a Python number here, so an optimizer's step over a model of any size
costs what its operations count, touches no device and fills no memory. What cannot be
followed (random numbers as large as a parameter, say) is `UNKNOWN`, and so is all that
comes of it: nothing is guessed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()

# A number for an array that holds nothing else, an array for a small one that holds
# several, or `UNKNOWN`.
Value = Any

# The largest array that is kept as such.
_MAX_SIZE = 4096

# Longer loops are not followed.
_MAX_TURNS = 1000


def _divide(x: Any, y: Any) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        return math.trunc(np.divide(x, y)) if y else UNKNOWN
    return np.divide(x, y)


def _invert(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


# Element by element, in the precision of a Python float. What is not here is run by
# JAX, on arrays that are small enough.
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": np.add,
    "add_any": np.add,
    "and": np.bitwise_and,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "clamp": lambda low, x, high: np.minimum(np.maximum(low, x), high),
    "convert_element_type": lambda x: x,
    "copy": lambda x: x,
    "cos": np.cos,
    "div": _divide,
    "eq": np.equal,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "ge": np.greater_equal,
    "gt": np.greater,
    "integer_pow": lambda x, y: np.float64(x) ** y,
    "is_finite": np.isfinite,
    "le": np.less_equal,
    "log": np.log,
    "log1p": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-np.float64(x))),
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "not": _invert,
    "or": np.bitwise_or,
    "pow": lambda x, y: np.power(np.float64(x), y),
    "rsqrt": lambda x: 1 / np.sqrt(np.float64(x)),
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "stop_gradient": lambda x: x,
    "sub": np.subtract,
    "tanh": np.tanh,
    "xor": np.bitwise_xor,
}

# The number stays what it is.
_RESHAPING = frozenset(
    {
        *("broadcast_in_dim", "expand_dims", "reshape", "rev", "slice", "squeeze"),
        *("transpose", "reduce_precision", "sharding_constraint", "mesh_cast"),
        *("reduce_max", "reduce_min", "reduce_and", "reduce_or"),
    }
)

# What holds a jaxpr that is run once, and where.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}


def evaluate(jaxpr: core.ClosedJaxpr, arguments: Sequence[Value]) -> list[Value]:
    """The results of a jaxpr.

    Args:
      jaxpr: What to run, with its shapes.
      arguments: A value for each of its arguments.
    """
    with np.errstate(all="ignore"):
        return _run(jaxpr.jaxpr, [*map(_collapsed, jaxpr.consts)], arguments)


def work(jaxpr: core.ClosedJaxpr) -> int:
    """How many operations a jaxpr has, those of jaxprs inside it counted once."""
    count, todo = 0, [jaxpr.jaxpr]
    while todo:
        for equation in todo.pop().eqns:
            count += 1
            for held in equation.params.values():
                for inner in held if isinstance(held, tuple | list) else (held,):
                    inner = getattr(inner, "jaxpr", inner)
                    if isinstance(inner, core.Jaxpr):
                        todo.append(inner)
    return count


def _run(
    jaxpr: core.Jaxpr, constants: Sequence[Value], arguments: Sequence[Value]
) -> list[Value]:
    known: dict[Any, Value] = dict(zip(jaxpr.constvars, constants, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))

    def read(variable: Any) -> Value:
        if isinstance(variable, core.Literal):
            held = variable.val
            return _collapsed(held) if np.ndim(held) else _as(held, variable.aval)
        return known[variable]

    for equation in jaxpr.eqns:
        results = _equation(equation, [read(v) for v in equation.invars])
        known.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _closed(jaxpr: Any, arguments: Sequence[Value]) -> list[Value]:
    """Runs a jaxpr inside another one."""
    if isinstance(jaxpr, core.ClosedJaxpr):
        return _run(jaxpr.jaxpr, [*map(_collapsed, jaxpr.consts)], arguments)
    return _run(jaxpr, (), arguments)


def _equation(equation: Any, given: list[Value]) -> list[Value]:
    name, parameters = equation.primitive.name, equation.params
    if name in _CALLS:
        return _closed(parameters[_CALLS[name]], given)
    if name == "cond":
        return _branch(parameters["branches"], given)
    if name == "while":
        return _while(equation, given)
    if name == "scan":
        return _scan(equation, given)
    if name in ("optimization_barrier", "device_put"):
        return given
    if all(map(_is_number, given)):
        result = _uniform(equation, given)
        if result is not None:
            return [_as(result, equation.outvars[0].aval)]
    elif name == "select_n" and _is_number(given[0]):
        return [given[1 + int(given[0])]]
    return _by_jax(equation, given)


def _uniform(equation: Any, given: list[Value]) -> Value | None:
    """The result where all arguments are numbers; None if it may be no number."""
    name, parameters = equation.primitive.name, equation.params
    if name == "integer_pow":
        return _ELEMENTWISE[name](given[0], parameters["y"])
    if name in _ELEMENTWISE:
        return _ELEMENTWISE[name](*given)
    if name in _RESHAPING:
        return given[0]
    if name == "select_n":
        return given[1 + int(given[0])]
    if name in ("dynamic_slice", "concatenate", "pad", "dynamic_update_slice"):
        count = {"dynamic_slice": 1, "concatenate": len(given)}.get(name, 2)
        return given[0] if all(g == given[0] for g in given[:count]) else None
    if name in ("reduce_sum", "reduce_prod"):
        before, after = equation.invars[0].aval.size, equation.outvars[0].aval.size
        times = before // after if after else 0
        return given[0] * times if name == "reduce_sum" else given[0] ** times
    if name == "dot_general":
        (contracted, _), _ = parameters["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return given[0] * given[1] * math.prod(shape[axis] for axis in contracted)
    return None


def _branch(branches: Sequence[Any], given: list[Value]) -> list[Value]:
    index, *arguments = given
    if _is_number(index):
        return _closed(branches[min(max(int(index), 0), len(branches) - 1)], arguments)
    return _agreed([_closed(branch, arguments) for branch in branches])


def _agreed(found: Sequence[Sequence[Value]]) -> list[Value]:
    """What several branches have in common."""
    return [
        one[0] if all(_is_number(x) and x == one[0] for x in one) else UNKNOWN
        for one in zip(*found, strict=True)
    ]


def _while(equation: Any, given: list[Value]) -> list[Value]:
    parameters = equation.params
    first = parameters["cond_nconsts"]
    second = first + parameters["body_nconsts"]
    state = given[second:]
    for _ in range(_MAX_TURNS):
        (goes_on,) = _closed(parameters["cond_jaxpr"], [*given[:first], *state])
        if not _is_number(goes_on):
            break
        if not goes_on:
            return state
        state = _closed(parameters["body_jaxpr"], [*given[first:second], *state])
    return [UNKNOWN] * len(state)


def _scan(equation: Any, given: list[Value]) -> list[Value]:
    parameters = equation.params
    first, second = _parts_of_scan(equation)
    length = parameters["length"]
    state = given[first:second]
    rows: list[list[Value]] = []
    turns = range(length if length <= _MAX_TURNS else 0)
    for turn in reversed(turns) if parameters["reverse"] else turns:
        elements = [
            x if _is_number(x) or x is UNKNOWN else _collapsed(x[turn])
            for x in given[second:]
        ]
        done = _closed(parameters["jaxpr"], [*given[:first], *state, *elements])
        state = done[: len(state)]
        rows.append(done[len(state) :])
    if not rows:
        return [UNKNOWN] * len(equation.outvars)
    return [*state, *_agreed(rows)]


def _parts_of_scan(equation: Any) -> tuple[int, int]:
    """Where the state begins among the arguments, and where the rows of arrays do.

    Rows have a dimension less inside than outside. JAX has called the numbers of these
    parts otherwise from version to version.
    """
    inner = equation.params["jaxpr"]
    inner = getattr(inner, "jaxpr", inner)

    def rows(outside: Sequence[Any], inside: Sequence[Any]) -> int:
        pairs = zip(outside, inside, strict=True)
        return sum(len(x.aval.shape) > len(y.aval.shape) for x, y in pairs)

    second = len(equation.invars) - rows(equation.invars, inner.invars)
    state = len(equation.outvars) - rows(equation.outvars, inner.outvars)
    return second - state, second


def _by_jax(equation: Any, given: list[Value]) -> list[Value]:
    """Runs an operation on whole arrays, if they are small."""
    unknown = [UNKNOWN] * len(equation.outvars)
    variables = [*equation.invars, *equation.outvars]
    sizes = (math.prod(getattr(v.aval, "shape", ())) for v in variables)
    if any(g is UNKNOWN for g in given) or max(sizes, default=0) > _MAX_SIZE:
        return unknown
    arrays = [
        jnp.full(v.aval.shape, g, v.aval.dtype) if _is_number(g) else g
        for v, g in zip(equation.invars, given, strict=True)
    ]
    try:
        done = equation.primitive.bind(*arrays, **equation.params)
    except Exception:  # noqa: BLE001 - whatever it cannot do here is not known
        return unknown
    return [*map(_collapsed, done if equation.primitive.multiple_results else [done])]


def _collapsed(array: Any) -> Value:
    """An array as a number, if it holds no other."""
    if isinstance(array, bool | int | float):
        return array
    if math.prod(array.shape) > 2**20:
        return UNKNOWN
    if jnp.issubdtype(array.dtype, jax.dtypes.extended):
        return array
    numbers = np.asarray(array)
    if not numbers.size:
        return 0
    if (numbers == numbers.flat[0]).all():
        return _as(numbers.flat[0], numbers)
    return array if numbers.size <= _MAX_SIZE else UNKNOWN


def _as(number: Any, like: Any) -> Value:
    """A number of the kind that an array's dtype says."""
    kind = _kind(like.dtype)
    if number is UNKNOWN or kind is None:
        return UNKNOWN
    try:
        return kind(number)
    except (OverflowError, ValueError):  # no int is inf or nan
        return UNKNOWN


@functools.lru_cache(maxsize=256)
def _kind(dtype: Any) -> Callable[[Any], Value] | None:
    """The type that stands for an array's; None if none does."""
    kinds = {jnp.bool_: bool, jnp.integer: int, jnp.floating: float}
    found = (kinds[kind] for kind in kinds if jnp.issubdtype(dtype, kind))
    return next(found, None)


def _is_number(value: Value) -> bool:
    return isinstance(value, bool | int | float)
