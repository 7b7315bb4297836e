"""An experiment with a model of its own, helpers and constants in a second file."""

import fiddle as fdl
import flax.linen as nn
import jax
import optax
import own_layers as layers
from own_layers import Mixer

from fdlkit import ref
from fdlkit.data import ByteTokenizer, Pipeline, StdlibCorpus, TokenWindows
from fdlkit.train.trainer import Trainer

jax.config.update("jax_default_matmul_precision", "float32")


class Lm(nn.Module):
    """A language model; its last layer has an automatic name."""

    hidden: int
    embed: nn.Module
    mixers: tuple[nn.Module, ...]

    @nn.compact
    def __call__(self, tokens):
        x = self.embed(tokens)
        for mixer in self.mixers:
            x = mixer(x)
        return nn.Dense(256)(layers.scaled(x))


def base():
    """Two mixers, one after the other."""
    mixer = fdl.Config(Mixer, width=ref("^hidden") * 2)
    return fdl.Config(
        Trainer,
        model=fdl.Config(
            Lm,
            hidden=16,
            embed=fdl.Config(nn.Embed, 256, ref("^hidden")),
            mixers=(mixer, fdl.Config(Mixer, width=ref("^hidden") + 8)),
        ),
        train_data=fdl.Config(
            Pipeline,
            source=fdl.Config(
                TokenWindows,
                fdl.Config(StdlibCorpus),
                fdl.Config(ByteTokenizer),
                length=16,
            ),
            batch_size=8,
        ),
        optimizer=fdl.Config(
            optax.adam,
            fdl.Config(
                optax.cosine_decay_schedule, 1e-2, decay_steps=ref("num_train_steps")
            ),
        ),
        num_train_steps=20,
        log_every=1,
    )
