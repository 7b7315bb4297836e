"""Changes of several values that belong together."""

import inspect

import fiddle as fdl

from .parts import RandomRadar, SystemInfo, Tracker


def variables(cfg: fdl.Config, names: list[str]) -> None:
    """What is read, and how many channels the network has for it."""
    cfg.data.factory.names = names
    network = cfg.module.network.__fn_or_cls__
    if "channels" in inspect.signature(network.__init__).parameters:
        cfg.module.network.channels = len(names)


def masking(cfg: fdl.Config, on: bool) -> None:
    """Masks from the data, and a loss that heeds them."""
    cfg.data.factory.masks = on
    cfg.module.masked = on


def random_samples(cfg: fdl.Config) -> None:
    """Another class of data, with the arguments of the one before."""
    before = cfg.data.factory
    cfg.data.factory = fdl.Partial(
        RandomRadar,
        store=before.store,
        names=before.names,
        masks=before.masks,
        options=getattr(before, "options", None),
    )


def from_bucket(cfg: fdl.Buildable, store: str, address: str) -> None:
    """Reads without a password."""
    cfg.data.factory.store = store
    cfg.data.factory.options = {"anon": True, "client": {"address": address}}


def tracked(cfg: fdl.Config) -> None:
    """Logs to a server in place of a folder."""
    cfg.fitter.logger = fdl.Config(Tracker, experiment=cfg.fitter.logger.name)
    cfg.fitter.callbacks.append(fdl.Config(SystemInfo))
