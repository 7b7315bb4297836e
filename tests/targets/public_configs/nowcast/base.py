"""The experiment that all others begin with."""

import fiddle as fdl
import fiddle.experimental.auto_config

from .parts import (
    Best,
    Board,
    Experiment,
    Fitter,
    GruNet,
    Nowcast,
    Patience,
    RadarData,
    SampledRadar,
    adam,
    on_plateau,
)


@fiddle.experimental.auto_config.auto_config
def training() -> Experiment:
    """An ensemble of recurrent networks on radar images.

    Partials stay partials: they are called by what they are given to.
    """
    factory = fdl.Partial(
        SampledRadar,
        store="./radar.zarr",
        index="./cubes.csv",
        names=["rain_rate"],
        inputs=6,
        forecast=12,
        masks=True,
    )
    data = RadarData(
        factory=factory,
        splits={"time": {"train": 0.7, "val": 0.15}},
        batch_size=16,
    )
    module = Nowcast(
        network=GruNet(channels=1, blocks=5, noisy=False),
        members=2,
        loss="crps",
        loss_options={"over_time": 0.01},
        masked=True,
        optimizer=fdl.Partial(adam, rate=1e-4, fused=True),
        schedule=fdl.Partial(on_plateau, mode="min", factor=0.5),
    )
    fitter = Fitter(
        epochs=100,
        callbacks=[
            Best(monitor="val_loss"),
            Best(monitor="train_loss"),
            Patience(monitor="val_loss", epochs=100),
        ],
        logger=Board(folder="logs", name="nowcast"),
    )
    return Experiment(module=module, data=data, fitter=fitter)
