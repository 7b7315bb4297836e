"""The same training in Kauldron and in fdlkit, process by process, in turn.

    python tools/beside_kauldron.py --env=DIR --rounds=5

Kauldron wants an environment of its own (TensorFlow, 3 GB): `uv` makes it in DIR where
there is none, with this Python and with the releases of JAX, Flax and Optax that are
here, so that what differs are the two trainers. Both train the same model from the same
initial values on the same batch in memory, with the same optimizer and number of steps,
log to TensorBoard at the same steps, and say the loss that they have come to. Told are
medians and ratios of wall and loop-thread CPU a step and of the time from the process's
start until the first step is under way; Kauldron runs twice a round, and its ratio to
itself (A/A) says what the machine's noise is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIDES = ROOT / "tools" / "benchmarks" / "kauldron_peer"
SHARED = ("jax", "jaxlib", "flax", "optax")

# Steps, and those between log points; measured is what lies between the first steps,
# in which things are compiled, and the last.
MODELS = {"mlp": (6000, 100), "transformer": (600, 20)}
SHOWN = {"wall": "wall a step, µs", "cpu": "loop thread CPU, µs", "start": "start, s"}

Measured = Mapping[str, float]


def environment(folder: Path, uv: str | None) -> Path:
    """The Python of Kauldron's environment, which is made where there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        if uv is None:
            sys.exit(f"there is no environment in {folder}, and no uv to make it")
        pins = [f"{name}=={importlib.metadata.version(name)}" for name in SHARED]
        print(f"making Kauldron's environment in {folder} with {', '.join(pins)}")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
            constraints.write("\n".join(pins) + "\n")
            constraints.flush()
            subprocess.run([uv, "venv", "--python", sys.executable, folder], check=True)
            install = [uv, "pip", "install", "--quiet", "--python", str(python)]
            pinned = ["--constraint", constraints.name]
            subprocess.run([*install, *pinned, "kauldron"], check=True)
    return python


def version_there(python: Path, name: str) -> str:
    """The release of a package in an environment."""
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def run(python: Path, side: str, model: str) -> Measured:
    """One training in a process of its own."""
    steps, log_every = MODELS[model]
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "model": model,
            "steps": steps,
            "log_every": log_every,
            "first": steps // 5,
            "last": steps - log_every,
            "workdir": f"{folder}/run",
            "began": time.time(),
        }
        done = subprocess.run(
            [python, SIDES / f"side_of_{side}.py", json.dumps(asked)],
            env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{side} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def tell(model: str, found: Mapping[str, Sequence[Measured]]) -> None:
    """Prints medians, ratios of each round, and both losses."""
    steps, log_every = MODELS[model]
    print(f"{model}: {steps} steps, log every {log_every}, {len(found['A'])} rounds")
    for name, what in SHOWN.items():
        first, ours, again = (
            [one[name] for one in found[key]] for key in ("A", "fdlkit", "A again")
        )
        theirs = [(a + b) / 2 for a, b in zip(first, again, strict=True)]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        noise = [b / a for a, b in zip(first, again, strict=True)]
        print(
            f"  {what:20} Kauldron {statistics.median(theirs):10.1f}   "
            f"fdlkit {statistics.median(ours):10.1f}   ratio {_spread(ratios)}   "
            f"A/A {_spread(noise)}"
        )
    losses = {key: sorted({one["loss"] for one in runs}) for key, runs in found.items()}
    print("  loss at the end     ", losses)


def _spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def main(argv: list[str] | None = None) -> int:
    """Both models, or one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    parser.add_argument(
        "--env",
        type=Path,
        default=Path(cache) / "fdlkit" / "kauldron",
        help="Kauldron's environment; made where it is not there",
    )
    parser.add_argument("--uv", default=shutil.which("uv"), help="the program uv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    arguments = parser.parse_args(argv)
    theirs, ours = environment(arguments.env, arguments.uv), Path(sys.executable)
    here = {name: importlib.metadata.version(name) for name in SHARED}
    there = {name: version_there(theirs, name) for name in ("kauldron", *SHARED)}
    print(f"there: {there}\nhere: {here}")
    for model in arguments.models:
        found: dict[str, list[Measured]] = {"A": [], "fdlkit": [], "A again": []}
        for _ in range(arguments.rounds):
            found["A"].append(run(theirs, "kauldron", model))
            found["fdlkit"].append(run(ours, "fdlkit", model))
            found["A again"].append(run(theirs, "kauldron", model))
        tell(model, found)
        print(f"  load of the machine at the end: {os.getloadavg()[0]:.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
