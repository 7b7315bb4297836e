from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


class SampledRadar:
    def __init__(
        self,
        store: str,
        index: str,
        names: list[str],
        inputs: int = 4,
        forecast: int = 8,
        masks: bool = False,
        options: dict[str, Any] | None = None,
    ):
        self.store, self.index, self.names = store, index, names
        self.steps = inputs + forecast
        self.masks = masks
        self.options = options


class RandomRadar:
    def __init__(
        self,
        store: str,
        names: list[str],
        masks: bool = False,
        options: dict[str, Any] | None = None,
    ):
        self.store, self.names, self.masks = store, names, masks
        self.options = options


class RadarData:
    def __init__(
        self,
        factory: Callable[..., Any],
        splits: dict[str, dict[str, float]],
        batch_size: int = 1,
    ):
        self.dataset = factory()
        self.splits = splits
        self.batch_size = batch_size


class GruNet:
    def __init__(self, channels: int = 1, blocks: int = 4, noisy: bool = True):
        self.channels, self.blocks, self.noisy = channels, blocks, noisy


def adam(params, rate: float = 1e-3, fused: bool = False):
    return (params, rate, fused)


def on_plateau(optimizer, mode: str = "min", factor: float = 0.1):
    return (optimizer, mode, factor)


class Nowcast:
    def __init__(
        self,
        network: GruNet,
        members: int,
        loss: str,
        loss_options: dict[str, float],
        masked: bool,
        optimizer: Callable[..., Any],
        schedule: Callable[..., Any],
    ):
        self.network, self.members, self.masked = network, members, masked
        self.loss = (loss, loss_options)
        self.optimizer = schedule(optimizer([1.0]))


class Best:
    def __init__(self, monitor: str, keep: int = 1):
        self.monitor, self.keep = monitor, keep


class Patience:
    def __init__(self, monitor: str, epochs: int = 3):
        self.monitor, self.epochs = monitor, epochs


class Board:
    def __init__(self, folder: str, name: str):
        self.folder, self.name = folder, name


class Tracker:
    def __init__(self, experiment: str, address: str | None = None):
        self.experiment, self.address = experiment, address


class SystemInfo:
    pass


class Fitter:
    def __init__(self, epochs: int, callbacks: list[Any], logger: Any = None):
        self.epochs, self.callbacks, self.logger = epochs, callbacks, logger


@dataclasses.dataclass
class Experiment:
    module: Nowcast
    data: RadarData
    fitter: Fitter
