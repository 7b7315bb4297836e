"""A config in a notebook: its page; elsewhere its tree."""

from __future__ import annotations

import html
import shutil
import sys
from typing import Any

from fdlkit.graph.model import Graph
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import page, scene, tree

_HEIGHT = 640


def display(config: Any, *, title: str = "", height: int = _HEIGHT) -> None:
    """Shows a config: in a notebook as a page, anywhere else as a tree on stdout.

    Args:
      config: A config, or the graph of one.
      title: What the page is called; by default what the root calls.
      height: The height of the page, in pixels.
    """
    graph = config if isinstance(config, Graph) else snapshot(config)
    frontend = _frontend()
    text = tree.render(
        tree.tree(graph),
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
    )
    if frontend is None:
        sys.stdout.write(text)
        return
    drawn = scene.scene(graph, defaults=True, limit=400)
    whole = page.page(drawn, title or drawn.boxes[0].title)
    # In a frame of its own the page can neither see nor disturb the notebook.
    style = f"width:100%;height:{height}px;border:1px solid #8885;border-radius:6px"
    frame = (
        f'<iframe sandbox="allow-scripts" allow="clipboard-write" style="{style}" '
        f'srcdoc="{html.escape(whole)}"></iframe>'
    )
    frontend({"text/html": frame, "text/plain": text}, raw=True)


def _frontend() -> Any:
    """What shows things in a notebook; None where this is none.

    A notebook has loaded IPython before anything of ours runs in it, so that nothing
    is imported here that is not there already.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display as show  # type: ignore[import-not-found]

    return show
