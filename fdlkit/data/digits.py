"""Handwritten digits, which come with scikit-learn: real images, no download."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util

import numpy as np

from fdlkit.data.corpus import Split
from fdlkit.data.source import Source
from fdlkit.data.spec import ArraySpec
from fdlkit.errors import MissingPackageError

# As scikit-learn has them: UCI's "Optical Recognition of Handwritten Digits", the
# test set, 16 shades of grey.
_DARKEST = 16.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Digits(Source):
    """1,797 images of handwritten digits, every fifth of which is held out.

    Entries:
      image: `[height=8, width=8, channels=1]` float32, from 0 (paper) to 1.
      label: `[]` int32, the digit.

    Attributes:
      split: The images to train on, or those held out.
    """

    split: Split = "train"

    @functools.cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        if importlib.util.find_spec("sklearn") is None:
            raise MissingPackageError("the data set Digits", "scikit-learn", "digits")
        # Not before it is read: the package is an extra, and takes a second to load.
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        # The writers come one after another, so both splits have all of them.
        held_out = np.arange(len(labels)) % 5 == 4
        chosen = held_out if self.split == "eval" else ~held_out
        return {
            "image": (images[chosen] / _DARKEST)
            .astype(np.float32)
            .reshape(-1, 8, 8, 1),
            "label": labels[chosen].astype(np.int32),
        }

    @property
    def fingerprint(self) -> str:
        """The name of the set and the split."""
        return f"digits/{self.split}"

    def __len__(self) -> int:
        return len(self._columns["label"])

    def take(self, indices: np.ndarray, epochs: np.ndarray) -> dict[str, np.ndarray]:
        """The images at `indices`, the same in every epoch.

        Raises:
          MissingPackageError: scikit-learn is not installed.
        """
        del epochs
        return {name: array[indices] for name, array in self._columns.items()}

    def example_spec(self) -> dict[str, ArraySpec]:
        """The specs of an image; needs no scikit-learn."""
        return {
            "image": ArraySpec(
                shape=(8, 8, 1), dtype=np.dtype(np.float32), axes=(None, None, None)
            ),
            "label": ArraySpec(shape=(), dtype=np.dtype(np.int32), axes=()),
        }
