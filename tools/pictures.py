"""Makes the pictures of the documentation: one experiment in every format.

docs/pictures.md shows them all. Texts, and what `graphviz-pure` draws alike on every
platform, are compared by `--check`; the pictures of the page are taken with the
Chromium that is here, and left as they are where there is none.

Usage:
  python tools/pictures.py           writes docs/pictures.md and docs/pictures/
  python tools/pictures.py --check   exit code 1 if one is out of date
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fdlkit
from fdlkit.view import dot, mermaid, page, picture, scene

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
TARGET = "experiments/lm.py:tied"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# What `prefers-color-scheme` says, as Blink counts it.
SCHEMES = {"dark": 0, "light": 1}

DOCUMENT = """\
# One experiment, in every format

`{target}` shares one table between embedding and output (`&1`), has values that
follow others (dashed), and one tokenizer in three places (`&2`). Made by
`make pictures`; do not edit.

## `--format=html`

One file that needs no network and no server: tree and graph side by side, a search,
light and dark.

![The page in light colours](pictures/page-light.png)

![The page in dark colours](pictures/page-dark.png)

## `--format=svg`, `--format=png`

Drawn by Graphviz's `dot`, or by the port of it that `pip install 'fdlkit[viz]'` brings.
`--format=dot` writes the text that they draw.

![The graph](pictures/tied.svg)

With `--format=png --depth=1`, each row says how many nodes it hides:

![The graph down to one level](pictures/tied-depth-1.png)

## `--format=mermaid --depth=2`

Many pages draw this text by themselves, up to 500 edges and 50,000 characters.

```mermaid
{chart}```
"""


def files() -> dict[pathlib.Path, bytes]:
    """The files that are the same on every machine."""
    graph = fdlkit.snapshot(fdlkit.load(TARGET))
    # Not the program of this machine: others would draw it a little differently.
    program = shutil.which("graphviz-pure") or shutil.which(
        "graphviz-pure", path=str(pathlib.Path(sys.executable).parent)
    )
    if program is None:
        raise SystemExit("error: this needs graphviz-pure: make setup")
    svg = picture.draw(dot.dot(scene.scene(graph)), kind="svg", program=program)
    part = dot.dot(scene.scene(graph, depth=1), font=dot.PIXEL_FONT)
    png = picture.draw(part, kind="png", program=program)
    chart = mermaid.mermaid(scene.scene(graph, depth=2))
    return {
        FOLDER / "tied.svg": svg,
        FOLDER / "tied-depth-1.png": png,
        FOLDER.with_suffix(".md"): DOCUMENT.format(target=TARGET, chart=chart).encode(),
    }


def photograph(browser: str, scheme: str) -> None:
    """Takes a picture of the page."""
    graph = fdlkit.snapshot(fdlkit.load(TARGET))
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "page.html"
        whole = scene.scene(graph, defaults=True, limit=400)
        file.write_text(page.page(whole, TARGET), encoding="utf-8")
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
            *("--hide-scrollbars", f"--user-data-dir={name}/profile"),
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            *("--window-size=1500,900", "--virtual-time-budget=3000"),
            f"--screenshot={FOLDER / f'page-{scheme}.png'}",
            f"{file.as_uri()}#model.output",
        ]
        subprocess.run(
            command,
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def main(argv: list[str] | None = None) -> int:
    """Writes or checks the pictures; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    os.chdir(ROOT)  # the target's path is from there
    code = 0
    for path, data in files().items():
        fits = path.exists() and path.read_bytes() == data
        if options.check:
            code |= not fits
            print(f"{path.relative_to(ROOT)}: {'fits' if fits else 'is out of date'}")
        elif not fits:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            print(f"{path.relative_to(ROOT)}: written")
    if options.check:
        return code
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium is here: the pictures of the page are left as they are")
        return 0
    for scheme in SCHEMES:
        photograph(browser, scheme)
        print(f"docs/pictures/page-{scheme}.png: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
