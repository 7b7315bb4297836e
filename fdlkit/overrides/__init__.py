"""Typed changes to a config: `path=value`, tags and fiddlers, all or none."""
