"""For the tests of your own experiments.

    from fdlkit.testing import check_golden

    def test_base_is_as_kept():
        check_golden("experiments/lm.py:base")

It fails with what has changed. To accept that, run the tests with
`FDLKIT_UPDATE_GOLDEN=1`; or, where pytest is told of this module (`-p fdlkit.testing`,
for instance in `addopts`), with `--fdlkit-update-golden`; or run what `fdlkit golden`
says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

UPDATE = "FDLKIT_UPDATE_GOLDEN"
_OPTION = "--fdlkit-update-golden"


def check_golden(
    config: Any, path: str | os.PathLike[str] | None = None, *, update: bool = False
) -> None:
    """Fails if a config is not what its golden files say.

    Args:
      config: A target, `"experiments/lm.py:base"`, or a config.
      path: Where the files are, without their endings: for `tests/golden/mine`,
        `mine.config.txt` and, of an experiment, `mine.params.txt`. A target has its
        own place, that of `fdlkit golden`; a config needs this one.
      update: Whether to write the files in place of comparing; so does the environment
        variable `FDLKIT_UPDATE_GOLDEN`, unless it is empty or 0.

    Raises:
      AssertionError: It is not, or nothing is kept yet; the message is the difference.
      UserError: There is no such target, or it cannot be built.
    """
    __tracebackhide__ = True
    from fdlkit.golden import keeping, places, texts
    from fdlkit.targets.overridden import load_overridden

    if isinstance(config, str):
        loaded, _ = load_overridden(config, ())
        name, config = config, loaded.cfg
        place = places.place(name, loaded.file) if path is None else None
    elif path is None:
        raise TypeError("a config needs a path for its golden files")
    else:
        name, place = os.fspath(path), None
    if place is None:
        assert path is not None
        place = places.Place.of(path)
    outcome = keeping.compare(name, texts.texts(config), place)
    if update or os.environ.get(UPDATE, "0") not in ("", "0"):
        keeping.update([outcome])
    elif not outcome.is_same:
        lines = [f"{name} is not as kept", *outcome.lines()]
        raise AssertionError("\n  ".join([*lines, f"to accept: {UPDATE}=1 pytest ..."]))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option, for a pytest that is told of this module."""
    parser.getgroup("fdlkit").addoption(
        _OPTION,
        action="store_true",
        help="write the golden files of check_golden, instead of comparing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The option is another way to set the variable, for as long as pytest runs."""
    if config.getoption(_OPTION):
        before = os.environ.get(UPDATE)
        os.environ[UPDATE] = "1"
        config.add_cleanup(lambda: _restore(before))


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(UPDATE, None)
    else:
        os.environ[UPDATE] = before
