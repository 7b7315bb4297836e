"""Has another process compile a run's step for TPU slices; results are kept."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdlkit import user_cache, whole_file
from fdlkit.check.aot.collectives import Collective
from fdlkit.check.aot.refusal import Buffer
from fdlkit.check.topology import CORES_TO_A_CHIP, Topology
from fdlkit.errors import UserError

EXTRA = "pip install 'fdlkit[tpu]'"
PATIENCE = 3600  # seconds

# Whether the cores of a chip are one device.
_CHIP = {2: "megacore", 1: "default"}
# Variables that change what a compiler makes of a program.
_FLAGS = ("LIBTPU_INIT_ARGS", "XLA_FLAGS")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compiled:
    """A step as it was compiled; bytes are of one chip.

    Attributes:
      device_kind: As libtpu names the chip.
      memory: What a chip has, as its maker states it.
      seconds: How long it took.
      peak: The most that is in use at a time, by the compiler's own count.
      arguments: State and batch.
      outputs: The state after the step and what it reports.
      aliased: Of the outputs, what takes the place of arguments.
      temporaries: The space in which what is neither is laid out. It can be more than
        is ever in use of it, and does not add up with the others to the peak.
      code: The program itself.
      flops: Of one chip as XLA counts them, a loop's body once.
      accessed: Bytes read and written, counted likewise.
      splits: Whether a mesh axis shares a side of the torus with another.
      collectives: What chips send each other in a step.
    """

    device_kind: str
    memory: int
    seconds: float
    peak: int
    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int
    flops: float
    accessed: float
    splits: bool
    collectives: tuple[Collective, ...]


@dataclasses.dataclass(frozen=True)
class NotCompiled:
    """A step that was not compiled.

    Attributes:
      failed: `lower`: it has no program for the chip; `mesh`: it cannot be laid on the
        slices; `compile`: XLA refused it; `process`: libtpu ended the process.
      text: What was said.
      buffers: The largest, where it was refused for its size.
    """

    failed: str
    text: str
    buffers: tuple[Buffer, ...] = ()


def libtpu_version() -> str:
    """The version of libtpu here.

    Raises:
      UserError: There is none, or not the one that this JAX needs.
    """
    wanted = wanted_libtpu()
    missing = [n for n in ("libtpu", "flatbuffers") if not importlib.util.find_spec(n)]
    if missing:
        raise UserError(
            f"compiling for a TPU needs {missing[0]}, which is not installed",
            f"  {EXTRA} brings libtpu{wanted}, which fits JAX "
            f"{importlib.metadata.version('jax')}",
            "  --compile=false checks all the rest, with an estimate of memory",
        )
    version = importlib.metadata.version("libtpu")
    pattern = re.escape(wanted.removeprefix("==")).replace(r"\*", ".*")
    if wanted.startswith("==") and not re.fullmatch(pattern, version):
        raise UserError(
            f"libtpu {version} is not the one that JAX "
            f"{importlib.metadata.version('jax')} is made for: libtpu{wanted}",
            f"  {EXTRA}",
        )
    return version


def wanted_libtpu() -> str:
    """The version of libtpu that the installed JAX names: `==0.0.42.*`."""
    for line in importlib.metadata.requires("jax") or ():
        found = re.match(r"libtpu\s*\(?([^;)\s]+)\)?", line)
        if found is not None:
            return found[1]
    return ""


def compile_step(
    program: bytes, machine: Topology, *, ici: Mapping[str, int], dcn: Mapping[str, int]
) -> Compiled | NotCompiled:
    """What the compiler of a machine makes of a step.

    Args:
      program: What `exported_step` gives, serialised.
      machine: Slices of TPUs.
      ici: The size of each mesh axis inside a slice.
      dcn: The size of each across slices.

    Raises:
      UserError: There is no libtpu that fits, or it took longer than an hour.
    """
    version = libtpu_version()
    request = {"topology": description(machine), "ici": dict(ici), "dcn": dict(dcn)}
    keep = _kept_at(program, request, version)
    if keep is not None and keep.is_file():
        return _read(json.loads(keep.read_text()), machine)
    with tempfile.TemporaryDirectory(prefix="fdlkit-compile-") as name:
        folder = Path(name)
        (folder / "program").write_bytes(program)
        (folder / "request.json").write_text(json.dumps(request))
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "fdlkit.check.aot.child", name],
                env=environment(machine, folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"compiling for {machine.text} was given up after {PATIENCE // 60} "
                "minutes"
            ) from error
        result = folder / "result.json"
        if not result.is_file():
            return NotCompiled("process", _last_words(ended.stderr))
        text = result.read_text()
    if keep is not None:
        whole_file.replace(keep, text.encode())
    return _read(json.loads(text), machine)


def description(machine: Topology) -> dict[str, Any]:
    """The arguments of `jax.experimental.topologies.get_topology_desc`."""
    sides = "x".join(map(str, machine.sides))
    host = (2, 2, 1) if len(machine.sides) == 3 or machine.sides[0] > 1 else (1, 1, 1)
    made: dict[str, Any] = {
        "topology_name": f"{machine.kind}:{sides}",
        "chip_config_name": _CHIP[CORES_TO_A_CHIP[machine.kind]],
        "chips_per_host_bounds": host,
        "wrap": machine.wraps,
    }
    if machine.slices > 1:
        made["num_slices"] = machine.slices
    return made


def environment(machine: Topology, folder: Path) -> dict[str, str]:
    """The variables of the process that compiles.

    It must not look for chips, nor ask the cloud what machine this is. XLA writes down
    what it makes of a program: its error tells of no buffer.
    """
    dump = f"--xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text"
    cores = CORES_TO_A_CHIP[machine.kind]
    number = machine.devices // machine.slices * cores
    return dict(os.environ) | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {dump}".strip(),
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": f"{machine.kind}-{number}",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_LIBRARY_LOG_DIR": "disabled",
        # No chip is taken, so whoever else has loaded it may go on.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "PYTHONPATH": os.pathsep.join([_root(), *filter(None, sys.path)]),
    }


def _root() -> str:
    """The folder that this package is in."""
    return str(Path(__file__).resolve().parents[3])


def _kept_at(program: bytes, request: Mapping[str, Any], version: str) -> Path | None:
    """Where the result is kept; None where nothing can be."""
    folder = user_cache.writable("compiled")
    if folder is None:
        return None
    known = [
        json.dumps(request, sort_keys=True),
        importlib.metadata.version("jax"),
        importlib.metadata.version("jaxlib"),
        version,
        *(os.environ.get(name, "") for name in _FLAGS),
    ]
    digest = hashlib.sha256(program + "\0".join(known).encode()).hexdigest()
    return folder / f"{digest[:32]}.json"


def _read(result: Mapping[str, Any], machine: Topology) -> Compiled | NotCompiled:
    if "failed" in result:
        held = tuple(Buffer(**one) for one in result.get("buffers", ()))
        return NotCompiled(**{**result, "buffers": held})
    made = tuple(Collective(**one) for one in result["collectives"])
    return Compiled(**{**result, "collectives": made, "memory": machine.memory})


def _last_words(said: str) -> str:
    """The last lines of a process that ended, without those of its stack."""
    lines = [line for line in said.splitlines() if line.strip()]
    told = [line for line in lines if not line.lstrip().startswith(("@", "***"))]
    return "\n".join(told[-6:]) or "it said nothing"
