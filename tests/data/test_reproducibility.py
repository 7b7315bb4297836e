"""Global batch k is a function of (seed, k), and a saved state is exact."""

import itertools
import json

import grain
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fdlkit.data import (
    ByteTokenizer,
    Document,
    InMemory,
    Mixture,
    PackedDocuments,
    Pipeline,
    TokenWindows,
    process_rows,
)


class Texts:
    """A corpus in memory."""

    def __init__(self, *texts):
        self.texts = texts

    def documents(self):
        for number, text in enumerate(self.texts):
            yield Document(name=f"{number:03}", text=text)


class Squares:
    """An object with a length and `[]`, and nothing else."""

    def __len__(self):
        return 23

    def __getitem__(self, index):
        return {"x": np.array([index, index**2], np.float32)}


class AddNoise(grain.transforms.RandomMap):
    def random_map(self, element, rng):
        return {**element, "noise": rng.normal(size=3)}


def texts(start):
    return Texts(*(bytes([start + n]) * (n * 7 % 60) for n in range(40)))


def numbers(start, size):
    return InMemory({"x": np.arange(start, start + size), "y": np.ones((size, 2))})


SOURCES = {
    "in_memory": lambda: numbers(0, 37),
    "one_by_one": Squares,
    "function": lambda: lambda: {"x": np.arange(31)},
    "windows": lambda: TokenWindows(texts(40), ByteTokenizer(), length=16),
    "packed": lambda: PackedDocuments(texts(40), ByteTokenizer(), length=16),
    "mixture": lambda: Mixture([numbers(0, 37), numbers(1000, 11)], [3, 1]),
    "nested_mixture": lambda: Mixture(
        [
            TokenWindows(texts(40), ByteTokenizer(), length=16),
            Mixture(
                [
                    TokenWindows(texts(90), ByteTokenizer(), length=16),
                    TokenWindows(texts(140), ByteTokenizer(), length=16),
                ],
                [1, 2],
            ),
        ],
        [1.5, 1],
    ),
}


@pytest.fixture(params=SOURCES, scope="module")
def source(request):
    return SOURCES[request.param]()


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def same(left, right):
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype
        and np.array_equal(left[name], right[name])
        for name in left
    )


def first_batches(pipeline, n=100, **kwargs):
    return list(itertools.islice(pipeline.batches(**kwargs), n))


settings = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([4, 8, 12]),
        "seed": st.integers(0, 2**40),
        "shuffle": st.booleans(),
        "num_epochs": st.sampled_from([None, 1, 3]),
        "remainder": st.sampled_from(["drop", "pad"]),
        "transforms": st.sampled_from([(), (AddNoise(),)]),
    }
)


@hypothesis.settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(settings=settings)
def test_processes_read_together_what_one_process_reads(source, settings):
    pipeline = Pipeline(source=source, **settings)
    whole = first_batches(pipeline, 15)
    for num_processes in (1, 2, 4):
        parts = [
            first_batches(
                pipeline,
                15,
                rows=process_rows(
                    pipeline.batch_size,
                    process_index=process,
                    num_processes=num_processes,
                ),
            )
            for process in range(num_processes)
        ]
        joined = [
            {name: np.concatenate([rows[name] for rows in batch]) for name in batch[0]}
            for batch in zip(*parts, strict=True)
        ]
        assert len(joined) == len(whole)
        assert all(map(same, joined, whole))


@pytest.mark.parametrize("num_epochs", [None, 2])
@pytest.mark.parametrize("num_threads", [0, 2])
def test_a_state_restores_exactly_at_every_position(source, num_epochs, num_threads):
    pipeline = Pipeline(
        source=source,
        transforms=[AddNoise()],
        batch_size=4,
        num_epochs=num_epochs,
        remainder="pad",
    )
    undisturbed = first_batches(pipeline, 15)
    running = pipeline.batches(num_threads=num_threads)
    for position in range(len(undisturbed)):
        state = json.loads(json.dumps(running.get_state()))
        fresh = pipeline.batches(rows=slice(2, 4), num_threads=num_threads)
        fresh.set_state(state)
        assert fresh.get_state() == state
        rest = list(itertools.islice(fresh, 2))
        fresh.close()
        expected = [
            {name: array[2:] for name, array in batch.items()}
            for batch in undisturbed[position : position + 2]
        ]
        assert all(map(same, rest, expected))
        assert same(next(running), undisturbed[position])
    running.close()


def test_a_running_iterator_can_be_set_back(source):
    batches = Pipeline(source=source, batch_size=4).batches(num_threads=2)
    state = batches.get_state()
    first = [next(batches) for _ in range(5)]
    batches.set_state(state)
    assert all(map(same, [next(batches) for _ in range(5)], first))
    batches.close()


def test_the_state_is_the_same_in_every_process(source):
    pipeline = Pipeline(source=source, batch_size=4)
    one, other = pipeline.batches(rows=slice(0, 1)), pipeline.batches(rows=slice(1, 4))
    next(one), next(other)
    assert one.get_state() == other.get_state() == _advanced(pipeline, 1).get_state()
    assert one.get_state() != _advanced(pipeline, 2).get_state()


def _advanced(pipeline, n):
    batches = pipeline.batches()
    for _ in range(n):
        next(batches)
    return batches


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_has_every_example_once(shuffle):
    pipeline = Pipeline(
        source=numbers(0, 37), batch_size=37, shuffle=shuffle, num_epochs=3
    )
    epochs = [batch["x"].tolist() for batch in pipeline.batches()]
    assert [sorted(epoch) for epoch in epochs] == [list(range(37))] * 3
    assert (epochs[0] != epochs[1]) == shuffle
    assert (epochs[0] != list(range(37))) == shuffle


def test_seeds_that_follow_each_other_give_unrelated_orders():
    # Not an order that is the other's, an epoch later.
    orders = set()
    for seed in range(4):
        pipeline = Pipeline(
            source=numbers(0, 37), batch_size=37, num_epochs=4, seed=seed
        )
        orders |= {tuple(batch["x"]) for batch in pipeline.batches()}
    assert len(orders) == 16


def test_random_transforms_differ_between_examples_and_seeds():
    def noise(seed):
        pipeline = Pipeline(
            source=numbers(0, 8),
            transforms=[AddNoise()],
            batch_size=8,
            num_epochs=2,
            seed=seed,
        )
        return np.concatenate([batch["noise"] for batch in pipeline.batches()])

    drawn = np.concatenate([noise(0), noise(1)])
    assert len(np.unique(drawn)) == drawn.size == 2 * 2 * 8 * 3


@pytest.mark.parametrize(
    ("weights", "shares"), [([3, 1], [0.75, 0.25]), ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5])]
)
def test_a_mixture_gives_each_source_its_share_in_any_stretch(weights, shares):
    sources = [numbers(1000 * n, 50 + 30 * n) for n in range(len(weights))]
    pipeline = Pipeline(source=Mixture(sources, weights), batch_size=40)
    batches = pipeline.batches()
    for _ in range(20):
        counts = np.bincount(next(batches)["x"] // 1000, minlength=len(weights))
        assert np.abs(counts - np.multiply(shares, 40)).max() <= 1


def test_an_epoch_of_a_mixture_repeats_no_example():
    source = Mixture([numbers(0, 37), numbers(1000, 11)], [1, 1])
    pipeline = Pipeline(source=source, batch_size=1, num_epochs=1)
    drawn = [int(batch["x"][0]) for batch in pipeline.batches()]
    # Eleven of each, and one more of the larger before the smaller would repeat.
    assert len(drawn) == len(set(drawn)) == 23
    assert sorted(x for x in drawn if x >= 1000) == list(range(1000, 1011))
