"""What a finding offers works: put in its place, the finding is gone."""

from __future__ import annotations

import importlib
import pathlib

import pytest

from fdlkit.check.report import examine
from fdlkit.check.request import Request, parse_mesh
from fdlkit.check.subject import Subject
from fdlkit.graph import paths
from fdlkit.sharding.mesh import MESH_AXES

ROOT = pathlib.Path(__file__).parents[2]


def findings(case, change=None):
    """The axes' and shapes' findings of a case, after a change."""
    cfg = case.broken()
    if change is not None:
        change(cfg)
    request = Request(
        mesh=getattr(case, "MESH", None), devices=getattr(case, "DEVICES", None)
    )
    return examine(Subject(cfg, request), ["config", "axes", "shapes"]).findings


def put(cfg, path, value):
    """Sets what is at a path."""
    *above, last = paths.parse(path)
    for key in above:
        cfg = getattr(cfg, key) if isinstance(key, str) else cfg[paths.to_dict_key(key)]
    if isinstance(last, str):
        setattr(cfg, last, value)
    else:
        cfg[paths.to_dict_key(last)] = value


def remesh(cfg, text):
    """Sets every axis of the mesh."""
    sizes = dict.fromkeys(MESH_AXES, 1) | parse_mesh(text)
    for axis, size in sizes.items():
        setattr(cfg.mesh.ici, axis, size)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("three_heads_on_eight_devices", "AX003"),
        ("few_kv_heads", "AX003"),
        ("layers_that_fill_no_stages", "AX003"),
        ("ragged_rows_over_context", "AX004"),
        ("half_the_devices", "AX005"),
        ("eight_axes_for_one_device", "AX005"),
        ("batch_of_one", "AX013"),
        ("evaluation_of_some_rows", "AX014"),
        ("evaluation_without_end", "AX015"),
        ("key_paths_to_nowhere", "SH001"),
        ("ids_past_the_end", "SH007"),
    ],
)
def test_what_is_offered_mends_it(name, code, monkeypatch):
    monkeypatch.chdir(ROOT)
    case = importlib.import_module(f"tests.check.cases.{name}")
    broken = [one for one in findings(case) if one.code == code]
    assert broken
    for one in broken:
        assert one.nearest
        for offered in one.nearest[:1]:

            def change(cfg, one=one, offered=offered):
                if one.code == "AX005":
                    remesh(cfg, offered)
                else:
                    value = int(offered) if offered.isdecimal() else offered.strip("'")
                    put(cfg, one.path, value)

            after = findings(case, change)
            assert (one.code, one.path) not in [(f.code, f.path) for f in after]
            new = {f.code for f in after} - {f.code for f in findings(case)}
            assert not new, f"{one.path}={offered} breaks something else"
