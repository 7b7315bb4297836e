"""The training wing is written to be read, and to be carried into one file."""

from __future__ import annotations

import ast
import collections
import symtable

# Imports inside functions: (module that has it, what it imports) -> why it must.
# Only packages from outside: what is of the house is carried into one file with the
# code that imports it, and there is no module to import any more.
_LOADS_SLOWLY = "a config that is only shown must not wait for it"
_IS_EXTRA = "an extra, which most who install the package do not have"
LATE_IMPORTS: dict[tuple[str, str], str] = {
    ("fdlkit.data.batches", "grain"): _LOADS_SLOWLY,
    ("fdlkit.data.byte_pairs", "tokenizers"): _IS_EXTRA,
    ("fdlkit.data.digits", "sklearn.datasets.load_digits"): _IS_EXTRA,
    ("fdlkit.data.order", "grain.experimental.index_shuffle"): _LOADS_SLOWLY,
    ("fdlkit.train.checkpoints", "orbax.checkpoint"): _LOADS_SLOWLY,
    ("fdlkit.train.service_writers", "mlflow.tracking.MlflowClient"): _IS_EXTRA,
    ("fdlkit.train.service_writers", "wandb"): _IS_EXTRA,
    ("fdlkit.train.writers", "tensorboardX.SummaryWriter"): _LOADS_SLOWLY,
}

# Calls that only make a value, so that a constant may be made by them.
PURE_CALLS = frozenset(
    {
        "contextvars.ContextVar",
        "dict",
        "frozenset",
        "jnp.dtype",
        "logging.getLogger",
        "np.dtype",
        "ParamSpec",
        "range",
        "re.compile",
        "set",
        "tuple",
        "types.MappingProxyType",
        "typing.ParamSpec",
        "typing.TypeVar",
        "TypeVar",
    }
)


def misplaced_imports(source):
    """Imports that are relative, starred or inside a function."""
    for item in source.imports:
        if item.name.startswith("."):
            yield f"{source.path}:{item.line} relative import of {item.name}"
        elif item.name.endswith(".*"):
            yield f"{source.path}:{item.line} star import of {item.name}"
        elif item.in_function and (source.module, item.name) not in LATE_IMPORTS:
            yield f"{source.path}:{item.line} imports {item.name} in a function"


def import_time_effects(source):
    """Statements of a module that are no import, definition or constant."""
    for node in source.tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Expr(value=ast.Constant(value=str())):  # the docstring
                continue
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=value)
            ):
                calls = [n for n in ast.walk(value or node) if isinstance(n, ast.Call)]
                if all(ast.unparse(call.func) in PURE_CALLS for call in calls):
                    continue
        yield f"{source.path}:{node.lineno} {ast.unparse(node).splitlines()[0]}"


def defined_names(tree):
    """The names that a module defines itself, with their lines; imports left out."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.Assign(targets=targets):
                for target in targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            yield name.id, node.lineno
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node.lineno


def ambiguous_names(sources):
    """Top-level names that mean different things in two places of the wing.

    A name that one module defines must be defined by no other, and be the name of
    nothing that another module imports from outside. Imports from within the house
    do not count: they go when the code is carried into one file.
    """
    meanings = collections.defaultdict(dict)
    for source in sources:
        for name, line in defined_names(source.tree):
            if not name.startswith("__"):
                place = f"{source.path}:{line}"
                meanings[name][place] = place
        for item in source.imports:
            if item.wing == "outside" and item.name != "__future__.annotations":
                whole = item.name.startswith(f"{item.bound}.")  # `import jax.numpy`
                meaning = item.bound if whole else item.name
                place = f"{source.path}:{item.line}"
                meanings[item.bound].setdefault(meaning, place)
    return {
        name: list(places.values())
        for name, places in meanings.items()
        if len(places) > 1
    }


def shadowing_locals(source):
    """Parameters and local names that hide a top-level name of their module."""
    table = symtable.symtable(source.text, source.path, "exec")
    top = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    scopes = list(table.get_children())
    while scopes:
        scope = scopes.pop(0)
        scopes.extend(scope.get_children())
        if scope.get_type() != "function":
            continue
        for name in sorted(set(scope.get_locals()) & top):
            yield f"{source.path}:{scope.get_lineno()} {name} in {scope.get_name()}"


def test_imports_stand_at_the_top_and_are_absolute(training_wing):
    assert not [line for source in training_wing for line in misplaced_imports(source)]


def test_every_late_import_that_is_allowed_is_there_and_has_a_reason(training_wing):
    late = {
        (source.module, item.name)
        for source in training_wing
        for item in source.imports
        if item.in_function
    }
    assert set(LATE_IMPORTS) <= late
    assert all(LATE_IMPORTS.values())
    assert not [name for _, name in LATE_IMPORTS if name.startswith("fdlkit")]


def test_imports_that_do_not_stand_at_the_top_are_caught(written):
    text = (
        "import jax\nfrom . import step\nfrom jax.numpy import *\n"
        "class A:\n    def f(self):\n        import time\n"
    )
    assert list(misplaced_imports(written(text))) == [
        "fdlkit/nn/example.py:2 relative import of ..step",
        "fdlkit/nn/example.py:3 star import of jax.numpy.*",
        "fdlkit/nn/example.py:6 imports time in a function",
    ]


def test_importing_the_training_wing_does_nothing(training_wing):
    assert not [
        line for source in training_wing for line in import_time_effects(source)
    ]


def test_an_import_with_an_effect_is_caught(written):
    text = (
        '"""Doc."""\nimport jax\nA = 1\nB: tuple = ("x", -2)\nC = re.compile("x")\n'
        'jax.config.update("x", 1)\nD = jax.devices()\nif A:\n    E = 2\n'
        "for x in B:\n    pass\nREGISTRY[A] = 1\n"
    )
    lines = [line.split()[0] for line in import_time_effects(written(text))]
    assert lines == [f"fdlkit/nn/example.py:{n}" for n in (6, 7, 8, 10, 12)]


def test_a_name_means_one_thing_in_the_training_wing(training_wing):
    assert not ambiguous_names([s for s in training_wing if not is_plain(s)])


def test_a_name_means_one_thing_among_the_plain_forms(training_wing):
    # Each may have the name of what it stands for in a script.
    plain = [s for s in training_wing if is_plain(s)]
    assert plain and not ambiguous_names(plain)


def is_plain(source):
    return source.module.startswith("fdlkit.eject")


def test_a_name_that_is_defined_twice_is_caught(written):
    one = written("def f(): ...\nA = 1\n__all__ = []\nimport x\n", "fdlkit.nn.one")
    two = written(
        "class f: ...\nB, A = 1, 2\n__all__ = []\nimport x.y\n", "fdlkit.nn.two"
    )
    assert ambiguous_names([one, two]) == {
        "f": ["fdlkit/nn/one.py:1", "fdlkit/nn/two.py:1"],
        "A": ["fdlkit/nn/one.py:2", "fdlkit/nn/two.py:2"],
    }


def test_a_name_that_is_defined_here_and_imported_there_is_caught(written):
    one = written(
        "class Mesh: ...\nimport numpy as np\nfrom fdlkit import keys\n",
        "fdlkit.nn.one",
    )
    two = written(
        "from jax.sharding import Mesh\nimport jax.numpy as np\ndef keys(): ...\n",
        "fdlkit.nn.two",
    )
    assert ambiguous_names([one, two]) == {
        "Mesh": ["fdlkit/nn/one.py:1", "fdlkit/nn/two.py:1"],
        "np": ["fdlkit/nn/one.py:2", "fdlkit/nn/two.py:2"],
    }


def test_no_local_hides_a_top_level_name(training_wing):
    assert not [line for source in training_wing for line in shadowing_locals(source)]


def test_a_local_that_hides_a_top_level_name_is_caught(written):
    text = (
        "from fdlkit.nn import mlp\nimport jax.numpy as jnp\nA = 1\ndef g(): ...\n"
        "def f(mlp, x):\n    g = x\n    return [A for A in g]\n"
        "class K:\n    mlp: int\n    def h(self):\n        return lambda jnp: jnp\n"
    )
    # Which scope a comprehension's name is in depends on the Python.
    hidden = {line.split()[1] for line in shadowing_locals(written(text))}
    assert hidden == {"A", "g", "jnp", "mlp"}
