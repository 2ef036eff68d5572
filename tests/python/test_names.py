"""Names of tensors, as asked from inside a call. Under Pythons without torch, of a stand-in's tensors."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from .conftest import Interpreter


@pytest.fixture
def torch(probe: Path, python: str, environment: dict[str, str]) -> Interpreter:
    """The Python that has torch."""
    return Interpreter(python, 0, probe, environment)


def test_variables(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        from torch_standin import Tensor
        from named import ask, name

        x = Tensor()
        assert ask(x).tensors == [("x", 0, "", {"object"})], ask(x)
        assert ask(x).module is None and ask().tensors == []
        assert ask(Tensor()).tensors == [("", -1, "", set())]
        both = ask(x, Tensor(), x).tensors
        assert [one.name for one in both] == ["x", "", "x"], both

        def work(argument, *others, key=None, **rest):
            local = Tensor()
            assert name(argument) == "argument" and name(local) == "local" and name(key) == "key"
            assert name(others[0]) == "others[0]" and name(rest["more"]) == "rest['more']"
            assert name(table) == "table"   # of the module
            local = None
            later = lambda: unbound
            return later
            unbound = 1
        table = Tensor()
        work(Tensor(), Tensor(), key=Tensor(), more=Tensor())

        class Body:
            inside = Tensor()
            assert name(inside) == "inside" and name(x) == "x"
        class Super:
            inside = Tensor()
            def __init__(self): super().__init__()
            assert name(x) == "x"
        space = {"name": name, "given": Tensor()}
        exec("made = given; found = name(given)", {"__name__": "run"}, space)
        assert space["found"] == "given" or space["found"] == "made", space
        """,
    )


def test_variables_shared_between_functions(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import types
        from torch_standin import Tensor
        from named import name

        def outer(argument):
            local = Tensor()
            cell = types.CellType(Tensor())   # a value like any other
            def inner():
                nonlocal_one = (argument, local)
                del nonlocal_one
                assert name(argument) == "argument" and name(local) == "local"
                assert name(cell.cell_contents) == ""
                def innermost():
                    assert name(argument) == "argument"
                innermost()
                return name
            assert name(argument) == "argument" and name(local) == "local"
            inner()
            plain = types.CellType(Tensor())
            assert name(plain.cell_contents) == ""
        outer(Tensor())

        def generator(tensor):
            yield name(tensor), name(shared)
        shared = Tensor()
        assert list(generator(Tensor())) == [("tensor", "shared")]
        """,
    )


def test_comprehensions(interpreter: Interpreter, tmp_path: Path) -> None:
    """Whose variables are the surrounding code's from Python 3.12 on."""
    interpreter.passes(
        tmp_path,
        """
        from torch_standin import Tensor
        from named import ask, name

        tensors, other = [Tensor(), Tensor()], Tensor()
        assert [name(one) for one in tensors] == ["one", "one"]
        assert {name(one): name(other) for one in tensors} == {"one": "other"}
        assert list(name(one) for one in tensors) == ["one", "one"]
        assert name(tensors[1]) == "tensors[1]" and name(other) == "other"

        def work(tensors, other):
            found = [(name(one), name(other), ask(tensors[1 - i]).tensors[0].name) for i, one in enumerate(tensors)]
            assert found[0][:2] == ("one", "other") and found[0][2] == "tensors[1]", found
            assert name(other) == "other"
        work([Tensor(), Tensor()], Tensor())
        """,
    )


def test_containers(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        r"""
        import collections, dataclasses, types, typing
        from torch_standin import Tensor
        from named import name_at

        class Pair(typing.NamedTuple):
            inputs: object
            labels: object
        class SubPair(Pair): pass
        @dataclasses.dataclass
        class Batch:
            inputs: object
            more: object = None
        class Encoding(collections.UserDict): pass
        class Output(collections.OrderedDict):
            def __init__(self, **members):
                super().__init__(members)
                self.__dict__.update(members)
        class Words(str): pass
        class Slots:
            __slots__ = ("inside",)

        def written(batch, address):   # has no name of its own for the tensor
            return name_at(address)
        def expect(make, expected):
            tensor = Tensor()
            batch, address = make(tensor), id(tensor)
            del tensor
            found = written(batch, address)
            assert found == expected, (found, expected)

        expect(lambda t: {"labels": t}, "batch['labels']")
        expect(lambda t: {3: t, -4: None}, "batch[3]")
        expect(lambda t: {-4: t}, "batch[-4]")
        expect(lambda t: {10**30: t}, "batch[...]")
        expect(lambda t: {True: t}, "batch[...]")
        expect(lambda t: {(1, 2): t}, "batch[...]")
        expect(lambda t: {"a'b\\c": t}, "batch['a\\'b\\\\c']")
        expect(lambda t: {"a\nb": t}, "batch[...]")
        expect(lambda t: {"x" * 1000: t}, "batch[...]")
        expect(lambda t: {"caf\u00e9": t}, "batch['caf\u00e9']")
        expect(lambda t: {Words("w"): t}, "batch['w']")
        expect(lambda t: [None, t], "batch[1]")
        expect(lambda t: ([t], 1), "batch[0][0]")
        expect(lambda t: Pair(1, t), "batch.labels")
        expect(lambda t: SubPair(t, 1), "batch.inputs")
        expect(lambda t: Batch(t), "batch.inputs")
        expect(lambda t: Batch(1, {"deep": [Pair(1, t)]}), "batch.more['deep'][0].labels")
        expect(lambda t: Encoding(labels=t), "batch['labels']")
        expect(lambda t: collections.UserList([t]), "batch[0]")
        expect(lambda t: collections.OrderedDict(a=t), "batch['a']")
        expect(lambda t: collections.defaultdict(list, a=t), "batch['a']")
        expect(lambda t: Output(logits=t), "batch.logits")
        expect(lambda t: types.SimpleNamespace(labels=t), "batch.labels")
        expect(lambda t: [[[[t]]]], "batch[0][0][0][0]")
        expect(lambda t: [[[[[t]]]]], "")   # too deep
        expect(lambda t: {t}, "")   # has no name
        expect(lambda t: Slots(), "")
        """,
    )


def test_the_name_that_wins(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import torch_standin, os
        from torch_standin import Module, Tensor
        from named import ask, name

        # the innermost frame of the user's
        def helper(target):
            return ask(target)
        def outer(held):
            return helper(held), ask(held)
        labels = Tensor()
        inner, there = outer(labels)
        assert inner.tensors[0][:2] == ("target", 0) and there.tensors[0][:2] == ("held", 0)

        # not one of torch's
        code = compile("def apply(function, input): return function(input)", torch_standin.__file__, "exec")
        exec(code, torch_standin.__dict__)
        found = torch_standin.apply(ask, labels).tensors[0]
        assert found[:2] == ("labels", 1), found

        # an outer frame where the inner has none
        def without():
            return ask(*kept).tensors[0]
        class Hidden:
            __slots__ = ("one",)
        def outer():
            inside = Tensor()
            kept.append(inside)
            try: return without()
            finally: kept.clear()
        kept = []
        found = outer()
        assert found[:2] in (("kept[0]", 0), ("inside", 1)) and found.name == "kept[0]", found

        # the one on the line, then the one with the fewest steps, then the first
        def line(batch, x):
            out = identity = x
            assert ask(x).tensors[0].name == "x"
            found = ask(identity); assert found.tensors[0].name == "identity", found
            found = ask(batch["labels"]); assert found.tensors[0].name == "batch['labels']", found
            same = batch['labels']
            found = ask(batch["labels"]); assert found.tensors[0].name == "batch['labels']", found
            found = ask(same); assert found.tensors[0].name == "same", found
            found = ask(
                identity, same)
            assert [one.name for one in found.tensors] == ["x", "same"], found
        line({"labels": Tensor()}, Tensor())

        # an attribute of self before a batch's item
        class Net(Module):
            def forward(self, batch):
                names = [one.name for one in ask(*pool).tensors]
                assert names == ["self.mask"], names
        net = Net()
        net.mask = Tensor()
        pool = [net.mask]
        def run(net, pool_):
            net({"mask": pool_[0]})
        run(net, pool)
        """,
    )


def test_modules(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        from torch_standin import Module, Parameter, Tensor
        from named import ask, name

        class Attention(Module):
            shared = Tensor()   # of the class
            def __init__(self):
                super().__init__()
                self.weight = Parameter()
                self._buffers["mask"] = Tensor()
                self.position = Tensor()
            def forward(self, x):
                return ask(x, self.weight, self._buffers["mask"], self.position, Attention.shared)
        class Layers(Module):   # as a ModuleList, a ModuleDict
            def __init__(self, **layers):
                super().__init__()
                self._modules.update(layers)
        class Encoder(Module):
            def __init__(self):
                super().__init__()
                self.layers = Layers(**{"0": Attention(), "1": Attention(), "last-one": Attention()})
            def forward(self, which, x):
                return self.layers._modules[which](x)
        class Trainer:
            def __init__(self, model):
                self.model = model
            def step(self, x):
                return self.model("1", x)

        encoder = Encoder()
        for ask_at in ("0", "1", "last-one"):
            found = encoder(ask_at, Tensor())
            assert found.module == ("layers." + ask_at, "Attention"), found.module
            assert found.tensors == [
                ("x", 0, "", {"object"}),
                ("self.weight", 0, f"layers.{ask_at}.weight", {"object", "parameter"}),
                ("self.mask", 0, f"layers.{ask_at}.mask", {"object", "buffer"}),
                ("self.position", 0, "", {"object", "attribute"}),
                ("self.shared", 0, "", {"object", "attribute"})], found.tensors
        weights = [layer._parameters["weight"] for layer in encoder.layers._modules.values()]
        def outside(model):
            return [(one.name, one.path) for one in ask(*indirect()).tensors]
        def indirect():
            return weights
        def apart(encoder):
            return [(one.name, one.path) for one in ask(*held()).tensors]
        held = lambda: list(encoder_weights)
        encoder_weights = tuple(weights)
        assert apart(encoder) == [("encoder.layers[0].weight", "layers.0.weight"),
                                  ("encoder.layers[1].weight", "layers.1.weight"),
                                  ("encoder.layers['last-one'].weight", "layers.last-one.weight")], apart(encoder)
        trainer = Trainer(encoder)
        found = trainer.step(Tensor())
        assert found.module == ("layers.1", "Attention")

        # the root is the outermost
        class Wrapper(Module):
            def __init__(self, module):
                super().__init__()
                self.module = module
            def forward(self, *arguments):
                return self.module(*arguments)
        wrapped = Wrapper(encoder)
        found = wrapped("0", Tensor())
        assert found.module == ("module.layers.0", "Attention")
        assert found.tensors[1].path == "module.layers.0.weight", found

        # kept where the model does not register it
        class Branches(Module):
            def __init__(self):
                super().__init__()
                self.branches = [Attention(), Attention()]
            def forward(self, x):
                found = self.branches[1](x)
                assert name(self.branches[1].weight) == "self.branches[1].weight"
                return found
        found = Branches()(Tensor())
        assert found.module == ("", "Attention") and found.tensors[1].path == "weight", found

        # attributes of any of its classes
        class Base:
            mean = Tensor()
        class Mixin(Base):
            deviation = Tensor()
        class Mixed(Mixin, Module, Base):
            def forward(self):
                return ask(Base.mean, Mixin.deviation)
        found = Mixed()()
        assert [one.name for one in found.tensors] == ["self.mean", "self.deviation"], found
        assert all(one.is_ == {"object", "attribute"} for one in found.tensors)
        for _ in range(40):
            Base = type("Base", (type("Left", (Base,), {}), type("Right", (Base,), {})), {})
        found = type("Deep", (Base, Module), {"forward": lambda self: ask(Mixin.deviation)})()()
        assert found.module[1] == "Deep", found

        # a module that is its own child, and two that are each other's
        ring = Wrapper(encoder)
        ring._modules["self"] = ring
        ring.other = other = Wrapper(ring)
        assert ring("0", Tensor()).tensors[1].path == "module.layers.0.weight"
        """,
    )


def test_no_code_of_the_users_runs(interpreter: Interpreter, tmp_path: Path) -> None:
    """Not even of a class whose every method, and whose metaclass's, is loud."""
    interpreter.passes(
        tmp_path,
        """
        import os, sys
        from torch_standin import Module, Tensor
        from named import Question

        events = []
        def loud(name):
            def method(*arguments):
                events.append(name)
                raise AssertionError(name)
            return method
        methods = ("getattr getattribute len iter getitem contains bool eq ne repr str instancecheck subclasscheck "
                   "torch_function index int call get dir missing sizeof").split()
        hostile = {f"__{name}__": loud(name) for name in methods}
        hostile["__hash__"] = loud("hash")
        hostile |= {name: loud(name) for name in "items keys values get parameters named_parameters _fields".split()}
        hostile["field"] = property(loud("property"))
        Meta = type("Meta", (type,), {**hostile, "__name__": property(loud("name")), "__mro__": property(loud("mro"))})
        Plain, Dict, List, Tuple, Hostile, Net = (type.__new__(Meta, "Hostile", (base,), dict(hostile))
                                                  for base in (object, dict, list, tuple, Tensor, Module))

        class Key:
            def __hash__(self): return hash("labels")
            def __eq__(self, other): events.append("eq of key"); return False
        class Text(str):
            def __hash__(self): return str.__hash__(self)
            def __eq__(self, other): events.append("eq of text"); return str.__eq__(self, other)

        tensors = [Tensor() for _ in range(7)]
        mapping, listed, tupled = dict.__new__(Dict), list.__new__(List), tuple.__new__(Tuple, tensors[3:4])
        dict.__setitem__(mapping, Text("labels"), tensors[0])
        dict.__setitem__(mapping, Key(), tensors[1])
        list.append(listed, tensors[2])
        plain, hostile_tensor, net = object.__new__(Plain), object.__new__(Hostile), object.__new__(Net)
        object.__setattr__(plain, "attribute", tensors[4])
        members = {"_parameters": {"weight": tensors[5]}, "_buffers": {}, "_modules": {}, "loose": tensors[6]}
        for name in members:
            object.__setattr__(net, name, members[name])
        globals()[Text("work")] = None
        globals()[Key()] = None
        question = Question(*tensors, hostile_tensor)
        del tensors, members

        def work(mapping, listed, tupled, plain, net, hostile_tensor):
            sys.setprofile(lambda frame, event, argument: events.append(event))
            question.put()
            sys.setprofile(None)
        ours = work
        events.clear()
        sys.addaudithook(lambda name, arguments: events.append(name))
        ours(mapping, listed, tupled, plain, net, hostile_tensor)
        theirs = {"call", "return", "c_call", "c_return", "ctypes.call_function", "sys.setprofile"}
        assert set(events) <= theirs, events
        names = [one.name for one in question.answer().tensors]
        assert names == ["mapping['labels']", "mapping[...]", "listed[0]", "tupled[0]", "plain.attribute", "net.weight",
                         "net.loose", "hostile_tensor"], names
        """,
    )


def test_nothing_is_kept_alive_or_changed(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import gc, sys, weakref
        from torch_standin import Module, Parameter, Tensor
        from named import Question, ask, name

        def work():
            tensor = Tensor()
            shared = Tensor()
            function = lambda: shared
            alive, shared_alive = weakref.ref(tensor), weakref.ref(shared)
            assert name(tensor) == "tensor" and name(shared) == "shared"
            assert sys.getrefcount(tensor) <= 2
            del tensor
            assert alive() is None
            assert name(shared) == "shared"
            del shared
            assert shared_alive() is None
            names = locals()
            names["edited"] = value = 1
            before = dict(names)
            ask(Tensor())
            assert names == before or sys.version_info >= (3, 13)
            assert "edited" in names
        work()

        tensor = Tensor()
        alive = weakref.ref(tensor)
        assert name(tensor) == "tensor"
        del tensor
        assert alive() is None
        value = 1
        locals()["value"] = 2
        ask(Tensor())
        assert value == 2

        class Net(Module):
            def __init__(self):
                super().__init__()
                self.weight = Parameter()
                self.batch = {"a": [Tensor(), (Tensor(),)]}
            def forward(self, x):
                for _ in range(50):
                    question.put()
        net, x = Net(), Tensor()
        question = Question(x, net.weight, net.batch["a"][1][0], Tensor())
        net(x)
        watched = [net, x, net.weight, net.batch, net.__dict__, Net, Tensor, Module, Net.forward.__code__, globals(),
                   net.batch["a"], sys.modules, "forward", "self", sys._getframe()]
        total = getattr(sys, "gettotalrefcount", lambda: 0)   # in a debug build
        def counts():
            return [sys.getrefcount(one) for one in watched]
        gc.collect(); gc.disable()
        objects = len(gc.get_objects())
        before, everything = counts(), total()
        net(x)
        assert counts() == before, (counts(), before)
        assert abs(total() - everything) < 50, total() - everything
        assert abs(len(gc.get_objects()) - objects) < 10
        """,
    )


def test_a_pending_error_stays(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, weakref
        from torch_standin import Tensor
        from named import ask

        class Mine(Exception): pass
        def work(argument):
            try:
                raise Mine("handled")
            except Mine as error:
                before = sys.exc_info()
                ask(argument)   # with `unbound` below, which has no value
                assert sys.exc_info() == before and error.__context__ is None and error.__cause__ is None
                kept = weakref.ref(error)
            del before
            unbound = 1
            del unbound
            assert kept() is None
        work(Tensor())
        """,
    )


def test_bounds(interpreter: Interpreter, tmp_path: Path) -> None:
    """Containers that contain themselves, long ones, deep ones, and a deep stack."""
    interpreter.passes(
        tmp_path,
        """
        import sys, time
        from torch_standin import Module, Parameter, Tensor
        from named import ask, name, name_at
        sys.setrecursionlimit(5000)
        hidden = {Tensor()}   # the walk does not go into sets
        address = id(*hidden)

        def cycles():
            one, two = {}, []
            one["two"], one["one"] = two, one
            two.extend([one, two, (one, two)])
            class Plain: pass
            plain = Plain()
            plain.self, plain.one = plain, one
            assert name_at(address) == ""
            one["tensor"] = Tensor()
            assert name(one["tensor"]) == "one['tensor']"
        cycles()

        def long(values):
            late = Tensor()
            return name(late), name(values[5]), name(values[99_999])
        assert long([Tensor() for _ in range(100_000)]) == ("late", "values[5]", "")
        assert long({i: Tensor() for i in range(100_000)}) == ("late", "values[5]", "")

        def wide(tree):
            start = time.perf_counter()
            assert name_at(address) == ""
            assert time.perf_counter() - start < 1
        wide([[[[0] * 100 for _ in range(100)] for _ in range(100)] for _ in range(10)])

        def outer(held):
            def inner(many):
                return name_at(id(*hidden))
            hidden = {held}
            return inner([[[] for _ in range(1000)] for _ in range(1000)])
        assert outer(Tensor()) == "held"   # what the inner frame has leaves enough for the outer

        def down(levels):
            return down(levels - 1) if levels else name_at(address)
        def top(held, levels):
            return down(levels)
        for levels in (10, 60, 61, 62, 63, 900):   # ours are `name_at`, `put`, and the last of `down`
            found = top(*hidden, levels)
            assert found == ("held" if levels <= 60 else ""), (levels, found)

        class Layer(Module):
            def forward(self, layer=None):
                return layer() if layer else ask(*wanted)
        big = Layer()
        for i in range(5000):
            big.__setattr__("layer%d" % i, Layer())
            big._modules["layer%d" % i].weight = Parameter()
        layer = big.layer4999
        wanted = {layer.weight}
        found = big(layer)
        assert found.module == ("layer4999", "Layer") and found.tensors[0].path == "layer4999.weight", found
        """,
    )


def test_without_a_gil_or_torch(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, types
        from named import ask
        class Tensor: pass
        tensor = Tensor()
        def nothing():
            return ask(tensor) == ([("", -1, "", set())], None)
        assert nothing()
        for stranger in (None, 1, types.ModuleType("torch._C"), tensor):
            sys.modules["torch._C"] = stranger
            assert nothing()
        sys.modules["torch._C"] = types.ModuleType("torch._C")
        sys.modules["torch._C"].TensorBase = 5
        assert nothing()
        sys.modules["torch._C"].TensorBase = Tensor
        assert ask(tensor).tensors[0].name == "tensor"
        """,
    )


PROGRAMS = {
    "an input, in the forward of the user's module": (
        "nn.functional.linear",
        """
        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(10, 2)
            def forward(self, x):
                return self.fc(x)
        model = Classifier()
        batch = torch.randn(4, 10)
        model(batch)
        """,
        [
            [
                ("x", "", "object"),
                ("self.fc.weight", "fc.weight", "object parameter"),
                ("self.fc.bias", "fc.bias", "object parameter"),
            ]
        ],
        ("fc", "Linear"),
    ),
    "an input, of a module of torch's": (
        "nn.functional.linear",
        """
        model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 2))
        saved = torch.randn(4, 10)
        model(saved)
        """,
        [
            [
                ("saved", "", "object"),
                ("model[0].weight", "0.weight", "object parameter"),
                ("model[0].bias", "0.bias", "object parameter"),
            ],
            [
                ("", "", ""),
                ("model[2].weight", "2.weight", "object parameter"),
                ("model[2].bias", "2.bias", "object parameter"),
            ],
        ],
        ("2", "Linear"),
    ),
    "labels in a loop, and a weight of the loss": (
        "nn.functional.cross_entropy",
        """
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(4, 10), torch.randint(0, 3, (4,)))
        model = nn.Linear(10, 3)
        class Reader:
            def __init__(self):
                self.criterions = [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.ones(3))]
            def loss(self, outputs, labels):
                return self.criterions[1](outputs, labels)
        reader = Reader()
        for inputs, labels in DataLoader(data, batch_size=4):
            outputs = model(inputs)
            reader.loss(outputs, labels)
        """,
        [
            [
                ("outputs", "", "object"),
                ("labels", "", "object"),
                ("self.criterions[1].weight", "weight", "buffer object"),
            ]
        ],
        ("", "CrossEntropyLoss"),
    ),
    "a view of what the user knows": (
        "nn.functional.cross_entropy",
        """
        batch = {"labels": torch.randint(0, 5, (2, 6))}
        def loss(logits):
            return nn.functional.cross_entropy(logits.view(-1, 5), batch["labels"].view(-1))
        loss(torch.randn(2, 6, 5))
        """,
        [[("logits", "", ""), ("batch['labels']", "", "")]],
        None,
    ),
    "a plain attribute named weight": (
        "addmm",
        """
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.utils.weight_norm(nn.Linear(5, 5))
            def forward(self, x):
                return torch.addmm(self.layer.bias, x, self.layer.weight.t())
        Tied()(torch.ones(3, 5))
        """,
        [
            [
                ("self.layer.bias", "layer.bias", "object parameter"),
                ("x", "", "object"),
                ("self.layer.weight", "", "attribute"),
            ]
        ],
        ("", "Tied"),
    ),
    "modules that the model does not register": (
        "nn.functional.linear",
        """
        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.branches = [nn.Linear(8, 2)]
            def forward(self, x):
                for layer in self.branches:
                    layer(x)
        Branches()(torch.randn(5, 8))
        """,
        [
            [
                ("x", "", "object"),
                ("layer.weight", "weight", "object parameter"),
                ("layer.bias", "bias", "object parameter"),
            ]
        ],
        ("", "Linear"),
    ),
    "a layer that forward builds": (
        "nn.functional.batch_norm",
        """
        class Block(nn.Module):
            def forward(self, x):
                norm = nn.BatchNorm1d(6)
                return norm(x)
        Block()(torch.randn(4, 6))
        """,
        [
            [
                ("x", "", "object"),
                ("norm.running_mean", "running_mean", "buffer object"),
                ("norm.running_var", "running_var", "buffer object"),
                ("norm.weight", "weight", "object parameter"),
                ("norm.bias", "bias", "object parameter"),
            ]
        ],
        ("", "BatchNorm1d"),
    ),
    "deep in nested modules": (
        "nn.functional.linear",
        """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.q = nn.Linear(4, 4, bias=False)
            def forward(self, hidden):
                return self.q(hidden)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Module()
                self.encoder.layers = nn.ModuleList([nn.ModuleDict({"attn": Attention()}) for _ in range(2)])
            def forward(self, x):
                for layer in self.encoder.layers:
                    x = layer["attn"](x)
                return x
        model = nn.Sequential(Net())
        model(torch.randn(2, 4))
        """,
        [
            [("hidden", "", "object"), ("self.q.weight", f"0.encoder.layers.{i}.attn.q.weight", "object parameter")]
            for i in range(2)
        ],
        ("0.encoder.layers.1.attn.q", "Linear"),
    ),
    "parameters that two modules share": (
        "nn.functional.linear",
        """
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(7, 4)
                self.head = nn.Linear(4, 7, bias=False)
                self.head.weight = self.embedding.weight
            def forward(self, ids):
                return self.head(self.embedding(ids))
        Tied()(torch.tensor([1, 2]))
        """,
        [[("", "", ""), ("self.head.weight", "head.weight", "object parameter")]],
        ("head", "Linear"),
    ),
    "lists and dicts of parameters, and a buffer that is not saved": (
        "add",
        """
        class Lists(nn.Module):
            def __init__(self):
                super().__init__()
                self.many = nn.ParameterList([torch.ones(1), torch.ones(1)])
                self.named = nn.ParameterDict({"left": torch.ones(1)})
                self.register_buffer("table", torch.ones(1), persistent=False)
            def forward(self):
                torch.add(self.many[1], self.named["left"])
                torch.add(self.table, self.table.data)
        Lists()()
        """,
        [
            [("self.many[1]", "many.1", "object parameter"), ("self.named.left", "named.left", "object parameter")],
            [("self.table", "table", "buffer object"), ("self.table", "table", "buffer")],
        ],
        ("", "Lists"),
    ),
    "a hook in backward": (
        "mul",
        """
        def freeze(mask):
            def hook(gradient):
                return torch.mul(gradient, mask)
            return hook
        model = nn.Linear(4, 4)
        model.weight.register_hook(freeze(torch.ones_like(model.weight)))
        model(torch.randn(2, 4)).sum().backward()
        """,
        [[("gradient", "", "object"), ("mask", "", "object")]],
        None,
    ),
    "an averaged copy": (
        "lerp",
        """
        import copy
        class Average:
            def __init__(self, model):
                self.copy = copy.deepcopy(model)
            def update(self, model):
                for slow, fast in zip(self.copy.parameters(), model.parameters()):
                    torch.lerp(slow, fast, 0.5)
        model = nn.Linear(4, 2, bias=False)
        Average(model).update(model)
        """,
        [[("slow", "weight", "object parameter"), ("fast", "weight", "object parameter")]],
        None,
    ),
    "beside a scripted module": (
        "nn.functional.relu",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
            def forward(self, x):
                return nn.functional.relu(x)
        inner = Net()
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.scripted = torch.jit.script(nn.Linear(4, 4))
                self.net = inner
            def forward(self, y):
                return self.net(y)
        Outer()(torch.ones(4))
        """,
        [[("x", "", "object")]],
        ("net", "Net"),
    ),
}


@pytest.fixture(scope="module")
def answers(probe: Path, python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """All programs, run in one process: importing torch takes longer than any."""
    folder = tmp_path_factory.mktemp("programs")
    for title, (_, program, *_) in PROGRAMS.items():
        (folder / title).write_text(textwrap.dedent(program), encoding="utf-8")
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    text = """
        import sys, torch, named
        folder, *titles = sys.argv[1:]
        answers = {}
        for title, function in zip(titles[::2], titles[1::2]):
            holder, _, function = function.rpartition(".")
            space = {"torch": torch, "nn": torch.nn, "__name__": "__main__"}
            path = folder + "/" + title
            with named.spy(torch.nn.functional if holder else torch, function) as seen:
                exec(compile(open(path).read(), path, "exec"), space)
            answers[title] = [([tuple(one) for one in answer.tensors], answer.module) for answer in seen]
        print(answers)
    """
    arguments = [argument for title, (function, *_) in PROGRAMS.items() for argument in (title, function)]
    interpreter = Interpreter(python, 0, probe, environment)
    return eval(interpreter.passes(folder, text, str(folder), *arguments))


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(answers: dict[str, list], title: str) -> None:
    """What PyTorch's functions are given, by the names in programs like those of users."""
    _, _, expected, module = PROGRAMS[title]
    found = [
        [(name, path, " ".join(sorted(kinds))) for name, _, path, kinds in tensors] for tensors, _ in answers[title]
    ]
    assert found == expected
    assert answers[title][-1][1] == module


def test_storages(torch: Interpreter, tmp_path: Path) -> None:
    """A tensor that shares the storage gives its name where the tensor itself has none."""
    torch.passes(
        tmp_path,
        """
        import torch
        from named import Question, ask, register

        def itself_beats_a_view(view):
            other = view[0]
            register()
            return ask(*hidden).tensors[0]
        x = torch.ones(4)
        hidden = {x}
        found = itself_beats_a_view(x[1:])
        assert found == ("x", 1, "", {"object"}), found

        def a_view_in_the_inner_frame(view):
            question = Question(x[2:])
            register()
            return question.put().answer().tensors[0]
        found = a_view_in_the_inner_frame(x[1:])
        assert (found.name, found.frame, found.is_) == ("view", 1, set()), found

        # known by its storage alone
        register()
        assert ask(x, objects=False).tensors == [("x", 0, "", set())]
        assert ask(torch.ones(1), objects=False).tensors == [("", -1, "", set())]

        # the storage's name would belie what the tensor is known to be
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(2))
        net = Net()
        def without_the_module(data):
            register()
            return ask(*weights).tensors[0]
        weights = {net.weight}
        found = without_the_module(net.weight.data)
        assert found == ("net.weight", 1, "weight", {"object", "parameter"}), found
        """,
    )


def test_the_state_of_an_optimizer(torch: Interpreter, tmp_path: Path) -> None:
    torch.passes(
        tmp_path,
        """
        import torch
        from named import ask
        model = torch.nn.Linear(4, 2, bias=False)
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
        state = {optimizer.state[model.weight]["sum"]}
        assert ask(*state).tensors[0].name == "optimizer.state[...]['sum']"
        def step(optimizer):
            return ask(*optimizer.param_groups[0]["params"]).tensors[0]
        found = step(optimizer)
        assert found == ("optimizer.param_groups[0]['params'][0]", 0, "weight", {"object", "parameter"}), found
        """,
    )


def test_while_other_threads_change_what_is_walked(torch: Interpreter, tmp_path: Path) -> None:
    torch.passes(
        tmp_path,
        """
        import threading, time
        import torch
        from named import Question

        shared = {"list": [], "dict": {}}
        class Thing: pass
        thing = Thing()
        stop = False
        def change(seed):
            i = seed
            while not stop:
                i += 1
                shared["list"] = [torch.ones(1) for _ in range(i % 7)]
                shared["dict"][i % 50] = {"deep": [torch.ones(1)]}
                shared["dict"].pop(i % 31, None)
                setattr(thing, "a%d" % (i % 20), [torch.ones(1)])
                thing.__dict__.pop("a%d" % (i % 13), None)
        def look():
            mine = torch.ones(1)
            nowhere = {torch.ones(1)}
            question = Question(mine, *nowhere)
            end = time.monotonic() + 2
            while time.monotonic() < end:
                thing, shared   # in sight
                names = [one.name for one in question.put().answer().tensors]
                assert names == ["mine", ""], names
            finished.append(1)
        finished = []
        changing = [threading.Thread(target=change, args=(i,)) for i in range(2)]
        looking = [threading.Thread(target=look) for _ in range(2)]
        for thread in changing + looking: thread.start()
        for thread in looking: thread.join()
        stop = True
        for thread in changing: thread.join()
        assert len(finished) == 2
        """,
    )


def test_cost(torch: Interpreter, tmp_path: Path) -> None:
    """In a model of 1,000 parameters, asked for what it holds last and for what is nowhere."""
    output = torch.passes(
        tmp_path,
        """
        import torch, probe, named

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v, self.o = (torch.nn.Linear(2, 2) for _ in range(4))
                self.norm = torch.nn.LayerNorm(2)
            def forward(self, hidden, *wanted):
                cost = probe.released.probe_names_cost
                return [cost(address, 200) / 1e6 for address in (id(hidden), *wanted)]
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ModuleList([Block() for _ in range(100)])
            def forward(self, x, *wanted):
                return self.layers[-1](x, *wanted)
        model = Net()
        assert len(list(model.parameters())) == 1000
        nowhere = {torch.ones(1)}
        cost = model(torch.ones(1), id(model.layers[0].q.weight), id(*nowhere))
        print("variable %.2f ms, parameter of another layer %.2f ms, nothing %.2f ms" % tuple(cost))
        assert max(cost) < 100
        """,
    )
    print(output)
