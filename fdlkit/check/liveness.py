"""What a step needs in memory beside its state, estimated from its program alone.

The program is run through in its order with sizes in place of numbers. A value is in
memory from where it is computed to where it is last used, so what the forward pass
keeps for the backward pass, and what rematerialisation does not keep, are seen for what
they are. What a compiler never writes to memory is not counted: values that only
change their shape or type, and element-wise results that have one reader.

It is an estimate: XLA orders, fuses and reuses by its own lights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jax.sharding import PartitionSpec

from fdlkit.check import spreading
from fdlkit.check.spreading import Cut

# Only another view or another type of their operand.
_VIEWS = frozenset(
    {
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "copy_p",
        "expand_dims",
        "iota",
        "name",
        "reshape",
        "rev",
        "sharding_constraint",
        "slice",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)

# What is written out whoever reads it.
_WRITTEN = frozenset(
    {
        "argmax",
        "argmin",
        "concatenate",
        "conv_general_dilated",
        "cumsum",
        "cumlogsumexp",
        "cummax",
        "cumprod",
        "dot_general",
        "dynamic_update_slice",
        "gather",
        "ragged_dot_general",
        "random_bits",
        "scatter",
        "scatter-add",
        "sort",
        "threefry2x32",
        "top_k",
        "while",
    }
)


_AS_IT_IS = PartitionSpec.UNCONSTRAINED


@dataclasses.dataclass
class _Value:
    """A value of the program.

    Attributes:
      shape: Its dims.
      itemsize: Bytes of an element; 0 for what is not counted (arguments, literals).
      cut: The mesh axes of each dim.
      bytes: Of one device.
    """

    shape: tuple[int, ...]
    itemsize: int
    cut: Cut
    bytes: int


@dataclasses.dataclass
class _Op:
    """One equation, those inside it told by what they need at most.

    Attributes:
      name: The primitive's.
      inputs: Numbers of values.
      outputs: Numbers of values.
      inner: The most bytes that programs inside it need.
    """

    name: str
    inputs: list[int]
    outputs: list[int]
    inner: int = 0


class _Program:
    """A flattened program: calls laid out in line, loops as one operation each."""

    def __init__(self, mesh: Mapping[str, int]):
        self.mesh = mesh
        self.values: list[_Value] = []
        self.ops: list[_Op] = []

    def new(self, aval: Any, cut: Cut, *, counted: bool = True) -> int:
        shape = tuple(getattr(aval, "shape", ()))
        dtype = getattr(aval, "dtype", None)
        # An axis of one device cuts nothing, and must not keep a dim from another.
        cut = tuple(tuple(a for a in axes if self.mesh.get(a, 1) > 1) for axes in cut)
        itemsize = getattr(dtype, "itemsize", 4) if counted else 0
        size = spreading.bytes_of(shape, itemsize, cut, self.mesh)
        self.values.append(_Value(shape, itemsize, cut, size))
        return len(self.values) - 1

    def run(self, jaxpr: Any, arguments: Sequence[int]) -> list[int]:
        """Lays out a jaxpr whose inputs are some values; the numbers of its outputs."""
        env: dict[Any, int] = dict(zip(jaxpr.invars, arguments, strict=True))
        for var in jaxpr.constvars:
            env[var] = self.new(
                var.aval, spreading.whole(var.aval.shape), counted=False
            )

        def read(atom: Any) -> int:
            if hasattr(atom, "val"):
                shape = getattr(atom.aval, "shape", ())
                return self.new(atom.aval, spreading.whole(shape), counted=False)
            return env[atom]

        for eqn in jaxpr.eqns:
            inputs = [read(atom) for atom in eqn.invars]
            outputs = self._equation(eqn, inputs)
            env.update(zip(eqn.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, eqn: Any, inputs: list[int]) -> list[int]:
        name = eqn.primitive.name
        if name == "scan":
            return self._scan(eqn, inputs)
        if name == "while":
            body = eqn.params["body_jaxpr"]
            count = eqn.params["cond_nconsts"]
            return self._inside(eqn, [body], inputs[count:])
        if name == "cond":
            return self._inside(eqn, eqn.params["branches"], inputs[1:])
        inner = _called(eqn)
        if inner is not None and len(inner.invars) == len(inputs):
            return self.run(inner, inputs)
        cuts = [self.values[i].cut for i in inputs]
        outputs = []
        for var in eqn.outvars:
            constrained = name == "sharding_constraint"
            cut = _constraint(eqn, cuts[0]) if constrained else None
            if cut is None or len(cut) != len(var.aval.shape):
                cut = spreading.result_cut(eqn, cuts, var.aval)
            outputs.append(self.new(var.aval, cut))
        self.ops.append(_Op(name, inputs, outputs))
        return outputs

    def _inside(
        self, eqn: Any, programs: Sequence[Any], inputs: list[int]
    ) -> list[int]:
        """An operation with programs of one signature, of which one runs at a time."""
        peak, cuts = 0, None
        for program in programs:
            part = _Program(self.mesh)
            arguments = [
                part.new(var.aval, self.values[i].cut, counted=False)
                for var, i in zip(program.jaxpr.invars, inputs, strict=True)
            ]
            found = part.run(program.jaxpr, arguments)
            peak = max(peak, part.peak(found))
            cuts = cuts or [part.values[i].cut for i in found]
        outputs = [
            self.new(var.aval, cut)
            for var, cut in zip(eqn.outvars, cuts or [], strict=True)
        ]
        self.ops.append(_Op(eqn.primitive.name, inputs, outputs, peak))
        return outputs

    def _scan(self, eqn: Any, inputs: list[int]) -> list[int]:
        params = eqn.params
        consts, carried = _scan_counts(params)
        fixed = consts + carried
        body = params["jaxpr"].jaxpr
        part = _Program(self.mesh)
        arguments = []
        for number, (var, i) in enumerate(zip(body.invars, inputs, strict=True)):
            cut = self.values[i].cut
            arguments.append(
                part.new(
                    var.aval,
                    cut if number < fixed else cut[1:],
                    counted=number >= fixed,
                )
            )
        found = part.run(body, arguments)
        peak = part.peak(found)
        outputs = []
        for number, (var, i) in enumerate(zip(eqn.outvars, found, strict=True)):
            cut = part.values[i].cut
            stacked = number >= carried
            outputs.append(self.new(var.aval, ((), *cut) if stacked else cut))
        self.ops.append(_Op("scan", inputs, outputs, peak))
        return outputs

    def peak(self, results: Sequence[int]) -> int:
        """The most bytes at any time; results are their owner's, and not counted."""
        self._adopt()
        roots = self._roots()
        last: dict[int, int] = {}
        for at, op in enumerate(self.ops):
            for value in (*op.inputs, *op.outputs):
                for root in roots[value]:
                    last[root] = at
        kept = {root for value in results for root in roots[value]}
        produced = {value for op in self.ops for value in op.outputs}
        ends: dict[int, list[int]] = {}
        for root, at in last.items():
            if root not in kept:
                ends.setdefault(at, []).append(root)
        live = sum(
            value.bytes for i, value in enumerate(self.values) if i not in produced
        )
        peak = live
        for at, op in enumerate(self.ops):
            live += sum(
                self.values[o].bytes
                for o in op.outputs
                if roots[o] == (o,) and o not in kept
            )
            peak = max(peak, live + op.inner)
            live -= sum(self.values[root].bytes for root in ends.get(at, ()))
        return peak

    def _adopt(self) -> None:
        """Cuts values like what is made of them, where that makes them smaller.

        Zeros know nothing of a mesh; what is added to them is laid out like the sum. A
        gradient is a sum over rows; what it is added to, a moment, is laid out like
        the parameter.
        """
        for op in reversed(self.ops):
            if not spreading.is_elementwise(op.name):
                continue
            for out in op.outputs:
                shape = self.values[out].shape
                for i in op.inputs:
                    value = self.values[i]
                    if value.shape != shape:
                        continue
                    made = self.values[out].cut
                    both = [(shape, value.cut), (shape, made)]
                    for cut in (spreading.merged(shape, both), made):
                        size = spreading.bytes_of(shape, value.itemsize, cut, self.mesh)
                        if size < value.bytes:
                            value.cut, value.bytes = cut, size

    def _roots(self) -> list[tuple[int, ...]]:
        """For each value, those that stand in memory for it; itself if it does."""
        readers = [0] * len(self.values)
        for op in self.ops:
            for value in set(op.inputs):
                readers[value] += op.name not in _VIEWS
        # What is only viewed is read as often as its views are.
        for op in reversed(self.ops):
            if op.name in _VIEWS:
                for value in set(op.inputs):
                    readers[value] += sum(readers[o] for o in op.outputs)
        roots: list[tuple[int, ...]] = [(i,) for i in range(len(self.values))]
        for op in self.ops:
            written = op.name in _WRITTEN or op.inner or op.name in ("scan", "cond")
            if written or op.name.startswith(("reduce", "custom")):
                continue
            for out in op.outputs:
                if op.name in _VIEWS or readers[out] <= 1:
                    held = dict.fromkeys(r for i in op.inputs for r in roots[i])
                    roots[out] = tuple(held)
        return roots


def _called(eqn: Any) -> Any:
    """The program that an equation calls with its own inputs; None if it calls none."""
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None:
            return getattr(inner, "jaxpr", inner)
    return None


def _constraint(eqn: Any, before: Cut) -> Cut | None:
    """The cut that a sharding constraint asks for.

    Args:
      eqn: The constraint.
      before: The cut of its operand, which dims keep that are not constrained.
    """
    spec = getattr(eqn.params.get("sharding"), "spec", None)
    if spec is None:
        return None
    rank = len(eqn.outvars[0].aval.shape)
    entries = [
        (e,) if isinstance(e, str) else tuple(kept if e is _AS_IT_IS else e or ())
        for e, kept in zip(spec, before, strict=False)
    ]
    return (*map(tuple, entries), *[()] * (rank - len(entries)))


def working_bytes(jaxpr: Any, cuts: Sequence[Cut], mesh: Mapping[str, int]) -> int:
    """The most bytes of one device that a program needs beside arguments and results.

    Args:
      jaxpr: A closed jaxpr.
      cuts: The cut of each of its inputs.
      mesh: The size of each mesh axis.
    """
    program = _Program(mesh)
    arguments = [
        program.new(var.aval, cut, counted=False)
        for var, cut in zip(jaxpr.jaxpr.invars, cuts, strict=True)
    ]
    return program.peak(program.run(jaxpr.jaxpr, arguments))


def _scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many of a scan's inputs are constants, and how many are carried on."""
    if "num_carry" in params:
        return params["num_consts"], params["num_carry"]
    consts, carried, _ = params["ft_in"].unpack()  # as newer releases of JAX say it
    return len(consts), len(carried)
