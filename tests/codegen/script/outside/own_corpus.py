"""An experiment on texts of one's own, in a mixture."""

import dataclasses
from collections.abc import Iterator

import fiddle as fdl
import flax.linen as nn
import optax

from fdlkit import data
from fdlkit.data.corpus import Document
from fdlkit.train.trainer import Trainer

LINES = (
    "Tiger, tiger, burning bright",
    "In the forests of the night,",
    "What immortal hand or eye",
    "Could frame thy fearful symmetry?",
)


@dataclasses.dataclass(frozen=True)
class Poem:
    """One poem, many times over."""

    times: int
    upper: bool = False

    def documents(self) -> Iterator[Document]:
        """A document a repetition."""
        text = "\n".join(LINES)
        for number in range(self.times):
            shown = text.upper() if self.upper else text
            yield Document(name=f"{number}.txt", text=shown.encode())


class Bigrams(nn.Module):
    """What follows each token."""

    @nn.compact
    def __call__(self, tokens):
        return nn.Embed(256, 256)(tokens)


def windows(upper):
    """Windows over the poem."""
    return fdl.Config(
        data.TokenWindows,
        fdl.Config(Poem, times=20, upper=upper),
        fdl.Config(data.ByteTokenizer),
        length=12,
    )


def base():
    """Both spellings of it."""
    return fdl.Config(
        Trainer,
        model=fdl.Config(Bigrams),
        train_data=fdl.Config(
            data.Pipeline,
            source=fdl.Config(data.Mixture, [windows(True), windows(False)], [1, 3]),
            batch_size=8,
        ),
        optimizer=fdl.Config(optax.adam, 0.05),
        num_train_steps=20,
        log_every=1,
    )
