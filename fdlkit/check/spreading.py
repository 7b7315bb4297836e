"""Over which mesh axes each value of a program is cut, as far as can be followed.

Arguments are cut as they are laid out, constraints say what they say, and from there
the cuts are carried along: an element-wise result is cut like its operands, a product
like the dims that it keeps. XLA's partitioner does the same and more; what it would
decide by cost is not guessed: a dim of which nothing is known is whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

# The mesh axes of each dim.
Cut = tuple[tuple[str, ...], ...]


def whole(shape: Sequence[int]) -> Cut:
    """The cut of an array that every device has whole."""
    return ((),) * len(shape)


def merged(shape: Sequence[int], cuts: Sequence[tuple[Sequence[int], Cut]]) -> Cut:
    """The cut of an element-wise result: of each dim, that of the first operand cut."""
    found: list[tuple[str, ...]] = [()] * len(shape)
    used: set[str] = set()
    for other, cut in cuts:
        if tuple(other) != tuple(shape):
            continue
        for dim, axes in enumerate(cut):
            if axes and not found[dim] and not used & set(axes):
                found[dim] = axes
                used |= set(axes)
    return tuple(found)


def result_cut(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    """The cut of an equation's output, from those of its inputs.

    Args:
      eqn: An equation without programs of its own.
      cuts: A cut for each input.
      out: The output's abstract value.
    """
    rule = _RULES.get(eqn.primitive.name)
    if rule is not None:
        return rule(eqn, cuts, out)
    shapes = [v.aval.shape for v in eqn.invars]
    return merged(out.shape, list(zip(shapes, cuts, strict=True)))


def is_elementwise(name: str) -> bool:
    """Whether results of a primitive are cut as operands of their shape are."""
    return name not in _RULES


def _dot_general(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    left, right = cuts
    dims = [left[i] or right[j] for i, j in zip(left_batch, right_batch, strict=True)]
    dims += [a for i, a in enumerate(left) if i not in (*left_sum, *left_batch)]
    dims += [a for i, a in enumerate(right) if i not in (*right_sum, *right_batch)]
    return _once(dims)


def _once(dims: Sequence[tuple[str, ...]]) -> Cut:
    """No mesh axis cuts two dims of one array: the first has it."""
    used: set[str] = set()
    found = []
    for axes in dims:
        kept = tuple(axis for axis in axes if axis not in used)
        used |= set(kept)
        found.append(kept)
    return tuple(found)


def _broadcast_in_dim(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    dims = list(whole(out.shape))
    shape = eqn.invars[0].aval.shape
    for i, dim in enumerate(eqn.params["broadcast_dimensions"]):
        if shape[i] == out.shape[dim]:
            dims[dim] = cuts[0][i]
    return tuple(dims)


def _transpose(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    return tuple(cuts[0][i] for i in eqn.params["permutation"])


def _reduce(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    axes = eqn.params["axes"]
    return tuple(a for i, a in enumerate(cuts[0]) if i not in axes)


def _squeeze(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    gone = eqn.params["dimensions"]
    return tuple(a for i, a in enumerate(cuts[0]) if i not in gone)


def _reshape(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    """Dims that are merged or split keep the cut of the outermost of them."""
    before, after = list(eqn.invars[0].aval.shape), list(out.shape)
    found: list[tuple[str, ...]] = []
    i = j = 0
    while j < len(after):
        start_i, start_j = i, j
        left = before[i] if i < len(before) else 1
        right = after[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(before):
                left *= before[i]
                i += 1
            elif j < len(after):
                right *= after[j]
                j += 1
            else:
                break
        group = [cuts[0][k] for k in range(start_i, min(i, len(before)))]
        first: tuple[str, ...] = next((axes for axes in group if axes), ())
        sizes = [after[k] for k in range(start_j, j)]
        place = next((k for k, size in enumerate(sizes) if size > 1), 0)
        found += [first if k == place else () for k in range(len(sizes))]
    return tuple(found[: len(after)])


def _same_rank(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    """Dims that keep their size keep their cut (slices, pads, concatenations)."""
    found: list[tuple[str, ...]] = list(whole(out.shape))
    for v, cut in zip(eqn.invars, cuts, strict=True):
        if len(v.aval.shape) == len(out.shape):
            for dim, axes in enumerate(cut):
                if v.aval.shape[dim] == out.shape[dim]:
                    found[dim] = found[dim] or axes
    return _once(found)


def _gather(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    """Where the indices are many, a row is found for each: cut like the indices."""
    numbers = eqn.params["dimension_numbers"]
    offsets = set(numbers.offset_dims)
    indices = iter(cuts[1][:-1])
    dims = [() if d in offsets else next(indices, ()) for d in range(len(out.shape))]
    return tuple(dims)


def _first(eqn: Any, cuts: Sequence[Cut], out: Any) -> Cut:
    return cuts[0] if cuts and len(cuts[0]) == len(out.shape) else whole(out.shape)


_REDUCTIONS = (
    "reduce_sum",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_and",
    "reduce_or",
    "argmax",
    "argmin",
)
_RULES: dict[str, Callable[[Any, Sequence[Cut], Any], Cut]] = {
    "dot_general": _dot_general,
    "broadcast_in_dim": _broadcast_in_dim,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "reshape": _reshape,
    "slice": _same_rank,
    "dynamic_slice": _same_rank,
    "pad": _same_rank,
    "concatenate": _same_rank,
    "gather": _gather,
    "scatter-add": _same_rank,
    "scatter": _same_rank,
    "split": _same_rank,
    "dynamic_update_slice": _first,
    **dict.fromkeys(_REDUCTIONS, _reduce),
}


def bytes_of(shape: Sequence[int], itemsize: int, cut: Cut, mesh: Any) -> int:
    """The bytes of an array that one device has, of its largest part if uneven."""
    parts = [math.prod(mesh.get(axis, 1) for axis in axes) for axes in cut]
    return itemsize * math.prod(
        -(-size // part) for size, part in zip(shape, parts, strict=True)
    )
