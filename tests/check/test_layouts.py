"""What is wrong with meshes, rules and layouts, as pure functions."""

from __future__ import annotations

import pytest

from fdlkit.check.layouts import (
    BadNames,
    Dropped,
    Indivisible,
    NamedArray,
    UnknownName,
    faults,
    rule_faults,
)
from fdlkit.check.meshes import mesh_faults
from fdlkit.sharding.layout import DEFAULT_RULES
from fdlkit.sharding.mesh import MESH_AXES, Mesh, MeshAxes

EIGHT = {"data": 1, "fsdp": 1, "tensor": 8, "context": 1, "stage": 1}


def array(shape, names):
    return NamedArray("params/x", shape, names, ())


def test_three_heads_on_an_axis_of_eight_would_be_padded_by_167_percent():
    (fault,) = faults(array((3, 16), ("heads", "head_dim")), DEFAULT_RULES, EIGHT)
    assert isinstance(fault, Indivisible)
    assert (fault.padded, round(100 * fault.waste)) == (8, 167)
    assert fault.sizes == (8,)
    assert fault.cuts == (1,)


def test_sizes_that_work_are_multiples_and_cuts_are_divisors():
    (fault,) = faults(array((12,), ("mlp",)), DEFAULT_RULES, EIGHT)
    assert isinstance(fault, Indivisible)
    assert fault.sizes == (8, 16)
    assert fault.cuts == (4, 2, 1)


@pytest.mark.parametrize("names", [("embed",), ("embed", "mlp", "heads")])
def test_names_are_as_many_as_dims(names):
    (fault,) = faults(array((4, 4), names), DEFAULT_RULES, EIGHT)
    assert isinstance(fault, BadNames)


def test_a_name_stands_once():
    (fault,) = faults(array((8, 8), ("mlp", "mlp")), DEFAULT_RULES, EIGHT)
    assert isinstance(fault, BadNames)
    assert "twice" in fault.text


def test_a_name_without_a_rule_is_told_with_what_was_meant():
    (fault,) = faults(array((8,), ("emebd",)), DEFAULT_RULES, EIGHT)
    assert fault == UnknownName("emebd", "did you mean 'embed'?")


def test_a_rule_whose_mesh_axis_another_dim_has_is_dropped():
    (fault,) = faults(array((8, 8), ("heads", "mlp")), DEFAULT_RULES, EIGHT)
    assert fault == Dropped(1, "mlp", ("tensor",), "heads")


def test_a_rule_that_is_dropped_on_one_device_costs_nothing():
    one = dict.fromkeys(MESH_AXES, 1)
    assert not list(faults(array((8, 8), ("heads", "mlp")), DEFAULT_RULES, one))


def test_the_second_rule_of_a_name_stands_in_for_the_first():
    rules = (("heads", "tensor"), ("mlp", "tensor"), ("mlp", "fsdp"))
    mesh = {**EIGHT, "fsdp": 2}
    assert not list(faults(array((8, 8), ("heads", "mlp")), rules, mesh))


def test_wrong_rules_are_found_together_and_taken_out():
    rules = [
        ("batch", ("data", "data")),
        ("mlp", "tensr"),
        ["heads", "tensor"],
        "embed",
        ("vocab", None),
    ]
    found, usable = rule_faults(rules, MESH_AXES)
    assert [(f.index, f.kind) for f in found] == [
        (0, "twice"),
        (1, "unknown"),
        (3, "shape"),
    ]
    assert found[1].meant == "did you mean 'tensor'?"
    assert usable == (
        ("batch", ("data",)),
        ("mlp", None),
        ("heads", ("tensor",)),
        ("vocab", None),
    )


@pytest.mark.parametrize(
    ("ici", "dcn", "devices", "kind", "idle"),
    [
        ({"data": 4}, {}, 8, "product", 4),
        ({"data": 16}, {}, 8, "product", -8),
        ({"data": -1, "tensor": 3}, {}, 8, "product", 2),
        ({"data": 0}, {}, 8, "size", 0),
        ({"data": -1, "fsdp": -1}, {}, 8, "several", 0),
        ({"data": -1}, {"data": 3}, 8, "slices", 0),
    ],
)
def test_a_mesh_that_does_not_fit_is_told_with_numbers(ici, dcn, devices, kind, idle):
    mesh = Mesh(ici=MeshAxes(**ici), dcn=MeshAxes(**dcn))
    (fault,) = mesh_faults(mesh, devices=devices)
    assert (fault.kind, fault.idle) == (kind, idle)


def test_the_sizes_that_are_offered_fit():
    for sizes in ({"data": 4}, {"data": 3, "tensor": 2}, {"tensor": 16}):
        (fault,) = mesh_faults(Mesh(ici=MeshAxes(**sizes)), devices=8)
        assert fault.nearest
        for offered in fault.nearest:
            pairs = (part.split("=") for part in offered.split(","))
            mended = Mesh(ici=MeshAxes(**{axis: int(size) for axis, size in pairs}))
            assert not list(mesh_faults(mended, devices=8)), offered


@pytest.mark.parametrize(
    ("ici", "dcn", "devices"),
    [
        ({"data": -1}, {}, 8),
        ({"data": 2, "tensor": 4}, {}, 8),
        ({"fsdp": -1}, {"data": 2}, 8),
        ({"data": 2, "tensor": 4}, {}, None),
    ],
)
def test_a_mesh_that_fits_has_no_fault(ici, dcn, devices):
    mesh = Mesh(ici=MeshAxes(**ici), dcn=MeshAxes(**dcn))
    assert not list(mesh_faults(mesh, devices=devices))
