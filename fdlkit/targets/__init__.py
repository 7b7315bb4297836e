"""Finding a config by what a person types: `experiments/lm.py:base`."""

from fdlkit.targets.listing import Entry, list_configs
from fdlkit.targets.loading import LoadedTarget, load

__all__ = ["Entry", "LoadedTarget", "list_configs", "load"]
