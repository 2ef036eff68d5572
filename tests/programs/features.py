"""PyTorch's own ways of running operators, each around a mixed one, and objects that count whatever is asked of them.

Each check prints its result; the last line of every finding here carries a comment that names it.
"""

import contextlib
import copy
import io
import pickle
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")
cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")


def outcome(function, *arguments):
    """What a call returns, or raises."""
    try:
        result = function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return str(result.device) if isinstance(result, torch.Tensor) else result


def mixed(left, right):
    return left.copy_(right)


def scripted():
    function = torch.jit.script(mixed)
    return outcome(lambda: function(cpu, meta))  # script


def traced():
    function = torch.jit.trace(mixed, (cpu, cpu))
    return outcome(lambda: function(cpu, meta))  # trace


def inference_mode():
    with torch.inference_mode():
        return outcome(lambda: torch.ones(2, 2).copy_(meta))  # inference mode


def transforms():
    total = torch.func.grad(lambda value: (value * value).sum())(cpu).sum().item()
    rows = torch.func.vmap(lambda row: row * 2)(cpu).sum().item()
    return total, rows, outcome(lambda: torch.func.vmap(lambda row: row.clone().copy_(meta[0]))(cpu))  # vmap


def fake_tensors():
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = torch.empty(2, 2)
        away = torch.empty(2, 2, device="meta")
        ran = outcome(lambda: (fake @ fake).relu().sum()), outcome(lambda: fake.new_empty(3))
        return *ran, outcome(lambda: fake.copy_(fake)), outcome(lambda: away @ away)


def compiled():
    function = torch.compile(lambda left, right: torch.mm(left, left) + right, backend="eager")
    return outcome(lambda: function(cpu, cpu)), outcome(
        lambda: torch.compile(mixed, backend="eager")(cpu, meta)
    )  # compile


asked = []


class Spy:
    """An object that notes whatever is asked of it."""

    def __getattribute__(self, name):
        asked.append(f"attribute {name}")
        return object.__getattribute__(self, name)

    def __repr__(self):
        asked.append("repr")
        return "Spy"

    def __eq__(self, other):
        asked.append("eq")
        return self is other

    def __hash__(self):
        asked.append("hash")
        return 1

    def __len__(self):
        asked.append("len")
        return 1

    def __bool__(self):
        asked.append("bool")
        return True

    def __iter__(self):
        asked.append("iter")
        return iter(())

    def __getitem__(self, key):
        asked.append("item")
        raise IndexError

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        asked.append("torch function")
        return NotImplemented

    def __del__(self):
        asked.append("del")


class SpyDict(dict):
    """A dict that notes the same."""

    def __getitem__(self, key):
        asked.append(f"dict item {key}")
        return dict.__getitem__(self, key)

    def __iter__(self):
        asked.append("dict iter")
        return dict.__iter__(self)

    def items(self):
        asked.append("dict items")
        return dict.items(self)

    def __len__(self):
        asked.append("dict len")
        return dict.__len__(self)


class Subclass(torch.Tensor):
    """A tensor whose operators run in Python, and which answers nothing without noting it."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        asked.append(f"torch function {function.__name__}")
        return super().__torch_function__(function, types, arguments, keywords or {})

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        asked.append(f"torch dispatch {function}")
        plain = [each.inner if isinstance(each, cls) else each for each in arguments]
        return function(*plain, **(keywords or {}))

    def __repr__(self):
        asked.append("subclass repr")
        return "Subclass"


class Plain(torch.Tensor):
    """A subclass without data of its own, whose attributes note when they are asked for."""

    @property
    def device(self):
        asked.append("property device")
        return super().device

    @property
    def shape(self):
        asked.append("property shape")
        return super().shape

    def __len__(self):
        asked.append("plain len")
        return super().__len__()

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        asked.append(f"plain torch function {getattr(function, '__name__', function)}")
        return super().__torch_function__(function, types, arguments, keywords or {})


class Holder(torch.nn.Module):
    """A module whose attributes, hooks and children note the same."""

    def __init__(self):
        super().__init__()
        self.spy = Spy()
        self.layer = torch.nn.Linear(2, 2, device="meta")

    def __getattr__(self, name):
        asked.append(f"module attribute {name}")
        return super().__getattr__(name)

    def named_parameters(self, *arguments, **keywords):
        asked.append("named_parameters")
        return super().named_parameters(*arguments, **keywords)

    def extra_repr(self):
        asked.append("extra_repr")
        return ""

    def forward(self, batch, other=None):
        spy, table = Spy(), SpyDict(cpu=batch)
        with contextlib.suppress(NotImplementedError):
            batch.copy_(meta)  # module
        return spy, table, other


def spies():
    """What is asked of the objects around a finding: no more than without us."""
    holder, spy, table = Holder(), Spy(), SpyDict(key=Spy())
    batch = torch.ones(2, 2)
    asked.clear()
    with contextlib.suppress(NotImplementedError):
        batch.copy_(meta)  # spies
    holder(batch, other=[spy, table])
    answers = sorted(set(asked))
    asked.clear()
    return answers


def subclasses():
    wrapped, plain = Subclass(torch.ones(2, 2)), torch.ones(2, 2).as_subclass(Plain)
    asked.clear()
    results = [
        outcome(lambda: wrapped.copy_(meta)),  # wrapped
        outcome(lambda: plain.copy_(meta)),  # plain
        outcome(lambda: torch.ones(2, 2).copy_(plain)),
    ]
    return results, sorted(set(asked))


class Counting(TorchDispatchMode):
    """Counts the operators that reach it."""

    seen = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.seen += 1
        return function(*arguments, **(keywords or {}))


def dispatch_mode():
    with Counting() as mode:
        torch.ones(2, 2).sum()
        outcome(lambda: torch.ones(2, 2).copy_(meta))  # mode
    return mode.seen


def profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        torch.ones(2, 2).sum()
        outcome(lambda: torch.ones(2, 2).copy_(meta))  # profiler
    return sorted((event.key, event.count) for event in profile.key_averages())


def saving():
    target = io.BytesIO()
    model = torch.nn.Linear(2, 2)
    torch.save({"model": model.state_dict(), "meta": meta, "cpu": cpu}, target)
    target.seek(0)
    loaded = torch.load(target)
    pickled = pickle.loads(pickle.dumps((cpu, model)))
    copied = copy.deepcopy(model)
    same = all(torch.equal(one, two) for one, two in zip(model.parameters(), copied.parameters()))
    return sorted(loaded), str(loaded["meta"].device), torch.equal(pickled[0], cpu), same


def autograd():
    """Its own threads, and a hook that is called from C++."""
    weight = torch.ones(2, 2, requires_grad=True)
    scaled = weight * 3

    def hook(gradient):
        outcome(lambda: gradient.clone().copy_(meta))  # hook
        return gradient * 2

    scaled.register_hook(hook)
    scaled.sum().backward()
    return weight.grad.sum().item()


for check in (
    scripted,
    traced,
    inference_mode,
    transforms,
    fake_tensors,
    spies,
    subclasses,
    dispatch_mode,
    profiler,
    saving,
    autograd,
    compiled,
):
    print(check.__name__, check())
