"""Writes formulas.json: what PyTorch computes for each formula of web/lib/TORCH.md, also at edges. What is one
operation, layer or draw, such as `x.add(y)`, has its cases in operations.py, layers.py or draws.py.

A row of FORMULAS has the code as TORCH.md writes it, PyTorch's code, and for each case the arguments by name.
A string that is a name in INPUTS is that tensor. Values and gradients are float32, so that infinities and NaN
are PyTorch's own. The gradient of element i of an output is 1 + i / 4. The generator is seeded with 7 before
each case.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import pack

NAN, INF = math.nan, math.inf
EDGES = [NAN, INF, -INF, 0.0, -0.0, 1e-8, -1e-8, 0.5, -0.5, 1, -1, 3, -3, 20, -20, 100, -100, 1e30, -1e30]
FEW = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -2.0, 100.0])
ROWS = [
    [0, 1, 1],
    [200, 201, 199],
    [-INF, -INF, -INF],
    [INF, 0, 1],
    [-INF, 0, 1],
    [NAN, 0, 1],
    [INF, INF, 0],
    [-1000, 0, -3],
    [1, 1, 1],
    [0, 0, 0],
    [3, 4, 0],
]
INPUTS = {
    "edges": EDGES,
    "left": FEW.repeat_interleave(8).tolist(),
    "right": FEW.repeat(8).tolist(),
    "third": FEW.roll(3).repeat(8).tolist(),
    "rows": ROWS,
    "finite": [[0, 0, 0], [3, 4, 0], [1, 1, 1], [-1000, 0, -3], [1e-15, 0, 0], [100, -100, 0]],
    "other finite": [[0, 0, 0], [4, -3, 2], [-1, -1, -1], [0, 0, 0], [1, 2, 3], [1e10, 1, -1]],
    "shares": [[0, 0, 1], [0.5, 0.5, 0], [0.2, 0.3, 0.5], [1, 0, 0], [0, 1, 0], [1, 1, 1]],
    "positive": [[1, 2, 3], [0.5, 1e-10, 4], [7, 1, 1]],
    "matrix": [[1, -2, 3], [4, 0, 6]],
    "turned": [[1, 0.5], [-3, 2], [0, 4]],
    "square": [[1, NAN, 3], [4, 5, INF], [-INF, 8, 9]],
    "bits": [0, 0, 1, 1],
    "vector": [1, 2, 3],
    "special vector": [NAN, INF, 0],
    "pair": [-1, 0.5],
    "one": [5],
    "one row": [[2, 2, 5]],
    "scalar": -3,
    "empty": [],
    "no rows": torch.zeros(0, 3),
    "no columns": torch.zeros(2, 0),
    "cube": torch.arange(12).reshape(2, 3, 2).tolist(),
}
I = torch.tensor  # of integers


def each(*names, **given):
    """A case for each input, called x."""
    return [{"x": name, **given} for name in names]


def along(*names):
    """Reductions of matrices: along the one axis and the other."""
    return [
        {"x": name, "dim": dim, "keepdim": keepdim}
        for name in names
        for dim, keepdim in ((-1, False), (0, True))
    ]


EACH = each("edges", "empty", "scalar", "matrix")
SHAPES = ("rows", "matrix", "no rows", "no columns")


FORMULAS = [
    # making
    ("gpt.tensor(values)", "torch.tensor(values).float()", dict(values=[[1, 2], [3, 4]]), dict(values=[])),
    ("gpt.tensor(flat, shape)", "torch.tensor(flat).reshape(shape)", dict(flat=[1.5, 2], shape=[2, 1])),
    ("gpt.zeros(shape)", "torch.zeros(shape)", dict(shape=[2, 3]), dict(shape=[]), dict(shape=[0, 3])),
    ("gpt.ones(shape)", "torch.ones(shape)", dict(shape=[2, 3]), dict(shape=[]), dict(shape=[0, 3])),
    ("gpt.full(shape, value)", "torch.full(shape, value)", dict(shape=[2], value=0.1)),
    ("gpt.zerosLike(x)", "torch.zeros_like(x)", *EACH),
    ("gpt.onesLike(x)", "torch.ones_like(x)", *EACH),
    ("gpt.full(x.shape, value)", "torch.full_like(x, value)", *each("matrix", "empty", value=0.1)),
    (
        "gpt.arange(n).mul((end - start) / Math.max(n - 1, 1)).add(start)",
        "torch.linspace(start, end, n)",
        dict(start=-1, end=2, n=7),
        dict(start=3, end=5, n=1),
        dict(start=3, end=5, n=0),
    ),
    ("gpt.rand(x.shape)", "torch.rand_like(x)", *each("matrix", "empty")),
    ("gpt.randn(x.shape)", "torch.randn_like(x)", *each("matrix", "empty")),
    (
        "gpt.randn(shape).mul(std).add(mean)",
        "torch.normal(mean, std, shape)",
        dict(mean=-3.0, std=0.5, shape=[5]),
        dict(mean=1.0, std=0.0, shape=[17]),
    ),
    ("gpt.rand(x.shape).lt(x)", "torch.bernoulli(x.detach())", *each("bits", "empty")),
    # joining and shaping
    (
        "gpt.cat(tensors, { dim: 1 })",
        "torch.hstack(tensors)",
        dict(tensors=["matrix", "matrix", "no columns"]),
    ),
    (
        "x.split(1, { dim }).map((piece) => piece.squeeze(dim))",
        "x.unbind(dim)",
        *each("rows", dim=1),
        *each("vector", dim=0),
        *each("cube", dim=-1),
    ),
    ("x.view(y.shape)", "x.view_as(y)", dict(x="matrix", y="turned")),
    ("x.transpose(-2, -1)", "x.mT", *each("matrix", "cube", "no rows")),
    ("x.expand(y.shape)", "x.expand_as(y)", dict(x="vector", y="matrix"), dict(x="vector", y="no rows")),
    (
        "gpt.cat([x, x], { dim })",
        "x.repeat(2, 1) if dim == 0 else x.repeat(1, 2)",
        *each("matrix", "no rows", dim=0),
        *each("matrix", dim=1),
    ),
    (
        "x.unsqueeze(1).expand([-1, n, -1]).flatten(0, 1)",
        "x.repeat_interleave(n, 0)",
        *each("rows", "no rows", n=3),
        *each("matrix", n=0),
    ),
    (
        "gpt.cat([gpt.zeros(shape), x], { dim })",
        "F.pad(x, (0, 0, shape[0], 0))",
        *each("matrix", "no rows", shape=[2, 3], dim=0),
    ),
    # indexing
    ("x.slice(a, b, { dim: 1 })", "x[:, a:b]", *each("rows", a=1, b=9), *each("no rows", a=0, b=-1)),
    (
        "x.slice(-1, undefined, { dim: 1 }).squeeze(1)",
        "x[:, -1]",
        *each("matrix", "cube", "no rows", "one row"),
    ),
    (
        "x.slice(0, n).slice(0, n, { dim: 1 })",
        "x[:n, :n]",
        *each("square", "no rows", n=2),
        *each("square", n=0),
    ),
    (
        "x.indexSelect({ dim: 0, index })",
        "x[::2]",
        *each("rows", index=[0, 2, 4, 6, 8, 10]),
        *each("empty", index=[]),
    ),
    ("x.unsqueeze(0)", "x[None]", *EACH),
    ("x.unsqueeze(-1)", "x[..., None]", *EACH),
    (
        "x.flatten().indexSelect({ dim: 0, index: rows.map((row, i) => row * x.shape[1] + cols[i]) })",
        "x[rows, cols]",
        *each("rows", rows=[1, 0, 10, 5], cols=[2, 0, 0, 1]),
        *each("matrix", rows=[], cols=[]),
    ),
    (
        "x.gather({ dim: 1, index: gpt.arange(n).unsqueeze(1) }).squeeze(1)",
        "x.diagonal()",
        *each("square", n=3),
        *each("matrix", n=2),
    ),
    ("gpt.where(gpt.eye(n), x, 0)", "x.diag()", *each("special vector", n=3)),
    (
        "x.topk(n, { dim, largest: false })",
        "x.sort(dim)",
        *each("rows", n=3, dim=1),
        *each("no columns", n=0, dim=1),
    ),
    ("gpt.embedding(index, gpt.eye(n))", "F.one_hot(I(index), n).float()", dict(n=3, index=[[2], [0]])),
    # elements
    ("x.neg().add(1)", "1 - x", *EACH),
    ("x.pow(2)", "torch.square(x)", *EACH),
    ("x.log().div(Math.LN2)", "torch.log2(x)", *EACH),
    ("x.log().div(Math.LN10)", "torch.log10(x)", *EACH),
    ("x.add(1).log()", "torch.log1p(x)", *EACH),
    ("x.exp().sub(1)", "torch.expm1(x)", *EACH),
    ("x.gt(0).sub(x.lt(0))", "torch.sign(x)", *EACH),
    ("x.sin().div(x.cos())", "torch.tan(x)", *EACH),
    ("x.eq(0)", "torch.logical_not(x)", *EACH),
    ("x.ne(x)", "torch.isnan(x)", *EACH),
    ("x.abs().eq(Infinity)", "torch.isinf(x)", *EACH),
    ("x.abs().lt(Infinity)", "torch.isfinite(x)", *EACH),
    (
        "gpt.allclose(x, y, { rtol, atol, equalNan })",
        "torch.allclose(x, y, rtol, atol, equalNan)",
        *each("rows", y="rows", rtol=1e-5, atol=1e-8, equalNan=True),
        *each("rows", y="rows", rtol=1e-5, atol=1e-8, equalNan=False),
        *each("finite", y="other finite", rtol=1, atol=1e10, equalNan=False),
        *each("empty", y="empty", rtol=0, atol=0, equalNan=False),
    ),
    (
        "gpt.equal(x, y)",
        "torch.equal(x, y)",
        *each("rows", y="rows"),
        *each("matrix", "empty", y="matrix"),
        *each("empty", y="empty"),
    ),
    (
        "x.add(y.mul(z))",
        "torch.addcmul(x, y, z)",
        dict(x="left", y="right", z="third"),
        dict(x="matrix", y="vector", z="scalar"),
    ),
    (
        "x.add(y.div(z))",
        "torch.addcdiv(x, y, z)",
        dict(x="left", y="right", z="third"),
        dict(x="matrix", y="vector", z="scalar"),
    ),
    (
        "x.mul(1 - t).add(y.mul(t))",
        "torch.lerp(x, y, t)",
        *[dict(x="other finite", y="finite", t=t) for t in (0, 0.25, 0.75, 1)],
    ),
    # along axes
    ("x.argmax({ dim, keepdim })", "x.argmax(dim, keepdim)", *along("rows", "finite")),
    ("x.argmin({ dim, keepdim })", "x.argmin(dim, keepdim)", *along("rows", "finite")),
    ("x.log().sum({ dim }).exp()", "x.prod(dim)", *each("positive", dim=0), *each("no rows", dim=1)),
    ("x.log().cumsum({ dim }).exp()", "x.cumprod(dim)", *each("positive", dim=0), *each("no rows", dim=1)),
    ("x.ne(0).sum().gt(0)", "torch.any(x)", *EACH),
    ("x.eq(0).sum().eq(0)", "torch.all(x)", *EACH),
    ("x.ne(0).sum()", "torch.count_nonzero(x)", *EACH),
    # products
    (
        "x.unsqueeze(1).mul(y)",
        "torch.outer(x, y)",
        dict(x="vector", y="special vector"),
        dict(x="empty", y="vector"),
        dict(x="vector", y="empty"),
    ),
    (
        "x.matmul(y).add(z)",
        "torch.addmm(z, x, y)",
        dict(x="matrix", y="turned", z="pair"),
        dict(x="no rows", y="turned", z="pair"),
    ),
    # a tensor itself
    ("x.shape[0]", "float(x.shape[0])", *each("matrix", "no rows")),
    ("x.shape.at(-1)", "float(x.shape[-1])", *each("matrix", "no rows")),
    ("x.ndim", "float(x.dim())", *EACH),
    ("x.size", "float(x.numel())", *EACH),
    ("x.item()", "x.item()", *each("scalar", "one")),
    ("x.detach()", "x.detach()", *EACH),
    ("gpt.parameter(x)", "x", *EACH),
    # layers
    ("new gpt.Dropout(p)", "nn.Dropout(p)(x)", *each("edges", "empty", p=0.0)),
    ("new gpt.Identity()", "nn.Identity()(x)", *EACH),
    (
        "x.gather({ dim: 1, index }).mean().neg()",
        "F.nll_loss(x, I(index).reshape(-1))",
        *each("rows", index=[[0], [1], [2]] + [[0]] * 8),
        *each("finite", index=[[0], [1], [2], [0], [1], [2]]),
    ),
    (
        "x.sub(y).abs().mean()",
        "F.l1_loss(x, y)",
        dict(x="matrix", y="matrix"),
        dict(x="finite", y="other finite"),
        dict(x="empty", y="empty"),
    ),
    (
        "gpt.maximum(x, 0).sub(x.mul(y)).add(x.abs().neg().exp().add(1).log()).mean()",
        "F.binary_cross_entropy_with_logits(x, y)",
        dict(x="finite", y="shares"),
        dict(x="empty", y="empty"),
    ),
    (
        "y.mul(gpt.where(y.ne(0), y.log(), 0).sub(x)).mean()",
        "F.kl_div(x, y)",
        dict(x="finite", y="shares"),
        dict(x="empty", y="empty"),
    ),
    (
        "y.mul(gpt.where(y.ne(0), y.log(), 0).sub(x)).sum().div(x.shape[0])",
        "F.kl_div(x, y, reduction='batchmean')",
        dict(x="finite", y="shares"),
    ),
    # functions of layers
    (
        "gpt.dropout(x, { p, training })",
        "F.dropout(x, p, training)",
        *each("edges", p=0.5, training=False),
        *each("matrix", p=0.0, training=True),
        *each("matrix", p=1.0, training=True),
    ),
    (
        "x.div(x.norm({ dim: -1, keepdim: true }).clamp({ min: 1e-12 }))",
        "F.normalize(x, dim=-1)",
        *each(*SHAPES, "finite"),
    ),
    (
        "x.mul(y).sum({ dim: -1 }).div(x.norm({ dim: -1 }).clamp({ min: 1e-8 }))"
        ".div(y.norm({ dim: -1 }).clamp({ min: 1e-8 }))",
        "F.cosine_similarity(x, y, -1)",
        dict(x="special vector", y="vector"),
        dict(x="finite", y="other finite"),
        dict(x="no rows", y="no rows"),
    ),
    ("gpt.maximum(x, 0).add(x.abs().neg().exp().add(1).log())", "F.softplus(x)", *EACH),
    ("gpt.minimum(x, 0).sub(x.abs().neg().exp().add(1).log())", "F.logsigmoid(x)", *EACH),
    ("gpt.where(x.gt(0), x, x.mul(slope))", "F.leaky_relu(x, slope)", *each("edges", "empty", slope=0.01)),
    ("gpt.where(x.gt(0), x, x.maskedFill(x.gt(0), 0).exp().sub(1))", "F.elu(x)", *EACH),
    # initializing
    ("gpt.init.zeros(x)", "nn.init.zeros_(x.detach())", *each("rows")),
    ("gpt.init.ones(x)", "nn.init.ones_(x.detach())", *each("rows")),
    ("gpt.init.constant(x, value)", "nn.init.constant_(x.detach(), value)", *each("rows", value=0.1)),
]
INPUTS_AS_TENSORS = {name: torch.as_tensor(values).float() for name, values in INPUTS.items()}


def run(code, arguments):
    """The outputs of PyTorch's code, and the gradient of each tensor among the arguments."""
    leaves = []

    def leaf(name):
        leaves.append(INPUTS_AS_TENSORS[name].clone().requires_grad_())
        return leaves[-1]

    def bound(value):
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return [leaf(one) for one in value]
        return leaf(value) if isinstance(value, str) and value in INPUTS else value

    torch.manual_seed(7)
    out = eval(code, globals(), {name: bound(value) for name, value in arguments.items()})
    outs = out if isinstance(out, (tuple, list)) else [torch.as_tensor(out)]
    dys = [torch.arange(one.numel()).reshape(one.shape) / 4 + 1 for one in outs]
    for one, dy in zip(outs, dys):
        if one.requires_grad:
            one.backward(dy, retain_graph=True)
    grads = [None if one.grad is None else pack(one.grad) for one in leaves]
    has_gradient = any(one.requires_grad for one in outs)
    return {"out": [pack(one.float()) for one in outs], "grads": grads if has_gradient else None}


def cases():
    formulas = {}
    for ours, theirs, *given in FORMULAS:
        formulas[ours] = [{"given": one, **run(theirs, one)} for one in given]
    return {
        "inputs": {name: pack(values) for name, values in INPUTS_AS_TENSORS.items()},
        "formulas": formulas,
    }
