"""A config is the same on every machine, and code that makes it differ is told of."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading

import fiddle as fdl
import jax
import jax.numpy as jnp
import pytest
from jax._src import xla_bridge
from jax.experimental import mesh_utils

import fdlkit
from fdlkit.cli.main import main
from fdlkit.overrides.apply import Override
from fdlkit.targets import listing
from fdlkit.targets.devices import Watch
from fdlkit.targets.overridden import load_overridden

ROOT = pathlib.Path(__file__).parents[2]

SHIPPED = [
    f"{path.relative_to(ROOT)}:{entry.name}"
    for path in sorted((ROOT / "experiments").rglob("*.py"))
    for entry in listing.list_configs(path)
    if entry.kind == "config"
    and all("=" in p for p in entry.parameters.split(", ") if p)
]

ASKS = '''
import fiddle as fdl
import jax


def base():
    """Depends on the machine."""
    return fdl.Config(dict, batch=8 * jax.device_count(), x=1)


def quiet():
    return fdl.Config(dict, x=1)


def wide(cfg):
    cfg.x = len(jax.local_devices())


def twice():
    return fdl.Config(dict, a=jax.process_count(), b=jax.device_count())
'''

# Prints how many devices there are, then all there is to see of every shipped config.
PROGRAM = """
import sys
import fdlkit
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import tree

print(fdlkit.load("machine.py:count").n, file=sys.stderr)
for target in sys.argv[1:]:
    cfg = fdlkit.load(target)
    print(target)
    print(tree.render(tree.tree(snapshot(cfg))))
    print(fdlkit.dumps(cfg))
"""
MACHINE = """
import fiddle as fdl
import jax


def count():
    return fdl.Config(dict, n=jax.device_count())
"""


def environment(devices):
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }


def test_the_shipped_configs_are_found():
    assert "experiments/lm.py:base" in SHIPPED
    assert len(SHIPPED) >= 5


@pytest.mark.slow
def test_every_shipped_config_is_the_same_under_any_number_of_devices(tmp_path):
    (tmp_path / "machine.py").write_text(MACHINE)
    (tmp_path / "program.py").write_text(PROGRAM)
    seen = {}
    for devices in (1, 8, 128):
        done = subprocess.run(
            [sys.executable, "program.py", *(f"{ROOT}/{name}" for name in SHIPPED)],
            cwd=tmp_path,
            env=environment(devices),
            capture_output=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr.decode().splitlines()[-1] == str(devices)
        seen[devices] = done.stdout
    assert len(seen[1]) > 1000
    assert seen[1] == seen[8] == seen[128]


@pytest.mark.parametrize("form", ["json", "tree"])
def test_what_the_program_shows_is_the_same_too(form):
    command = [sys.executable, "-m", "fdlkit", "show", "experiments/lm.py:base"]
    seen = [
        subprocess.run(
            [*command, f"--format={form}"],
            cwd=ROOT,
            env=environment(devices),
            capture_output=True,
            check=True,
            timeout=300,
        )
        for devices in (1, 8)
    ]
    assert seen[0].stdout and seen[0].stdout == seen[1].stdout
    assert seen[0].stderr == seen[1].stderr == b""


@pytest.mark.parametrize("target", SHIPPED)
def test_no_shipped_config_asks_for_devices(target, monkeypatch):
    monkeypatch.chdir(ROOT)
    with Watch() as watch:
        load_overridden(target, [])
    assert watch.questions == ()


def test_no_shipped_fiddler_asks_for_devices(monkeypatch):
    monkeypatch.chdir(ROOT)
    path = "experiments/lm.py"
    fiddlers = [e.name for e in listing.list_configs(path) if e.kind == "fiddler"]
    assert "bfloat16" in fiddlers
    with Watch() as watch:
        load_overridden(f"{path}:base", [Override("fiddler", f) for f in fiddlers])
    assert watch.questions == ()


def test_whoever_asks_is_told_with_the_line_and_what_to_write(write, capsys):
    path = write("asks.py", ASKS)
    assert main(["show", f"{path}:base"]) == 0
    out, err = capsys.readouterr()
    assert "batch" in out
    assert err == (
        "note: JAX was asked about devices while the config was made, at "
        f"{path}:8 (jax.device_count); so it may differ from machine to machine\n"
        "  write a mesh axis of -1 for all devices, a reference "
        '(fdlkit.ref("PATH")) for a value that follows another,\n'
        "  or an argument of the function for what only the caller knows\n"
    )


def test_a_config_that_does_not_ask_is_shown_without_a_note(write, capsys):
    assert main(["show", f"{write('asks.py', ASKS)}:quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_fiddler_that_asks_is_told_of(write):
    path = write("asks.py", ASKS)
    _, notes = load_overridden(f"{path}:quiet", [Override("fiddler", "wide")])
    assert f"{path}:16 (jax.local_devices)" in notes[-1]


def test_in_python_it_is_a_warning(write):
    path = write("asks.py", ASKS)
    with pytest.warns(UserWarning, match=r"asks\.py:8 \(jax\.device_count\)"):
        assert fdlkit.load(f"{path}:base").x == 1


def test_all_places_are_in_one_note(write):
    path = write("asks.py", ASKS)
    _, notes = load_overridden(f"{path}:twice", [])
    assert len(notes) == 1
    assert f"{path}:20 (jax.process_count), {path}:20 (jax.device_count)" in notes[0]


def test_a_file_that_asks_as_it_is_imported_is_told_of(write):
    path = write(
        "constant.py",
        """
        import fiddle as fdl
        from jax import device_count

        N = device_count()

        def base():
            return fdl.Config(dict, n=N)
        """,
    )
    _, notes = load_overridden(f"{path}:base", [])
    assert f"{path}:5 (jax.device_count)" in notes[0]


def test_a_helper_that_asks_is_told_at_its_own_line(write):
    write(
        "helper_that_asks.py", "import jax\n\ndef n():\n    return jax.device_count()\n"
    )
    path = write(
        "uses.py",
        "import fiddle as fdl\nimport helper_that_asks\n"
        "def base():\n    return fdl.Config(dict, n=helper_that_asks.n())\n",
    )
    _, notes = load_overridden(f"{path}:base", [])
    assert f"{path.parent}/helper_that_asks.py:4 (jax.device_count)" in notes[0]


def test_jax_is_seen_also_when_the_file_is_the_first_to_import_it(write):
    path = write("asks.py", ASKS)
    done = subprocess.run(
        [sys.executable, "-m", "fdlkit", "show", f"{path}:base"],
        env=environment(8),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0
    assert "batch = 64" in " ".join(done.stdout.split())
    assert f"{path}:8 (jax.device_count)" in done.stderr


def test_jax_is_as_before_when_it_was_imported_meanwhile(tmp_path):
    program = (
        "import sys\n"
        "from fdlkit.targets.devices import Watch\n"
        "before = list(sys.meta_path)\n"
        "with Watch():\n"
        "    import jax\n"
        "    kept = jax.devices\n"
        "    gate = jax._src.xla_bridge.get_backend\n"
        "assert sys.meta_path == before\n"
        "assert kept is jax.devices\n"
        "assert gate.function is jax._src.xla_bridge.get_backend\n"
        "print(type(jax.__spec__.loader).__name__, type(jax.__loader__).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(1),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "SourceFileLoader SourceFileLoader\n", done.stderr


def test_a_watch_without_jax_leaves_nothing_behind_and_loads_nothing():
    program = (
        "import sys\n"
        "from fdlkit.targets.devices import Watch\n"
        "before = list(sys.meta_path)\n"
        "with Watch() as watch: pass\n"
        "assert sys.meta_path == before and watch.note() is None\n"
        "print('jax' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(1),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "False\n", done.stderr


def ask_as_a_user():
    return jax.device_count()


@pytest.fixture
def gate():
    """What a watch stands before; it is there again when the test ends."""
    before = xla_bridge.get_backend
    yield before
    assert xla_bridge.get_backend is before


def fails(gate):
    assert xla_bridge.get_backend is not gate
    raise ZeroDivisionError


def test_jax_is_restored_also_when_making_the_config_fails(gate):
    with pytest.raises(ZeroDivisionError), Watch():
        fails(gate)
    assert xla_bridge.get_backend is gate


def test_watches_may_stand_in_one_another(gate):
    with Watch() as outer:
        with Watch() as inner:
            ask_as_a_user()
        ask_as_a_user()
    assert len(outer.questions) == len(inner.questions) == 1


def test_watches_may_end_in_any_order(gate):
    first, second = Watch(), Watch()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    ask_as_a_user()
    second.__exit__()
    assert (first.questions, len(second.questions)) == ((), 1)


ASKING = [
    "device_count",
    "local_device_count",
    "devices",
    "local_devices",
    "process_count",
    "process_index",
    "process_indices",
    "default_backend",
]


@pytest.mark.parametrize("name", ASKING)
def test_every_question_is_seen_also_by_a_name_that_was_there_before(name):
    ask = getattr(jax, name)
    ask()
    with Watch() as watch:
        ask()
    assert [q.function for q in watch.questions] == [f"jax.{name}"]
    assert watch.questions[0].file == __file__


def test_a_mesh_of_all_devices_is_a_question():
    with Watch() as watch:
        jax.make_mesh((1,), ("data",))
        mesh_utils.create_device_mesh((1,))
    assert [q.function for q in watch.questions] == [
        "jax.make_mesh",
        "jax.experimental.mesh_utils.create_device_mesh",
    ]


def test_an_array_is_no_question():
    with Watch() as watch:
        jnp.zeros(3) + 1
        jax.random.key(0)
        jax.jit(lambda x: x + 1)(2)
    assert watch.questions == ()


def test_a_config_that_will_ask_when_it_is_built_is_no_question(write):
    path = write(
        "later.py",
        """
        import fiddle as fdl
        import jax
        from jax import process_count

        def base():
            return fdl.Config(dict, a=fdl.Config(jax.device_count), b=process_count)
        """,
    )
    loaded, notes = load_overridden(f"{path}:base", [])
    assert notes == ()
    assert fdl.get_callable(loaded.cfg.a) is jax.device_count
    assert fdlkit.build(loaded.cfg)["a"] == jax.device_count()


def test_what_other_threads_ask_is_none_of_the_configs_doing():
    with Watch() as watch:
        thread = threading.Thread(target=ask_as_a_user)
        thread.start()
        thread.join()
    assert watch.questions == ()
