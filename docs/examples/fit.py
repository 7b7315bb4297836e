"""A program of your own that takes an experiment from its command line.

    python docs/examples/fit.py --exp=docs/examples/fits.py:line

and then, any number of times, in the order in which they are to be applied:

    --exp.set=steps=300
    --exp.set=optimizer=optax.adam
    --exp.fiddler="curve(degree=5)"
"""

from __future__ import annotations

from absl import app

import fdlkit
from fdlkit import flags

EXP = flags.DEFINE_experiment("exp", required=True, help="What to fit.")


def main(argv: list[str]) -> None:
    """Builds what the command line asks for, and runs it."""
    if len(argv) > 1:
        raise app.UsageError(f"what is {argv[1]}?")
    fit = fdlkit.build(EXP.value)
    print(f"degree {fit.degree}, {fit.steps} steps: loss {fit.run():.3f}")


if __name__ == "__main__":
    app.run(main)
