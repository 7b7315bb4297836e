"""Config files as people outside this project write them can be shown, changed, built.

The files in `public_configs/` are this project's own; each has the shape of a public
one, in the Fiddle features that it uses and in how its parts hang together:

- `scoring/`: google/fiddle, `fiddle/absl_flags/example/configs.py` with its
  `business_logic.py` and `tags.py` (auto_config, a tagged value in it, another name for
  `as_buildable`, experiments that change one another).
- `pretrain.py`: google-research/t5x, `t5x/fiddle/configs/pretrain.py` and
  `t5x/fiddle/examples/t5_1_1.py` (functions with arguments, an ArgFactory in a Partial,
  `copy_with`, functions as values).
- `measures/`: JesseFarebro/distributional-sr, `dsm/configs.py` (Flax and Optax in
  auto_config, tags in annotations and by `with_tags`, selectors, fiddlers that are
  `functools.partial`s).
- `recipes/`: NVIDIA/NeMo, `nemo/collections/llm/recipes/llama3_8b.py` with NeMo-Run's
  `Config`, `Partial` and `factory` (kinds of Buildables of its own, a Partial as root
  whose arguments are not all set, registered functions).
- `nowcast/`: mlcast-community/mlcast, `src/mlcast/config/base.py` and `fiddlers.py`
  (relative imports, the decorator by its dotted name, Partials in auto_config, fiddlers
  in another module).
- `ranking.py`: AI-Hypercomputer/RecML, `recml/examples/dlrm_experiment.py` (one node
  shared by many, generic dataclasses, lists of configs, string annotations).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import sys

import fiddle as fdl
import pytest

import fdlkit
from fdlkit.cli.main import main
from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override
from fdlkit.targets.listing import list_configs
from fdlkit.targets.overridden import load_overridden

FOLDER = pathlib.Path(__file__).parent / "public_configs"

TARGETS = [
    "scoring/configs.py:base",
    "scoring/configs.py:first",
    "scoring/configs.py:steeper_and_higher",
    "scoring/configs.py:another_source",
    "pretrain.py:small",
    "measures/configs.py:base",
    "measures/configs.py:again",
    "measures/configs.py:one_step",
    "measures/configs.py:median",
    "recipes/llama.py:model",
    "recipes/llama.py:trainer(tensor=2)",
    "recipes/llama.py:pretrain_recipe",
    "recipes/llama.py:fast_recipe",
    "recipes/llama.py:finetune_recipe(nodes=3)",
    "nowcast/base.py:training",
    "ranking.py:experiment",
]

LLAMA = "recipes/llama.py:pretrain_recipe"

# Target, an override, where to look, what is there then.
CHANGES = [
    ("scoring/configs.py:base", "set model.slope=2.5", "model.slope", 2.5),
    ("scoring/configs.py:base", "set reader.skip=3", "reader.skip", 3),
    ("scoring/configs.py:base", "tag NumberType=f16", "model.dtype", "f16"),
    ("scoring/configs.py:base", "fiddler exchange", "model.slope", 0.25),
    ("scoring/configs.py:first", "set model.offset+=1", "model.offset", 1.25),
    ("pretrain.py:small", "set train_data.batch_size=1e3",
     "train_data.batch_size", 1000),
    ("pretrain.py:small", "set train_data.lengths['inputs']=7", "train_data.lengths",
     {"inputs": 7, "targets": 114}),
    ("pretrain.py:small", "set trainer_cls.learning_rate.warmup*=2",
     "trainer_cls.learning_rate.warmup", 200),
    ("pretrain.py:small", "set checkpoints.save.keep=None",
     "checkpoints.save.keep", None),
    ("pretrain.py:small", "set **.seed=5", "eval_data.seed", 5),
    ("measures/configs.py:base", "set discount=0.5", "discount", 0.5),
    ("measures/configs.py:base", "set generator.width=32", "generator.width", 32),
    ("measures/configs.py:base", "tag StepSize=0.25",
     "critic_optimizer.learning_rate", 0.25),
    ("measures/configs.py:base", "set kernel.bandwidths=(1,2)", "kernel.bandwidths",
     (1.0, 2.0)),
    ("measures/configs.py:base", "fiddler gaussian", "kernel.bandwidths", (1.0,)),
    ("measures/configs.py:base", "fiddler energy(power=3)", "distance.power", 3.0),
    ("measures/configs.py:base", "fiddler adamw_everywhere",
     "generator_optimizer.eps", 1.5e-4),
    (LLAMA, "set trainer.strategy.tensor=4", "trainer.strategy.tensor", 4),
    (LLAMA, "set trainer.callbacks[0].every=5", "trainer.callbacks[0].every", 5),
    (LLAMA, "set optim.betas=(0.8,0.9)", "optim.betas", (0.8, 0.9)),
    (LLAMA, "set optim=Adam(rate=1)", "optim.rate", 1.0),
    (LLAMA, "set model.config.hidden*=2", "model.config.hidden", 128),
    ("nowcast/base.py:training", "set data.factory.names=['rain','wind']",
     "data.factory.names", ["rain", "wind"]),
    ("nowcast/base.py:training", "set fitter.callbacks[-1].epochs=2",
     "fitter.callbacks[2].epochs", 2),
    ("nowcast/base.py:training", "set module.optimizer.fused=no",
     "module.optimizer.fused", False),
    ("nowcast/base.py:training",
     "fiddler nowcast.fiddlers:variables(names=['a', 'b', 'c'])",
     "module.network.channels", 3),
    ("nowcast/base.py:training", "fiddler nowcast.fiddlers:tracked",
     "fitter.logger.experiment", "nowcast"),
    ("nowcast/base.py:training", "fiddler nowcast.fiddlers:random_samples",
     "data.factory.masks", True),
    ("ranking.py:experiment", "set task.model.bottom[0]=8", "task.model.bottom",
     [8, 32]),
    ("ranking.py:experiment", "set task.model.features.features[4].combine=sum",
     "task.eval_data.features.features[4].combine", "sum"),
    ("ranking.py:experiment", "set task.optimizer=optax.sgd",
     "task.optimizer.learning_rate", 0.01),
    ("ranking.py:experiment", "set **.batch=64", "task.eval_data.batch", 64),
]  # fmt: skip


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """The files' modules are gone after each test."""
    before_path, before = list(sys.path), set(sys.modules)
    monkeypatch.chdir(FOLDER)
    yield
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def plain(value):
    """Built objects as data, to compare those that have no equality of their own."""
    if isinstance(value, functools.partial):
        return ["partial", value.func, plain(value.args), plain(value.keywords)]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [type(value), {f.name: plain(getattr(value, f.name)) for f in fields}]
    if callable(value):  # each closure is made anew
        return getattr(value, "__qualname__", type(value))
    if hasattr(value, "__dict__"):
        return [type(value), plain(vars(value))]
    return value


def at(cfg, path):
    for part in path.replace("[", ".[").split("."):
        cfg = cfg[int(part[1:-1])] if part.startswith("[") else getattr(cfg, part)
    return cfg


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_shown_as_a_tree_and_as_json(target, capsys):
    assert main(["show", target]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) >= 3
    assert err == ""
    assert main(["show", target, "--format=json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["nodes"]
    assert err == ""


@pytest.mark.parametrize("target", TARGETS)
def test_its_json_is_the_same_config(target):
    cfg = fdlkit.load(target)
    text = fdlkit.dumps(cfg)
    packages = ("scoring", "pretrain", "measures", "recipes", "nowcast", "ranking")
    own = [name for name in sys.modules if name.split(".")[0] in packages]
    assert fdlkit.equal(fdlkit.loads(text, allow=own), cfg)


@pytest.mark.parametrize("target", TARGETS)
def test_it_builds_what_fiddle_builds(target):
    cfg = fdlkit.load(target)
    assert plain(fdlkit.build(cfg)) == plain(fdl.build(cfg))


@pytest.mark.parametrize(
    ("target", "change", "path", "expected"),
    CHANGES,
    ids=[f"{target.rpartition(':')[0]}-{change}" for target, change, *_ in CHANGES],
)
def test_it_can_be_changed_and_built(target, change, path, expected):
    kind, _, text = change.partition(" ")
    loaded, notes = load_overridden(target, [Override(kind, text)])
    found = at(loaded.cfg, path)
    if isinstance(found, fdl.Buildable):  # a tagged value
        found = found.value
    assert found == expected
    assert not any("JAX" in note for note in notes)
    assert plain(fdlkit.build(loaded.cfg)) == plain(fdl.build(loaded.cfg))


def test_every_file_has_changes_of_three_sorts():
    files = {target.partition(":")[0] for target in TARGETS}
    for file in files:
        changes = [change for target, change, *_ in CHANGES if target.startswith(file)]
        assert len(changes) >= 3, file


@pytest.mark.parametrize(
    ("target", "change", "hint"),
    [
        ("scoring/configs.py:base", "set model.slop=1", "did you mean 'slope'?"),
        ("scoring/configs.py:base", "tag NumbrType=x", "did you mean 'NumberType'?"),
        ("measures/configs.py:base", "fiddler gausian", "did you mean 'gaussian'?"),
        (LLAMA, "set trainer.strategy.tensr=4", "did you mean 'tensor'?"),
        (LLAMA, "set trainer.strategy.tensor=four", "'four' is not an int"),
        ("nowcast/base.py:training", "set data.factry.masks=1", "'factory'"),
        ("nowcast/base.py:training",
         "fiddler nowcast.fiddlers:maskin(on=1)", "'masking'"),
        ("ranking.py:experiment",
         "set task.model.features.features[4].combine=mea", "mean"),
        ("pretrain.py:small", "set trainer_cls.learning_rate.wrmup=2", "'warmup'"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_as_in_any_other_file(target, change, hint):
    kind, _, text = change.partition(" ")
    with pytest.raises(UserError) as error:
        load_overridden(target, [Override(kind, text)])
    assert hint in "\n".join(error.value.lines)


def test_what_is_in_a_file_is_listed_under_all_its_names():
    listed = {
        e.name: (e.kind, e.parameters) for e in list_configs("scoring/configs.py")
    }
    assert listed == {
        "base": ("config", ""),
        "first": ("config", ""),
        "steeper": ("config", ""),
        "steeper_and_higher": ("config", ""),
        "another_source": ("config", ""),
        "exchange": ("fiddler", ""),
    }
    listed = {
        e.name: (e.kind, e.parameters) for e in list_configs("measures/configs.py")
    }
    assert listed["gaussian"] == (
        "fiddler",
        "kind=kernels.Gaussian, bandwidths=(1.0,)",
    )
    listed = {e.name: e.kind for e in list_configs("recipes/llama.py")}
    assert listed["pretrain_recipe"] == "config"


def test_a_partial_root_builds_what_can_be_called():
    run = fdlkit.build(fdlkit.load("recipes/llama.py:finetune_recipe"))
    assert isinstance(run, functools.partial)
    kind, *_, resume, peft = run(log="here")
    assert (kind, resume.path, peft.rank) == ("finetune", "hf://someone/llama", 8)


def test_what_is_shared_stays_shared_when_it_is_changed():
    change = Override("set", "task.train_data.features.features[0].name=first")
    loaded, _ = load_overridden("ranking.py:experiment", [change])
    built = fdlkit.build(loaded.cfg).task
    assert built.train_data.features is built.model.features
    assert built.model.features.features[0].name == "first"


def test_the_trainer_refuses_a_partial(capsys, tmp_path):
    assert main(["train", LLAMA, f"--workdir={tmp_path / 'run'}"]) == 2
    err = capsys.readouterr().err
    assert err == (
        f"error: {LLAMA} is a Partial, which builds a function, not an experiment\n"
        "  fdlkit train takes a fdl.Config of fdlkit.train.trainer.Trainer\n"
    )
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_none_of_the_files_knows_this_project():
    texts = {path: path.read_text() for path in FOLDER.rglob("*.py")}
    assert len(texts) >= 10
    assert not [path for path, text in texts.items() if "fdlkit" in text]
