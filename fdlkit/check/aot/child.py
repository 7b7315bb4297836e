"""The process that compiles: `python -m fdlkit.check.aot.child FOLDER`.

It reads `program` and `request.json` in the folder and leaves `result.json` there. It
is a process of its own because libtpu reads its environment once, may end the process
when it dislikes a program, and keeps what it has taken.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jax import export
from jax.experimental import mesh_utils, topologies

from fdlkit.check.aot.collectives import collectives
from fdlkit.check.aot.refusal import largest_buffers
from fdlkit.errors import UserError
from fdlkit.sharding.mesh import Mesh, MeshAxes

DUMP = "dump"  # where XLA is told to write down what it has made


def main(folder: Path) -> None:
    """Compiles what is in the folder."""
    request = json.loads((folder / "request.json").read_text())
    program = (folder / "program").read_bytes()
    result = compiled(program, request)
    if result.get("failed") == "compile":
        result["buffers"] = buffers(folder / DUMP)
    (folder / "result.json").write_text(json.dumps(result))


def compiled(program: bytes, request: Mapping[str, Any]) -> dict[str, Any]:
    """What became of a program: the fields of `compiling.Compiled`, or why it failed.

    Args:
      program: What `exported_step` gives, serialised.
      request: The slices (`topology`, arguments of `get_topology_desc`), and the mesh
        on them (`ici`, `dcn`).
    """
    began = time.monotonic()
    devices: list[Any] = list(
        topologies.get_topology_desc(platform="tpu", **request["topology"]).devices
    )
    mesh = Mesh(ici=MeshAxes(**request["ici"]), dcn=MeshAxes(**request["dcn"]))
    try:
        placed = mesh.make(devices)
    except (NotImplementedError, ValueError, UserError) as error:
        return {"failed": "mesh", "text": str(error)}
    exported = export.deserialize(bytearray(program))
    specs, _ = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    shardings, _ = jax.tree.unflatten(
        exported.in_tree, exported.in_shardings_jax(placed)
    )
    outs = jax.tree.unflatten(exported.out_tree, exported.out_shardings_jax(placed))
    with jax.set_mesh(placed):
        step = jax.jit(
            exported.call,
            donate_argnums=0,
            in_shardings=shardings,
            out_shardings=outs,
        ).lower(*specs)
        try:
            made = step.compile()
        except jax.errors.JaxRuntimeError as error:
            return {"failed": "compile", "text": str(error)}
    memory: Any = made.memory_analysis()
    module = made.as_text() or ""
    cost = made.cost_analysis() or {}
    return {
        "device_kind": devices[0].device_kind,
        "seconds": time.monotonic() - began,
        "peak": memory.peak_memory_in_bytes,
        "arguments": memory.argument_size_in_bytes,
        "outputs": memory.output_size_in_bytes,
        "aliased": memory.alias_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
        "flops": float(cost.get("flops", 0)),
        "accessed": float(cost.get("bytes accessed", 0)),
        "splits": not fits_whole(request, devices),
        "collectives": [dataclasses.asdict(one) for one in collectives(module)],
    }


def buffers(dump: Path) -> list[dict[str, Any]]:
    """The largest buffers of the program that was refused, from what XLA has dumped.

    None where it was refused before it had any.
    """
    assigned = sorted(dump.glob("*.after_optimizations-buffer-assignment.txt"))
    modules = sorted(dump.glob("*.after_optimizations.txt"))
    if not assigned or not modules:
        return []
    largest = max(assigned, key=lambda path: path.stat().st_size)
    module = largest.name.replace("-buffer-assignment", "")
    text = next((m for m in modules if m.name == module), modules[0]).read_text()
    return [
        dataclasses.asdict(one) for one in largest_buffers(largest.read_text(), text)
    ]


def fits_whole(request: Mapping[str, Any], devices: list[Any]) -> bool:
    """Whether each mesh axis has sides of the torus for itself."""
    per_slice = len(devices) // request["topology"].get("num_slices", 1)
    try:
        mesh_utils.create_device_mesh(
            list(request["ici"].values()), devices[:per_slice]
        )
    except NotImplementedError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
