"""Typed changes to a config: `path=value`, tags and fiddlers, all or none."""

from fdlkit.overrides.apply import Override, apply

__all__ = ["Override", "apply"]
