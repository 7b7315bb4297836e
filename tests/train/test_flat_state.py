"""A training state as one flat dict."""

import jax
import numpy as np

from fdlkit.train.flat_state import FlatState
from tests.train.toys import make_trainer


def test_a_state_goes_there_and_back_in_the_order_of_its_leaves():
    state = make_trainer().init_state()
    flat = FlatState(state).flatten(state)
    assert len(flat) > 9  # so that numbers have two digits
    assert [*map(id, jax.tree.leaves(flat))] == [*map(id, jax.tree.leaves(state))]
    back = FlatState(state).unflatten(flat)
    assert jax.tree.structure(back) == jax.tree.structure(state)
    assert [*map(id, jax.tree.leaves(back))] == [*map(id, jax.tree.leaves(state))]


def test_a_step_of_a_flat_state_gives_the_numbers_of_the_step_to_the_bit():
    trainer = make_trainer()
    setup, state = trainer.setup, trainer.init_state()
    batch = next(trainer.train_data.batches())
    flat = FlatState(setup.state)
    arrays = flat.flatten(jax.tree.map(np.asarray, state))
    plain, report, _ = setup.lower_train_step().compile()(state, batch, None)
    made, told, _ = (
        flat.setup_of(setup).lower_train_step().compile()(arrays, batch, None)
    )
    np.testing.assert_array_equal(told, report)
    jax.tree.map(np.testing.assert_array_equal, flat.unflatten(made), plain)


def test_xla_knows_each_array_by_its_path():
    setup = make_trainer().setup
    lowered = FlatState(setup.state).setup_of(setup).lower_train_step()
    text = lowered.as_text(debug_info=True)
    for path, _ in jax.tree.leaves_with_path(setup.state):
        assert jax.tree_util.keystr(path, simple=True, separator="/") in text
