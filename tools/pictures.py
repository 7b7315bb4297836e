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
from fdlkit.diff.compare import compare
from fdlkit.view import dot, mermaid, page, picture, scene
from fdlkit.view.union import Union, union

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
TARGET = "experiments/lm.py:tied"
OTHER = "experiments/lm.py:base"
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

## `fdlkit diff {other} {target}`

With `--format=html`: the list of changes, and both configs as one tree and one graph.
What is gone is dashed, and struck out.

![The page of the difference](pictures/diff-light.png)

![The page of the difference in dark colours](pictures/diff-dark.png)

With `--format=svg`, the nodes that changes are at:

![The drawing of the difference](pictures/diff.svg)
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
        FOLDER / "diff.svg": picture.draw(
            dot.dot(united(whole=False).scene), kind="svg", program=program
        ),
        FOLDER.with_suffix(".md"): DOCUMENT.format(
            target=TARGET, other=OTHER, chart=chart
        ).encode(),
    }


def united(*, whole: bool) -> Union:
    """The two experiments as one drawing."""
    old, new = (fdlkit.snapshot(fdlkit.load(target)) for target in (OTHER, TARGET))
    limit = page.LIMIT if whole else 40
    return union(compare(old, new), whole=whole, defaults=whole, limit=limit)


def pages() -> dict[str, tuple[str, str]]:
    """The pages by the names of their pictures, and the path at which each is open."""
    graph = fdlkit.snapshot(fdlkit.load(TARGET))
    one = scene.scene(graph, defaults=True, limit=page.LIMIT)
    both = page.diff_page(united(whole=True), f"{OTHER} → {TARGET}")
    return {
        "page": (page.page(one, TARGET), "model.output"),
        "diff": (both, "model"),
    }


def photograph(browser: str, text: str, path: str, scheme: str, to: str) -> None:
    """Takes a picture of a page that is open at a path."""
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "page.html"
        file.write_text(text, encoding="utf-8")
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
            *("--hide-scrollbars", f"--user-data-dir={name}/profile"),
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            *("--window-size=1500,900", "--virtual-time-budget=3000"),
            f"--screenshot={FOLDER / to}",
            f"{file.as_uri()}#{path}",
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
    for name, (text, at) in pages().items():
        for scheme in SCHEMES:
            to = f"{name}-{scheme}.png"
            photograph(browser, text, at, scheme, to)
            print(f"docs/pictures/{to}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
