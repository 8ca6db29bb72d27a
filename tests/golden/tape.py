"""Writes tape.json: values and gradients of each tensor operation, and of random graphs with layers.

A graph is a list of steps, one string each: an operation, its operands as indices of earlier values, and its
options, such as `sum 3 dim=0 keepdim=true`. tests/lib/tape.test.js runs the same strings.

    constant shape=[2,3]     a leaf, drawn with randn; `values=[0,1]` instead of a shape gives the values
    parameter shape=[2,3]    as constant, and requires a gradient
    LayerNorm 3 layer=0      the first layer of `layers`, applied to value 3

After manual_seed(seed) the parameters of the layers are drawn with randn and halved, in order; then the
leaves, in order; then dy, the gradient of the last value. PyTorch computes in float64, and the results are
rounded to float32. `gradients` has those of the leaves, then those of the layers; null for an unused one.

    operations  written by hand: a value that is used twice, constants, pieces of a split
    graphs      200 random ones. A graph is drawn again where float32 is not enough: where PyTorch's own
                float32 is off by more than a tenth of the test's tolerance, or an operation is near a kink
    dropped     how many graphs were drawn again
"""

import json
import random

import torch
from torch import nn
from torch.nn import functional as F

from layers import Attention
from common import Conv1D, FeedForward, pack

GRAPHS = 200
VALUE_TOLERANCE, GRADIENT_TOLERANCE = 2e-5, 2e-4
KINK = 1e-4
LARGEST = 50.0  # of a value in a random graph


class RMSNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


class BatchNorm(nn.BatchNorm1d):
    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)


class BatchedAttention(Attention):
    def forward(self, x):
        return super().forward(x.reshape(-1, *x.shape[-2:])).reshape(x.shape)


LAYERS = {
    "Linear": nn.Linear,
    "Conv1D": Conv1D,
    "LayerNorm": nn.LayerNorm,
    "RMSNorm": RMSNorm,
    "BatchNorm": BatchNorm,
    "Embedding": nn.Embedding,
    "Attention": BatchedAttention,
    "FeedForward": FeedForward,
    "GELU": lambda: nn.GELU(approximate="tanh"),
    "Softmax": lambda: nn.Softmax(dim=-1),
    "ReLU": nn.ReLU,
}


def reduce(name):
    def run(x, dim=None, keepdim=False):
        if dim is not None:
            return getattr(x, name)(dim, keepdim=keepdim)
        y = getattr(x, name)()
        return y.reshape([1] * x.dim()) if keepdim else y

    return run


def variance(x, dim=None, keepdim=False, unbiased=True, correction=None):
    """All axes by name: without names, the gradient of PyTorch 1.13 fails for the shape [1]."""
    dim = tuple(range(x.dim())) if dim is None else dim
    return x.var(dim, correction=int(unbiased) if correction is None else correction, keepdim=keepdim)


def largest(x, dim=None, keepdim=False):
    y = reduce("max")(x, dim, keepdim)
    return y if dim is None else y.values


def cut(x, start=0, end=None, dim=0):
    """x[start:end] along an axis."""
    return x[tuple([slice(None)] * (dim % x.dim()) + [slice(start, end)])]


OPERATIONS = {
    "add": lambda a, b=None, number=None: a + (number if b is None else b),
    "sub": lambda a, b=None, number=None: a - (number if b is None else b),
    "mul": lambda a, b=None, number=None: a * (number if b is None else b),
    "div": lambda a, b=None, number=None: a / (number if b is None else b),
    "neg": torch.neg,
    "pow": lambda x, exponent: x**exponent,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "abs": torch.abs,
    "tanh": torch.tanh,
    "sum": reduce("sum"),
    "mean": reduce("mean"),
    "var": variance,
    "max": largest,
    "matmul": torch.matmul,
    "permute": lambda x, dims: x.permute(dims),
    "transpose": lambda x, dims: x.transpose(*dims),
    "reshape": lambda x, shape: x.reshape(shape),
    "at": lambda x, index: x[index],
    "slice": cut,
    "split": lambda x, size, dim=0: x.split(size, dim),
    "clone": torch.clone,
    "detach": torch.detach,
}


def parse(step):
    name, *words = step.split()
    options = dict(word.split("=") for word in words if "=" in word)
    operands = [int(word) for word in words if "=" not in word]
    return name, operands, {key: json.loads(value) for key, value in options.items()}


def near_kink(name, inputs, options):
    """Whether rounding decides the gradient. Exact zeros and ties are fine: everybody has them."""
    x = inputs[0]
    if name in ("abs", "ReLU"):
        distances = x.abs()
    elif name == "max":
        x = x.flatten() if options.get("dim") is None else x.movedim(options["dim"], -1)
        distances = x.max(-1, keepdim=True).values - x
    else:
        return False
    return bool(((distances > 0) & (distances < KINK)).any())


def run(graph, dtype):
    """The last value, the gradients, and whether a value is near a kink or large."""
    layers = []
    for text in graph["layers"]:
        name, _, options = parse(text)
        evaluated = options.pop("eval", False)
        layers.append(LAYERS[name](*options.values()).train(not evaluated))
    torch.manual_seed(graph["seed"])
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data = torch.randn(parameter.shape) / 2
        if not layer.training:
            layer.running_mean.copy_(torch.randn(layer.running_mean.shape) / 2)
            layer.running_var.copy_(torch.randn(layer.running_var.shape).abs() + 0.5)
        layer.to(dtype)
    values, leaves, is_bad = [], [], False
    for step in graph["steps"]:
        name, operands, options = parse(step)
        inputs = [values[i] for i in operands]
        if name in ("constant", "parameter"):
            given = options.get("values")
            leaf = (torch.randn(options["shape"]) if given is None else torch.tensor(given)).to(dtype)
            if name == "parameter":
                leaves.append(leaf.requires_grad_())
            values.append(leaf)
            continue
        is_bad |= len(inputs) > 0 and near_kink(name, inputs, options)
        if name in LAYERS:
            layer = layers[options["layer"]]
            found = layer(torch.tensor(options["tokens"])) if name == "Embedding" else layer(*inputs)
        else:
            found = OPERATIONS[name](*inputs, **options)
        for value in found if name == "split" else [found]:
            is_bad |= not bool((value.abs() < LARGEST).all())
            values.append(value)
    root = values[-1]
    root.backward(torch.randn(root.shape).to(dtype))
    leaves += [parameter for layer in layers for parameter in layer.parameters()]
    return root, [leaf.grad for leaf in leaves], is_bad


def is_close(graph):
    """Whether PyTorch's float32 is within a tenth of the test's tolerance, and no value is bad."""
    value, gradients, is_bad = run(graph, torch.float64)
    if is_bad or not value.requires_grad:
        return False
    rounded, rounded_gradients, _ = run(graph, torch.float32)
    error = (rounded - value).abs() / value.abs().clamp(min=1)
    if not bool((error <= VALUE_TOLERANCE / 10).all()):
        return False
    for gradient, other in zip(gradients, rounded_gradients):
        if gradient is None or gradient.numel() == 0:
            continue
        if not bool(((other - gradient).abs() <= GRADIENT_TOLERANCE / 10 * gradient.abs().max()).all()):
            return False
    return True


def solved(graph):
    value, gradients, _ = run(graph, torch.float64)
    packed = [None if gradient is None else pack(gradient.float()) for gradient in gradients]
    return {**graph, "value": pack(value.float()), "gradients": packed}


def operations():
    graphs = []

    def add(*steps, layers=()):
        graphs.append({"seed": len(graphs), "layers": list(layers), "steps": list(steps)})

    def leaf(shape):
        return f"parameter shape={json.dumps(shape, separators=(',', ':'))}"

    for name in ("add", "sub", "mul"):
        add(leaf([17]), f"{name} 0 0")
        add(leaf([3, 1]), "constant shape=[5]", f"{name} 0 1")
    add("constant shape=[5]", leaf([3, 1]), "div 0 1")
    add("parameter values=[[1,2,2],[3,3,1]]", "max 0 dim=0 keepdim=true", "mul 0 1")
    add(leaf([3, 3]), "matmul 0 0")
    add(leaf([2, 6]), "split 0 size=3 dim=1", "mul 1 2", "sub 3 1")
    add(leaf([5]), "detach 0", "mul 0 1")
    add(leaf([5]), leaf([5]), "add 0 0")
    add(leaf([4, 3]), "BatchNorm 0 layer=0", "BatchNorm 1 layer=0", layers=["BatchNorm size=3 eval=true"])
    return [solved(graph) for graph in graphs]


class Builder:
    """Draws the steps of a graph."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.graph = {"seed": seed, "layers": [], "steps": []}
        self.shapes = []
        self.used = set()
        for _ in range(self.rng.randint(2, 3)):
            self.leaf("parameter", [self.rng.randint(1, 5) for _ in range(self.rng.choice((1, 2, 2, 3)))])
        for _ in range(self.rng.randint(5, 10)):
            kinds = (self.unary, self.unary, self.binary, self.reduction, self.move, self.layer, self.layer)
            self.rng.choice(kinds)()
        self.finish()

    def append(self, name, operands, value_shape, /, **options):
        """Returns the index of the step's value."""
        words = [name, *map(str, operands)]
        words += [f"{key}={json.dumps(value, separators=(',', ':'))}" for key, value in options.items()]
        self.graph["steps"].append(" ".join(words))
        self.used.update(operands)
        self.shapes.append(list(value_shape))
        return len(self.shapes) - 1

    def leaf(self, kind, shape):
        return self.append(kind, [], shape, shape=shape)

    def pick(self):
        """An earlier value, more often one that nothing uses yet."""
        unused = [i for i in range(len(self.shapes)) if i not in self.used]
        return self.rng.choice(unused if unused and self.rng.random() < 0.6 else range(len(self.shapes)))

    def unary(self):
        x = self.pick()
        shape = self.shapes[x]
        with_number = ("add", "sub", "mul", "div")
        name = self.rng.choice(("neg", "exp", "log", "sqrt", "abs", "tanh", "pow", "clone", *with_number))
        if name in ("log", "sqrt"):
            x = self.append("add", [self.append("abs", [x], shape)], shape, number=0.5)
        if name == "exp":
            x = self.append("tanh", [x], shape)
        options = {"number": self.rng.choice((-1.5, 0.25, 2))} if name in with_number else {}
        if name == "pow":
            options = {"exponent": self.rng.choice((2, 3))}
        self.append(name, [x], shape, **options)

    def binary(self):
        a = self.pick()
        if len(self.shapes[a]) >= 2 and self.rng.random() < 0.4:
            return self.product(a)
        fitting = [i for i, shape in enumerate(self.shapes) if fits(self.shapes[a], shape)]
        b = self.rng.choice(fitting)
        if self.rng.random() < 0.3:
            sizes = [self.rng.choice((size, 1)) for size in self.shapes[a]]
            b = self.leaf("parameter", sizes[self.rng.randint(0, 1) :])
        a, b = (a, b) if self.rng.random() < 0.5 else (b, a)
        shape = torch.broadcast_shapes(self.shapes[a], self.shapes[b])
        name = self.rng.choice(("add", "sub", "mul", "div"))
        if name == "div":
            b = self.append("add", [self.append("abs", [b], self.shapes[b])], self.shapes[b], number=0.5)
        self.append(name, [a, b], shape)

    def product(self, a):
        *leading, rows, inner = self.shapes[a]
        if self.rng.random() < 0.3:
            turned = self.append("transpose", [a], [*leading, inner, rows], dims=[-1, -2])
            return self.append("matmul", [a, turned], [*leading, rows, rows])
        cols = self.rng.randint(1, 5)
        b = self.leaf("parameter", [*(leading if self.rng.random() < 0.5 else []), inner, cols])
        return self.append("matmul", [a, b], [*leading, rows, cols])

    def reduction(self):
        x = self.pick()
        shape = self.shapes[x]
        name = self.rng.choice(("sum", "mean", "var", "max"))
        dim = self.rng.randrange(-len(shape), len(shape)) if shape and self.rng.random() < 0.8 else None
        keepdim = self.rng.random() < 0.5
        kept = [1 if dim is None or i == dim % len(shape) else size for i, size in enumerate(shape)]
        dropped = [] if dim is None else [size for i, size in enumerate(shape) if i != dim % len(shape)]
        options = {} if dim is None else {"dim": dim}
        if name == "var":
            options["unbiased"] = False
        self.append(name, [x], kept if keepdim else dropped, **options, keepdim=keepdim)

    def move(self):
        x = self.pick()
        shape = self.shapes[x]
        if not shape:
            return self.append("reshape", [x], [1, 1], shape=[1, 1])
        axis = self.rng.randrange(len(shape))
        name = self.rng.choice(("permute", "transpose", "reshape", "at", "slice", "split"))
        if name == "permute":
            dims = self.rng.sample(range(len(shape)), len(shape))
            return self.append(name, [x], [shape[dim] for dim in dims], dims=dims)
        if name == "transpose":
            other = self.rng.randrange(len(shape))
            swapped = list(shape)
            swapped[axis], swapped[other] = shape[other], shape[axis]
            return self.append(name, [x], swapped, dims=[axis, other - len(shape)])
        if name == "reshape":
            return self.append(name, [x], [shape[0], torch.Size(shape[1:]).numel()], shape=[shape[0], -1])
        if name == "at":
            return self.append(name, [x], shape[1:], index=self.rng.randrange(-shape[0], shape[0]))
        if name == "slice":
            start = self.rng.randrange(shape[axis])
            end = self.rng.randint(start + 1, shape[axis])
            cut = [*shape[:axis], end - start, *shape[axis + 1 :]]
            return self.append(name, [x], cut, start=start, end=end, dim=axis)
        size = self.rng.randint(1, shape[axis])
        pieces = torch.empty(shape).split(size, axis)
        self.append(name, [x], pieces[0].shape, size=size, dim=axis)
        self.shapes += [list(piece.shape) for piece in pieces[1:]]

    def layer(self):
        x = self.pick()
        shape = self.shapes[x] or [1]
        if not self.shapes[x]:
            x = self.append("reshape", [x], [1], shape=[1])
        *leading, size = shape
        rows = torch.Size(leading).numel()
        names = ["Linear", "Conv1D", "GELU", "ReLU", "FeedForward", "Embedding"]
        names += ["Attention", "Attention"] if len(shape) >= 2 else []
        names += ["BatchNorm"] if rows >= 3 else []
        # Of two numbers a norm leaves little but signs.
        names += ["LayerNorm", "RMSNorm", "Softmax"] if size >= 3 else []
        name = self.rng.choice(names)
        out = self.rng.randint(1, 5)
        sizes = {
            "Linear": {"inputs": size, "outputs": out},
            "Conv1D": {"outputs": out, "inputs": size},
            "FeedForward": {"size": size, "hidden": 2 * size},
            "Embedding": {"count": 4, "size": out},
            "Attention": {"size": size, "heads": self.rng.choice([n for n in range(1, 6) if size % n == 0])},
            "GELU": {},
            "Softmax": {},
            "ReLU": {},
        }.get(name, {"size": size})
        text = " ".join([name, *(f"{key}={value}" for key, value in sizes.items())])
        known = [i for i, layer in enumerate(self.graph["layers"]) if takes(layer) == takes(text)]
        index = self.rng.choice(known) if known and self.rng.random() < 0.7 else len(self.graph["layers"])
        if index == len(self.graph["layers"]):
            self.graph["layers"].append(text)
        if name in ("Linear", "Conv1D"):
            out = parse(self.graph["layers"][index])[2]["outputs"]
        if name == "Embedding":
            out = parse(self.graph["layers"][index])[2]["size"]
            tokens = [self.rng.randrange(4) for _ in range(self.rng.randint(1, 4))]
            return self.append(name, [], [len(tokens), out], layer=index, tokens=tokens)
        again = self.rng.random() < 0.3 and name not in ("Linear", "Conv1D")
        shape = [*leading, out] if name in ("Linear", "Conv1D") else shape
        y = self.append(name, [x], shape, layer=index)
        if again:
            self.append(name, [y], shape, layer=index)

    def finish(self):
        """Adds up all values that nothing uses, each times a constant."""
        total = None
        for x in [i for i in range(len(self.shapes)) if i not in self.used]:
            weight = self.leaf("constant", self.shapes[x])
            product = self.append("mul", [x, weight], self.shapes[x])
            term = self.append("sum", [product], [])
            total = term if total is None else self.append("add", [total, term], [])


def takes(layer):
    """The name of a layer and the size of its input."""
    name, _, options = parse(layer)
    return name, options.get("inputs", options.get("size"))


def fits(a, b):
    try:
        torch.broadcast_shapes(a, b)
    except RuntimeError:
        return False
    return True


def cases():
    graphs, seed = [], 0
    while len(graphs) < GRAPHS:
        graph = Builder(seed).graph
        if is_close(graph):
            graphs.append(solved(graph))
        seed += 1
    return {"operations": operations(), "graphs": graphs, "dropped": seed - GRAPHS}
