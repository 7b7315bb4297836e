"""One base, experiments that each change one before them, and a fiddler."""

import fiddle as fdl
from fiddle.experimental import auto_config

from scoring import tags, work


@auto_config.auto_config
def base() -> work.Scorer:
    """A line through the origin's neighbourhood."""
    model = work.LineModel(
        slope=-1.5, offset=0.25, dtype=tags.NumberType.new("float32")
    )
    reader = work.LineReader(path="numbers.txt")
    return work.Scorer(model, reader)


first = base.as_buildable


def steeper() -> fdl.Config[work.Scorer]:
    """A steeper line fits better?"""
    config = first()
    config.model.slope = 9
    return config


def steeper_and_higher() -> fdl.Config[work.Scorer]:
    config = steeper()
    config.model.offset = 12
    return config


def another_source() -> fdl.Config[work.Scorer]:
    """Back to the base, with a path in place of the reader."""
    config = first()
    config.reader = "elsewhere"
    return config


def exchange(cfg: fdl.Config[work.Scorer]):
    """Slope and offset change places."""
    cfg.model.slope, cfg.model.offset = cfg.model.offset, cfg.model.slope
