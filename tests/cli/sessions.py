"""Command lines whose messages are kept in `tests/golden`, and the files they use."""

from __future__ import annotations

import pathlib

SMALL = pathlib.Path(__file__).with_name("small.py").read_text(encoding="utf-8")

SHOP = '''
"""A config with a bit of everything."""
from __future__ import annotations
import dataclasses, enum
from collections.abc import Callable
from typing import Any, Literal, NamedTuple
import fiddle as fdl
from fiddle.experimental import auto_config
from fdlkit import ref

class Width(fdl.Tag):
    "Every width."

class Kind(enum.Enum):
    NEW = "new"
    USED = "used"

@dataclasses.dataclass(frozen=True)
class Part:
    width: int = 1
    note: Any = None

class Point(NamedTuple):
    x: int
    y: int = 0

@dataclasses.dataclass(frozen=True)
class Tag2:
    y: int = 0

def gelu(x): return x

class Chain:
    def __init__(self, *parts: Part): self.parts = parts

@dataclasses.dataclass(frozen=True)
class Shop:
    part: Part
    chain: Chain
    follower: Part | None = None
    double: int = 0
    kind: Kind = Kind.NEW
    mode: Literal["train", "eval"] = "train"
    fast: bool = False
    rate: float = 0.5
    phase: complex = 0j
    raw: bytes = b""
    every: int | None = None
    either: int | float = 1
    pair: tuple[int, int] = (1, 2)
    names: list[str] = dataclasses.field(default_factory=list)
    table: dict[str, int] = dataclasses.field(default_factory=dict)
    unhashable: dict = dataclasses.field(default_factory=dict)
    act: Callable = gelu
    built: Any = None
    nothing: Any = None
    parts: list[Part] = dataclasses.field(default_factory=list)
    point: Point = Point(1)
    must: int = dataclasses.field(kw_only=True)

built = Part()

def base() -> fdl.Config[Shop]:
    """Everything."""
    part = fdl.Config(Part, width=2)
    fdl.add_tag(part, "width", Width)
    return fdl.Config(
        Shop, part=part, chain=fdl.Config(Chain, fdl.Config(Part)),
        follower=ref("part"), double=ref("part.width") * 2, built=Part(),
        table={"alpha": 1},
    )

def odd() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("part.widht")
    cfg.part.note = ref("^nowhere")
    return cfg

def below() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("rate.x")
    return cfg

def unset() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("must")
    return cfg

def computed() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("mode") * 2.5
    return cfg

def climbing() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("....rate")
    return cfg

def ambiguous() -> fdl.Config[Shop]:
    shared = fdl.Config(Part, note=ref("..width"))
    one = fdl.Config(Part, width=1, note=shared)
    two = fdl.Config(Part, width=2, note=shared)
    return fdl.Config(Shop, part=one, chain=fdl.Config(Chain), follower=two, must=1)

def spelt() -> fdl.Config[Shop]:
    return fdl.Config(Part, width=ref("a..b"))

def blank() -> fdl.Config[Shop]:
    return fdl.Config(Part, width=ref("a b"))

def bracket() -> fdl.Config[Shop]:
    return fdl.Config(Part, width=ref("a[1"))

def round_() -> fdl.Config[Shop]:
    cfg = base()
    cfg.double = ref("rate")
    cfg.rate = ref("double")
    return cfg

def opened(cfg, **options):
    cfg.part.width = 3

def small(cfg, width: int = 1):
    cfg.part.width = width

def named(cfg, name): cfg.name = name

def raising(cfg):
    cfg.no_such_thing = 1

def leaving(cfg): raise SystemExit(0)

async def awaited(cfg): cfg.part.width = 3

def refusing(cfg):
    from fdlkit.errors import UserError
    raise UserError("not today", "  come back tomorrow")

def returning(cfg) -> fdl.Config: return fdl.Config(Part)

async def waiting(): return base()

def failing(size=1) -> fdl.Config[Part]:
    raise ValueError("no parts left")

def number() -> fdl.Config[Part]:
    return 3

def needs(size) -> fdl.Config[Part]:
    return fdl.Config(Part, width=size)

def yielding(): yield base()

@auto_config.auto_config
def automatic():
    return Part(width=2)

CONSTANT = fdl.Config(Part)
TEXT = "text"
'''

TROUBLE = """
import dataclasses
from typing import Any
import fiddle as fdl

@dataclasses.dataclass(frozen=True)
class Layer:
    features: int
    heads: int = 4
    inner: Any = None

    def __post_init__(self):
        if self.features % self.heads:
            what = f"features={self.features} is not a multiple of {self.heads}"
            raise ValueError(what)

def base():
    return fdl.Config(Layer, 64, inner=fdl.Config(Layer, features=8))

def unset():
    return fdl.Config(Layer, inner=fdl.Config(Layer))

def circle():
    cfg = fdl.Config(Layer, 4)
    cfg.inner = [cfg]
    return cfg

def plain():
    return fdl.Config(dict, train_data=fdl.Config(Layer, 64))

class Width(fdl.Tag):
    "Another tag of this name."

def twice():
    import shop
    cfg = fdl.Config(Layer, 64, 4)
    fdl.add_tag(cfg, "features", shop.Width)
    fdl.add_tag(cfg, "heads", Width)
    return cfg

def hidden():
    return fdl.Config(Layer, 64, inner=Layer(4, inner=fdl.Config(Layer, 8)))

def kept():
    return fdl.Config(lambda: 1)

def uses(inner=fdl.Config(Layer, 8)): return inner

def default():
    return fdl.Config(uses)

@dataclasses.dataclass(frozen=True)
class Made:
    inner: Any = dataclasses.field(default_factory=lambda: fdl.Config(Layer, 8))

def factory():
    return fdl.Config(Made)
class Elsewhere:
    "Is another thing in every program."
    def __init__(self):
        self.is_here = "fdlkit.cli.codegen" in __import__("sys").modules

def elsewhere():
    return fdl.Config(dict, a=fdl.Config(Elsewhere))

def unwritable():
    class Local: pass
    return fdl.Config(dict, a=object(), b=[fdl.Config(Local)], c=Layer(4).__eq__)
"""

CALLS = '''
"""Written by fdlkit codegen --style=build."""
import dataclasses
from trouble import Layer

@dataclasses.dataclass
class Fresh:
    make: object

def build():
    width = 4
    %s

def build_part(width):
    width += 1
    return Layer(width)

def build_nothing():
    "Returns nothing."

def build_again():
    return build_again()
'''


FILES: dict[str, str | bytes] = {
    "lm.py": SMALL,
    "shop.py": SHOP,
    "trouble.py": TROUBLE,
    **{
        f"calls/{name}.py": CALLS % line
        for name, line in {
            "loop": "while width: width = 0",
            "unknown": "return nothing(1)",
            "argument": "return build_part()",
            "assigned": "return build_part(width)",
            "attribute": "return Layer(width).features",
            "missing": "return Layer.featurs",
            "starred": "return [*width]",
            "part": "return build_nothing()",
            "endless": "return build_again()",
            "adding": "return Layer(width) + 1",
            "zero": "return Layer(width // 0)",
            "closing": "return Layer(width, inner=lambda: width)",
            "anew": "return dict(a=Fresh(3))",
            "outside": "def make(): return 3\n    return dict(a=make)",
            "misfit": "return Layer(width, fetures=1)",
        }.items()
    },
    "experiments/one.py": "def base(): return 1\n",
    "experiments/two.py": "def base() -> Config[Trainer]:\n    'The second.'\n",
    "empty.py": "x = 1\n",
    "raises.py": "x = 1\ny = x / 0\n",
    "odd_syntax.py": "def base():\n    return (1,\n",
    "latin.py": "# -*- coding: no-such-coding -*-\n",
    "imports_odd.py": "import odd_syntax\n",
    "folder.py/inner": "",
    "package/__init__.py": "x = 1 / 0\n",
    "package/inner.py": "",
    "notes.txt": "hello\n",
    "broken.json": "{\n",
    "other.json": '{"schema": "other/1"}\n',
    "plain.json": '{"schema": "fdlkit.config/1", "root": 3, "nodes": []}\n',
    "names.json": """{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [
{"kind": "config", "callable": "no_such_module:Thing", "arguments": {
 "a": {"symbol": "os:system"}, "b": {"dtype": "bfloat61"}}}]}
""",
    "typo.json": """{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [
{"kind": "config", "callable": "optax:adm", "arguments": {}}]}
""",
    "field.json": """{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [
{"kind": "config", "callable": "optax:sgd", "arguments": {"learning_rat": 1}}]}
""",
    "sgd.json": """{"schema": "fdlkit.config/1", "root": {"node": 0}, "nodes": [
{"kind": "config", "callable": "optax:sgd", "arguments": {"learning_rate": 1}}]}
""",
    "outgrown.json": """{"schema": "fdlkit.config/1", "root": {"node": 1}, "nodes": [
{"kind": "config", "callable": "optax:sgd", "arguments": {"learning_rat": 1}},
{"kind": "config", "callable": "optax:chain", "positional": [[0, {"node": 0}]],
 "arguments": {"name": {"value": "decimal:Decimal", "positional": ["x"]}}}]}
""",
    "link.json": """{"schema": "fdlkit.config/1", "root": {"node": 1}, "nodes": [
{"kind": "config", "callable": "optax:sgd",
 "arguments": {"learning_rate": {"node": 9}}},
{"kind": "list", "elements": [{"node": 0}]}]}
""",
    "fiddle.json": """{"root": {"type": "ref", "key": "dict_1"}, "objects": {"dict_1":
{"type": {"type": "pyref", "module": "fiddle._src.config", "name": "Config"},
"items": [], "metadata": null}}, "refcounts": {}, "version": "0.0.1"}
""",
    "deep.json": "[" * 200_000,
    "big.json": f'{{"schema": {"9" * 5000}}}',
    "binary.flags": b"\xff\xfe",
    "good.flags": "--fdl_set=part.width=7\n",
    "bad.flags": "--fdl_sett=part.width=7\n",
    "blank.flags": "--fdl_set steps=7\n",
    "runs/empty/notes": "",
}

# A folder and a name in it; each line goes behind `fdlkit`. `S` stands for
# `show shop.py:base`, a line that begins with a dash is a flag of it, and another one
# that names no verb is what `--fdl_set=` is given.
SESSIONS: dict[str, list[str]] = {
    "overrides/paths": [
        "part.widht=1",
        "widht=1",
        "part.nothing_like_it=1",
        "width=3",
        "rate.x=3",
        "built.width=3",
        "nothing.x=3",
        "names[0]=x",
        "pair[5]=7",
        "pair[x]=7",
        "table.alhpa=3",
        "table[1]=3",
        "unhashable[[1]]=3",
        "unhashable[{}]=3",
        "part[(1,2)]=3",
        "must.x=1",
        "chain[7].width=1",
        "chain[x]=1",
        "part[5]=1",
        "chain.parts=1",
        "raw[0]=1",
        "follower.width=3",
        "double.x=3",
        "**.widht=0",
        "**.part.**.width=0",
        "steps",
        "=3",
        "a b=1",
        "a..b=1",
        "a[=1",
        "a[1 2]=3",
        "a[*].b=3",
        "**=1",
        "~part.width=3",
        "~table.beta",
        "~point.x",
        "table.beta.x=1",
        "rate-=1",
        "~",
        "",
    ],
    "overrides/values": [
        "part.width=ref('rate')",
        "part.width=abc",
        "part.width=1.5",
        "part.width=inf",
        "part.width=0x" + "f" * 6000,
        "part.width=1e5000",
        "rate=abc",
        "phase=abc",
        "raw=abc",
        "fast=maybe",
        "kind=nwe",
        "mode=evel",
        "every=none",
        "every=x",
        "either=x",
        "pair=3",
        "pair=[1]",
        "pair=[1,x]",
        "pair=['1',2]",
        "pair=[1,2",
        f"pair={'(' * 300}{')' * 300}",
        "names=[1]",
        "table=[1]",
        "table={**a}",
        "table={a:1,'a':2}",
        "unhashable={[]:1}",
        "nothing=none",
        "nothing=[a]",
        "nothing={**a}",
        "nothing=[1,",
        "nothing=[shop:Part]",
        "nothing=tuned(x=2)",
        "part=3",
        "built.note=[1]",
        "chain=5",
        "names={1}",
        "show lm.py:T --fdl_set=model=3",
        "show lm.py:T --fdl_set=model.dtype=bfloat61",
    ],
    "overrides/symbols": [
        "steps=ref('rate')",
        "part=Prat",
        "part=xyzzy",
        "part=shop:Prat",
        "part=shop.Part",
        "part=no_such_module:Part",
        "part=built",
        "part=enum.Emun",
        "part=TEXT.upper",
        "part=Part(widht=1)",
        "part=Part(3)",
        "part=Part(*a)",
        "part=Part(**a)",
        "part=Part(width=1,width=2)",
        "part=Part(",
        "part=Part(1)(2)",
        "part=3 + 4",
        "part=fdlkit.nn.embed.Embed()",
        "part=dataclasses:MISSING",
        "follower=builtins:getattr",
        "part=builtins:getattr",
        "nothing=builtins:getattr(x=1)",
        "nothing=builtins:getattr(1)",
        "parts=[builtins:getattr]",
        "nothing=shop:Part()",
        "act=gleu",
        "act=gelu()",
        "chain[0]=Tag2(y=x)",
        "nothing=fdlkit.nn.embed:Embed(",
    ],
    "overrides/edits": [
        "must+=5",
        f"-- --fdl_set=must={'9' * 3000} --fdl_set=must*={'9' * 3000}",
        "fast*=x",
        "mode+=train",
        f"-- --fdl_set=either={'9' * 400} --fdl_set=either*=1.5",
        "kind+=NEW",
        "part+=Part",
        "names*=[1]",
        "follower+=1",
        "show shop.py:odd --fdl_set=double+=1",
        "show shop.py:round_ --fdl_set=double+=1",
        "-- --fdl_set=part.widht=1 --fdl_set=rate=x --fdl_tag=Widht=1",
    ],
    "overrides/notes": [
        "**.width=4",
        "double=4",
        "double+=4",
        "follower=Part",
        "part=Tag2",
        "chain=Part",
        "-- --fdl_tag=Width=9",
        "-- --fdl_fiddler=small(width=4)",
    ],
    "overrides/tags": [
        "-- --fdl_tag=Widht=9",
        "-- --fdl_tag=Width",
        "-- --fdl_tag=Width=x",
        "show trouble.py:base --fdl_tag=Width=1",
        "show trouble.py:twice --fdl_tag=Width=1",
    ],
    "overrides/fiddlers": [
        "-- --fdl_fiddler=smal",
        "-- --fdl_fiddler=",
        "-- --fdl_fiddler=small(widht=1)",
        "-- --fdl_fiddler=small(width=x)",
        "-- --fdl_fiddler=small(1)",
        "-- --fdl_fiddler=small(",
        "-- --fdl_fiddler=named",
        "-- --fdl_fiddler=TEXT",
        "-- --fdl_fiddler=raising",
        "-- --fdl_fiddler=leaving",
        "-- --fdl_fiddler=awaited",
        "-- --fdl_fiddler=raises:base",
        "-- --fdl_fiddler=small(width=1,width=2)",
        "-- --fdl_fiddler=refusing",
        "-- --fdl_fiddler=returning",
        "-- --fdl_fiddler=opened(anything=[x])",
        "-- --fdl_fiddler=no_such_module:small",
        "show sgd.json --fdl_fiddler=small",
    ],
    "targets/forms": [
        "show",
        "show a b",
        "show ''",
        "show :base",
        "show 'a b:c'",
        "show notes.txt",
        "show nowhere",
        "show runs",
        "show shop.json:base",
        "show shop.py:'ba se'",
        "show shop.py:'base('",
        f"show {'x' * 5000}",
        f"show {'x' * 5000}.py:base",
        f"show {'a.' * 2500}b:base",
    ],
    "targets/files": [
        "show shpo.py:base",
        "show no/such.py:base",
        "show runs.py",
        "show shop.py:bse",
        "show empty.py:base",
        "train shop.py --workdir=w",
        "train empty.py --workdir=w",
        "show shop.py --fdl_set=a=1",
        "show empty.py",
        "show raises.py:base",
        "show odd_syntax.py:base",
        "show latin.py",
        "show imports_odd.py:base",
        "show lmm:base",
        "show lm.nothing:base",
        "show shop:bse",
        "show package.inner:base",
        "show sys:exit",
        "show os:path",
        "show folder.py",
    ],
    "targets/functions": [
        "show shop.py:failing",
        "show shop.py:number",
        "show shop.py:CONSTANT",
        "show shop.py:TEXT",
        "show shop.py:needs",
        "show 'shop.py:needs(size=x)'",
        "show 'shop.py:needs(siez=1)'",
        "show 'shop.py:needs(1)'",
        "show shop.py:waiting",
        "show shop.py:yielding",
        "show shop.py:Part",
        "show shop.py:small",
        "show cells.ipynb:base",
        "show 'shop:needs(siez=1)'",
    ],
    "serialize/json": [
        "show broken.json",
        "show other.json",
        "show names.json --fdl_set=a=1",
        "show typo.json --fdl_set=a=1",
        "show field.json --fdl_set=a=1",
        "show outgrown.json",
        "show outgrown.json --fdl_set=a=1",
        "show link.json",
        "show fiddle.json",
        "show plain.json --fdl_set=a=1",
        "show deep.json",
        "show big.json",
        "show good.json --fdl_set=a=1",
        "show goood.json",
        "show trouble.py:kept --format=json",
    ],
    "graph/build": [
        "train trouble.py:base --workdir=w --fdl_set=inner.features=9",
        "train trouble.py:unset --workdir=w",
        "show trouble.py:circle",
        "train trouble.py:base --workdir=w",
        "train shop.py:odd --workdir=w --fdl_set=must=1",
        "train shop.py:round_ --workdir=w --fdl_set=must=1",
        "train shop.py:below --workdir=w --fdl_set=must=1",
        "show shop.py:unset --fdl_set=double+=1",
        "train shop.py:computed --workdir=w --fdl_set=must=1",
        "train shop.py:climbing --workdir=w --fdl_set=must=1",
        "train shop.py:ambiguous --workdir=w",
        "train trouble.py:hidden --workdir=w",
        "train trouble.py:default --workdir=w",
        "train trouble.py:factory --workdir=w",
        "show shop.py:spelt",
        "show shop.py:bracket",
        "show shop.py:blank",
        "data trouble.py:base",
        "data trouble.py:plain",
        "data trouble.py:plain --split=trian",
    ],
    "cli/verbs": [
        "",
        "shwo",
        "--hepl",
        "--verbose",
        "xyzzy",
        "train lm.py:T",
        "train lm.py:T --workdir=w --num_processes=2",
        "train lm.py:T --workdir=w --eval_only --fresh",
        "train lm.py:T --workdir=w --eval_only=bset",
        "train lm.py:T --workdir=w --debug --fresh",
        "train lm.py:T --workdir=w --debug=0",
        f"show lm.py:T --out={'x' * 5000}",
        "show lm.py:T --out=no/such/folder/x",
        "show lm.py:T --out=runs",
        "show lm.py:T --out=",
        "show lm.py:T --out=notes.txt/x",
        "diff lm.py:T lm.py:T --a.fdl_set=steps=x",
        "completion",
        "completion tcsh",
        "completion bash --fish",
        "__complete bash",
        "diff lm.py:T",
        "diff lm.py:T lm.py:T lm.py:T",
        "show lm.py:T --format=dot --grep=x",
        "show lm.py:T --format=html --grep=x",
        "show lm.py:T --format=json --depth=1",
        "show lm.py --format=svg",
        "show lm.py:T --grep='a[b'",
        "golden",
        "golden lm.py:T --fdl_set=steps=3",
        "golden lm.py:T --dir=no/such",
        "golden lm.py:T --steps=3",
        "golden lm.py lm.py:nothing --update",
        f"golden 'shop.py:needs(size=1{'0' * 300})'",
        "show lm.py --where",
        "show lm.py:T --where --format=json",
        "show lm.py --card",
        "show lm.py:T --card --format=html",
        "show lm.py:T --card --where",
        "show lm.py:T --card",
        "show lm.py:T --card --mesh=data",
        "show lm.py:T --mesh=data=2",
    ],
    "check/refused": [
        "check",
        "check lm.py:T --mesh=dta=2",
        "check lm.py:T --mesh=data",
        "check lm.py:T --mesh=data=2,data=3",
        "check lm.py:T --mesh=data=0",
        "check lm.py:T --mesh=data=-2",
        "check lm.py:T --topology=v4",
        "check lm.py:T --topology=v4p:8",
        "check lm.py:T --topology=v4:0x4",
        "check lm.py:T --topology=v4-9",
        "check lm.py:T --topology=0xv4-8",
        "check lm.py:T --mesh=dcn.dta=2",
        "check lm.py:T --compile=true",
        "check --explain=CF999",
        "check lm.py",
    ],
    "cli/codegen": [
        "codegen lm.py:T",
        "codegen --out=x.py",
        "codegen lm.py:T --out=x.py",
        "codegen lm.py:T --out=x.py --style=fidle",
        "codegen lm.py:T --out=x.py --verify=maybe",
        "codegen lm.py:T --out=x.py --style=build --verify=steps:3",
        "codegen lm.py:T --out=no/such/folder/x.py --style=build",
        "codegen lm.py:T --out=lm.py --style=build",
        "codegen trouble.py:unwritable --out=x.py --style=fiddle",
        "codegen trouble.py:unwritable --out=x.py --style=build",
        "codegen trouble.py:unset --out=x.py --style=build",
        "codegen trouble.py:circle --out=x.py --style=build",
        "codegen trouble.py:elsewhere --out=x.py --style=build",
    ],
    "cli/sample": [
        "sample",
        "sample runs",
        "sample runs --prompt=x",
        "sample lm.py:T --prompt=x",
        "sample runs --prompt=x --max_tokens=0",
        "sample runs --prompt=- --prompt=-",
        "sample runs --prompt=x --temperature=warm",
        "sample runs --prompt=x --top_k=-1",
        "sample runs --promt=x",
    ],
    "targets/plain_calls": [
        f"show calls/{name}.py:build"
        for name in (
            *("loop", "unknown", "argument", "assigned", "attribute", "missing"),
            *("starred", "part", "endless", "adding", "zero", "closing", "anew"),
            *("outside", "misfit"),
        )
    ],
    "overrides/explain": [
        "explain",
        "explain lm.py:T",
        "explain lm.py:T steps=3",
        "explain lm.py:T steps name",
        "explain lm.py steps",
        "explain lm.py:T model.hiden",
        "explain lm.py:T 'model..hidden'",
        "explain lm.py:T steps.x",
        "explain shop.py:base double.x",
        "explain shop.py:base \"table['beta']\"",
        "explain shop.py:odd double.x",
    ],
    "cli/flags": [
        "show lm.py:T --formt=json",
        "show lm.py:T --format=jsn",
        "show lm.py:T --steps=3",
        "show lm.py:T --model.hidden=3",
        "show lm.py:T --steps 3",
        "show lm.py:T --depth=x",
        "show lm.py:T --depth=-1",
        "show lm.py:T --where=maybe",
        "show lm.py:T --out",
        "show lm.py:T --nocolor=x",
        "show lm.py:T --undefok=steps --steps=3",
        "show lm.py:T --flagfile",
        "show lm.py:T --flagfile=",
        "show lm.py:T --flagfile=blank.flags",
        "show lm.py:T --flagfile=nowhere.flags",
        "show lm.py:T --flagfile=bad.flags",
        "show lm.py:T --flagfile=runs",
        "show lm.py:T --flagfile=binary.flags",
        "show shop.py:base --flagfile=good.flags",
        "train lm.py:T --workdir=w --dry-rn",
    ],
}
