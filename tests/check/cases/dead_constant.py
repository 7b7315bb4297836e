"""A class of constants with one that is misspelt in a subclass."""

from __future__ import annotations

import fiddle as fdl

from tests.check.house import Tower, experiment

UNREAD_LIMIT = 3


class Small:
    TOWER_WIDTH = 8

    def task(self):
        return experiment(model=fdl.Config(Tower, width=self.TOWER_WIDTH))


class Large(Small):
    TOWER_WIDHT = 64


def broken():
    return Large().task()
