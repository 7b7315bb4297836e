"""The digits that come with scikit-learn, split the same way every time."""

from __future__ import annotations

import numpy as np
import pytest

from fdlkit.data.digits import Digits
from fdlkit.data.tokenizer import AsciiTokenizer
from fdlkit.errors import UserError


def everything(source):
    indices = np.arange(len(source))
    return source.take(indices, np.zeros_like(indices))


def test_both_splits_together_are_the_set_and_share_no_image():
    train, held_out = everything(Digits()), everything(Digits(split="eval"))
    assert (len(train["label"]), len(held_out["label"])) == (1438, 359)
    seen = {image.tobytes() for image in train["image"]}
    # A few of the scans are alike to the pixel.
    alike = sum(image.tobytes() in seen for image in held_out["image"])
    assert alike == 0
    for rows in (train, held_out):
        assert set(rows["label"].tolist()) == set(range(10))


def test_an_example_is_as_its_spec_says():
    source = Digits(split="eval")
    for name, array in everything(source).items():
        spec = source.example_spec()[name]
        assert (array.shape[1:], array.dtype) == (spec.shape, spec.dtype)
    image = everything(source)["image"]
    assert image.min() == 0.0 and image.max() == 1.0


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    assert Digits().example_spec()["image"].shape == (8, 8, 1)
    with pytest.raises(UserError, match=r"pip install 'fdlkit\[digits\]'"):
        len(Digits())


def test_ascii_tokens_are_below_128_and_stand_for_a_byte_each():
    tokenizer = AsciiTokenizer()
    tokens = tokenizer.encode("naïve")
    assert tokens.tolist() == [*b"na", 26, 26, *b"ve"]
    assert tokenizer.bytes_per_token[tokens].sum() == len("naïve".encode())
    assert tokenizer.decode(tokenizer.encode("plain")) == "plain"
