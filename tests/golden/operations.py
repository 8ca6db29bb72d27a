"""Writes operations.json: every operation of tensors, function and loss, with its gradients.

A case is a row: the operation, its inputs, further arguments, options. An input is a shape, drawn with randn
after manual_seed(1), or given values, as where these matter: ties, zeros, NaN, infinities. Then dy is drawn, in
the shape of the result; of several tensors, for all their elements in a row. PyTorch computes in float64 from
float32 inputs, and autograd gives the gradients. tests/lib/operations.test.js calls the method of the same name.
"""

import itertools
import math

import torch
from torch.nn import functional as F

from common import pack, same_names

NAN, INF = math.nan, math.inf


def axes_of(x, dim):
    return list(range(x.dim())) if dim is None or dim == [] else dim


def reduction(name):
    def run(x, dim=None, keepdim=False):
        if dim is None:
            y = getattr(x, name)()
            return y.reshape([1] * x.dim()) if keepdim else y
        return getattr(x, name)(dim, keepdim=keepdim)

    return run


def variance(name):
    """Of all axes by name: without names, the gradient of PyTorch 1.13 fails for some shapes."""

    def run(x, dim=None, keepdim=False, unbiased=True, correction=None):
        correction = int(unbiased) if correction is None else correction
        return getattr(x, name)(axes_of(x, dim), correction=correction, keepdim=keepdim)

    return run


def cross_entropy(x, targets, ignoreIndex=-100, reduction="mean", labelSmoothing=0.0):
    options = {"ignore_index": ignoreIndex, "reduction": reduction, "label_smoothing": labelSmoothing}
    loss = F.cross_entropy(x.reshape(-1, x.shape[-1]), torch.tensor(targets).reshape(-1), **options)
    return loss.reshape(x.shape[:-1]) if reduction == "none" else loss


def rms_norm(x, weight=None, shape=None, eps=1e-5):
    dims = list(range(-len(shape), 0))
    y = x * torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + eps)
    return y if weight is None else y * weight


def attention(q, k, v, attnMask=None, isCausal=False, scale=None):
    """As PyTorch's documentation writes F.scaled_dot_product_attention, which PyTorch 1.13 does not have."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if isCausal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -INF)
    if attnMask is not None:
        scores = scores + attnMask
    return scores.softmax(-1) @ v


def integers(index):
    return torch.tensor(index, dtype=torch.long)


def cut(x, start=0, end=None, dim=0):
    return x[tuple([slice(None)] * (dim % x.dim()) + [slice(start, end)])]


def compared(name):
    return lambda x, y: getattr(x, name)(y).double()


# What has another name, or takes its arguments in another way, than a method of a tensor in PyTorch.
OPERATIONS = {
    **{name: reduction(name) for name in ("sum", "mean", "max", "min")},
    **{name: variance(name) for name in ("var", "std")},
    **{name: compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "logsumexp": lambda x, dim=None, keepdim=False: x.logsumexp(axes_of(x, dim), keepdim),
    "norm": lambda x, dim=None, keepdim=False: torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim),
    "indexSelect": lambda x, dim, index: x.index_select(dim, integers(index)),
    "gather": lambda x, dim, index: x.gather(dim, integers(index)),
    "at": lambda x, index: x[index],
    "slice": cut,
    "cat": lambda *xs, dim=0: torch.cat(xs, dim),
    "stack": lambda *xs, dim=0: torch.stack(xs, dim),
    "where": lambda x, y: torch.where(x.detach() > y.detach(), x, y),
    "maskedFill": lambda x, mask: x.masked_fill(mask.detach() > 0, -INF) + 0 * mask.sum(),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "silu": F.silu,
    "gelu": F.gelu,
    "softmax": lambda x, dim=-1: x.softmax(dim),
    "logSoftmax": lambda x, dim=-1: x.log_softmax(dim),
    "linear": F.linear,
    "layerNorm": lambda x, *given, shape, eps=1e-5: F.layer_norm(x, shape, *given, eps=eps),
    "layerNorm of a bias": lambda x, bias, shape: F.layer_norm(x, shape, None, bias),
    "rmsNorm": rms_norm,
    "embedding": lambda weight, indices: F.embedding(integers(indices), weight),
    "scaledDotProductAttention": attention,
    "masked attention": lambda q, k, v, mask: attention(q, k, v, mask),
    "crossEntropy": cross_entropy,
    "mse": lambda x, y, reduction="mean": F.mse_loss(x, y, reduction=reduction),
}


def drawn(shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def positive(shape):
    return drawn(shape).abs() + 0.5


def case(name, *inputs, args=(), **options):
    torch.manual_seed(1)
    found = {"name": name, "inputs": [one if isinstance(one, list) else pack(one) for one in inputs]}
    found |= {"args": list(args), "options": options}
    leaves = [torch.randn(one) if isinstance(one, list) else one for one in inputs]
    # cumsum has the bits of PyTorch's float32
    leaves = [(one if name == "cumsum" else one.double()).detach().requires_grad_() for one in leaves]
    compute = OPERATIONS.get(name) or (lambda x, *rest, **more: getattr(x, name)(*rest, **more))
    result = compute(*leaves, *args, **options)
    outs = [result] if isinstance(result, torch.Tensor) else list(result)
    if name == "topk" or name in ("max", "min") and len(outs) == 2:
        found["indices"] = pack(outs.pop().float())
    found["outs"] = [pack(out) for out in outs]
    if not any(out.requires_grad for out in outs):
        return found
    flat = torch.cat([out.flatten() for out in outs])
    flat.backward(torch.randn(flat.shape).to(flat.dtype))
    return found | {"grads": [pack(leaf.grad) for leaf in leaves]}


def elementwise():
    pairs = (
        *(([], []), ([3], []), ([2, 6], [2, 1]), ([2, 17], [17]), ([2, 1], [1, 7]), ([4, 1, 5], [3, 1])),
        *(([2, 3, 4, 5], [3, 1, 5]), ([2, 1, 4, 1], [3, 1, 5]), ([2, 3, 4], [2, 3, 4]), ([0, 3], [3])),
        *(([1, 3], [0, 1]), ([2, 3, 1, 2, 2], [1, 3, 4, 1, 2]), ([1, 17], [5, 1])),
    )
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "where"):
        for a, b in pairs:
            yield name, a, b
            yield name, b, a
    for a, b in pairs:
        if len(torch.broadcast_shapes(a, b)) == len(a):
            yield "maskedFill", a, b
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1e-40, -1e-40, 1, -1, 0.25, -0.5, 30, -30, 88.7, 100, -80, -104, 3e38, -3e38])
    few = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -2.0, 100.0])
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        yield name, few.repeat_interleave(8), few.repeat(8)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield name, x[:7].reshape(7, 1), x[:7]
        yield name, drawn([2, 5]).round(), drawn([5]).round()
    numbers = torch.tensor([-2, -1, -0.5, 0, 0.5, 1, 2])
    for name, of, *options in (
        *((name, positive if name in ("log", "sqrt", "rsqrt") else drawn) for name in same_names()),
        *(("exp", lambda shape: 10 * drawn(shape)), ("neg", drawn), ("silu", drawn), ("clone", drawn)),
        *(("gelu", drawn, {"approximate": form}) for form in ("tanh", "none")),
        *(("clamp", drawn, given) for given in ({"min": -0.5, "max": 0.25}, {"min": -0.5}, {"max": 0.25})),
        *(("pow", of, (exponent,)) for exponent in (0, 1, 2, 3, 0.5, -1) for of in (positive, lambda _: numbers)),
        *((name, drawn, (-1.5,)) for name in ("add", "sub", "mul", "div")),
    ):
        given = options[0] if options else {}
        more = {"args": given} if isinstance(given, tuple) else given
        for shape in ([], [17], [2, 0], [3, 1, 5]):
            yield name, of(shape), more
        if name not in ("add", "sub", "mul", "div", "pow"):
            yield name, x, more


def reductions():
    for shape, dims in (
        ([], (None, 0, -1, [], [0])),
        ([1], (None, 0)),
        ([17], (None, 0, [0])),
        ([2, 5], (None, 0, 1, -1, [], [0, 1], [-1, 0])),
        ([3, 1, 4], (None, 0, 1, -1, [0, 2], [1, 2], [2, 1, 0])),
        ([2, 3, 4, 5], (0, 2, [0, 2], [1, 3], [-1, -2], [3, 0, 1])),
        ([2, 17, 3], ([0, 2], 1)),
        ([2, 0, 3], (0, [0, 1], [1])),
        ([0, 3], (None, 0, 1)),
        ([2, 1030], (1,)),
    ):
        for dim, keepdim in itertools.product(dims, (False, True)):
            options = {"keepdim": keepdim, **({} if dim is None else {"dim": dim})}
            for name in ("sum", "mean"):
                yield name, shape, options
            count = sum(torch.ones(shape).sum(axes_of(torch.ones(shape), dim)).flatten()[:1].tolist())
            for name, correction in itertools.product(("var", "std"), (0, 1, 2)):
                if count > correction:  # of fewer elements the gradient is NaN or infinite
                    yield name, shape, {**options, "correction": correction}
            if 0 not in shape:
                yield "logsumexp", shape, options
                yield "norm", shape, options
                if not isinstance(dim, list) and not (dim is None and keepdim):
                    yield "max", shape, options if "dim" in options else {}
                    yield "min", shape, options if "dim" in options else {}
            elif not isinstance(dim, list) and dim is not None and shape[dim] > 0:
                yield "max", shape, options
    yield "var", [3, 5], {"dim": 1, "unbiased": False}
    rows = torch.tensor(
        [
            *([2.0, 3, -5, 7], [2, 0, 3, 4], [0, 2, -0.0, 3], [1, NAN, 2, 0], [INF, 2, 1, 1], [-INF, INF, NAN, NAN]),
            *([3, 3, 1, 1], [-0.0, 0, -0.0, 0], [NAN, 5, NAN, INF], [-INF] * 4),
        ]
    )
    for name in ("max", "min", "cumsum", "sum", "mean", "var", "std", "norm", "logsumexp"):
        yield name, rows, {"dim": 1}
        for row in rows if name in ("max", "min", "sum") else ():
            yield name, row, {}
    for largest in (True, False):
        yield "topk", rows, {"args": (3,), "dim": 1, "largest": largest}
    for shape in ([], [1], [5], [2, 17], [3, 1, 4], [0, 3], [2, 0], [1030]):
        axes = max(len(shape), 1)
        for dim in range(-axes, axes) if 1030 not in shape else [-1]:
            yield "cumsum", shape, {"dim": dim}
            size = shape[dim] if len(shape) else 1
            for k, largest in itertools.product({min(1, size), size // 2, size}, (True, False)):
                if len(shape) or k:
                    yield "topk", shape, {"args": (k,), "dim": dim, "largest": largest}
    for shape in ([], [1], [17], [2, 33], [3, 1], [2, 3, 5], [2, 67], [0, 3], [3, 0], [2, 0, 3]):
        for dim, name in itertools.product(range(-len(shape) or -1, len(shape) or 1), ("softmax", "logSoftmax")):
            yield name, shape, {"dim": dim}
    hard = [[0.0, -INF, 1], [-INF] * 3, [INF, 0, 1], [INF, INF, 0], [NAN, 0, 1], [3e38, -3e38, 0], [1e4, 1e4 - 1, 0]]
    for row in (*hard, [-0.0, 0, -0.0], [-200, 0, -90]):
        yield "logSoftmax", torch.tensor(row), {"dim": 0}
        yield "softmax", torch.tensor(row), {"dim": 0}


def moving():
    for dim, *shapes in (
        *((0, [3], [1], [5]), (-1, [2, 3], [2, 1]), (0, [2, 3], [1, 3], [0, 3]), (1, [2, 3, 2], [2, 4, 2], [2, 1, 2])),
        *((-2, [2, 3, 17], [2, 1, 17]), (1, [2, 3], [0], [2, 2]), (0, [0], [0]), (1, [0, 3], [0, 2]), (0, [1030])),
    ):
        yield "cat", *shapes, {"dim": dim}
    for shape, count in (([], 3), ([3], 2), ([2, 3], 2), ([2, 0], 3), ([2, 3, 5], 4)):
        for dim in range(-len(shape) - 1, len(shape) + 1):
            yield "stack", *[shape] * count, {"dim": dim}
    for shape, n, dim in (
        *(([6], 3, 0), ([7], 3, 0), ([5], 4, 0), ([2], 5, -1), ([2, 17], 3, 1), ([3, 2, 2], 2, -3), ([2, 0], 3, 1)),
        *(([0, 2], 2, 1), ([2, 6], 2, -1), ([2, 3], 5, 1)),
    ):
        yield "chunk", shape, {"args": (n,), "dim": dim}
        yield "split", shape, {"args": (n,), "dim": dim}
    for shape in ([], [3], [2, 3], [1, 3, 1], [2, 0], [1, 1]):
        for dim in range(-len(shape) - 1, len(shape) + 1):
            yield "unsqueeze", shape, {"args": (dim,)}
        for args in ((), *((dim,) for dim in range(-len(shape) or -1, len(shape) or 1))):
            yield "squeeze", shape, {"args": args}
        yield "flatten", shape, {}
    for ends in ((0, -1), (1, -1), (-2, -1), (1, 2), (0, 0), (-4, 1), (3, 3)):
        yield "flatten", [2, 3, 1, 5], {"args": ends}
    for shape, view in (([2, 6], [3, -1]), ([2, 6], [12]), ([], [1, 1]), ([1], []), ([0, 3], [3, 0])):
        yield "view", shape, {"args": (view,)}
        yield "reshape", shape, {"args": (view,)}
    for shape, wide in (
        *(([], [3]), ([], []), ([1], [0]), ([2, 1], [2, 5]), ([2, 1], [-1, 5]), ([3], [2, 3]), ([3], [2, -1])),
        *(([2, 1, 3, 1], [2, 4, 3, 5]), ([1, 17], [5, 17]), ([4, 1, 1], [3, 4, 2, 17]), ([2, 3], [2, 3])),
    ):
        yield "expand", shape, {"args": (wide,)}
    for shape in ([3], [2, 3], [2, 3, 4], [2, 3, 2, 5], [2, 0, 3]):
        for dims in itertools.permutations(range(len(shape))):
            yield "permute", shape, {"args": (dims,)}
    yield "permute", [2, 3, 5], {"args": ([0, -1, 1],)}
    for shape in ([3], [2, 3], [2, 3, 2, 2], [2, 0, 3]):
        for a, b in itertools.product(range(-len(shape), len(shape)), range(len(shape))):
            yield "transpose", shape, {"args": (a, b)}
    for shape, index in (([3], 0), ([3], -1), ([4, 5], 2), ([4, 5], -4), ([2, 3, 4], 1), ([2, 0], 1)):
        yield "at", shape, {"args": (index,)}
    for ends in itertools.product((0, 1, -2, 5, 9, -9), (None, 0, 3, -1, 9, -9)):
        yield "slice", [5, 2], {"args": ends}
    for ends, dim in itertools.product(((1, None), (0, -1), (-1, None), (2, 1)), (1, -1)):
        yield "slice", [2, 3, 4], {"args": ends, "dim": dim}
    for shape in ([1, 1], [3, 3], [2, 5], [5, 2], [2, 3, 17], [0, 3], [3, 0], [2, 0, 3]):
        for diagonal, name in itertools.product((0, 1, -1, 3, -40), ("tril", "triu")):
            yield name, shape, {"diagonal": diagonal}
    for shape, dim, index in (
        *(([], 0, 0), ([], -1, [0, 0, 0]), ([3], 0, 2), ([3], 0, [2, 0, 0, 2, 2]), ([3], -1, []), ([2, 3], 1, [[0], [2]])),
        *(([2, 3], 1, [[1, 1, 0, 2, 1]]), ([2, 3], 0, [[1, 0], [1, 1], [1, 0]]), ([2, 2, 3], -1, [[[2], [0]], [[1], [1]]])),
        *(([2, 3, 2], 1, [[[2, 0], [2, 1]], [[0, 0], [0, 0]]]), ([2, 3, 2], -3, [[[1, 0], [1, 1]]])),
    ):
        yield "gather", shape, {"dim": dim, "index": index}
    for shape, dim, index in (
        *(([], 0, [0]), ([], 0, 0), ([3], 0, 1), ([3], 0, [2, 2, 0, 2]), ([4, 3], 0, [3, 0, 3]), ([4, 3], 1, [1, 1])),
        *(([2, 3, 17], 1, [2, 0, 0, 1]), ([2, 3, 17], -3, [1]), ([2, 3], 1, []), ([2, 0, 3], 2, [1, 1]), ([2, 0], 1, [])),
    ):
        yield "indexSelect", shape, {"dim": dim, "index": index}


def products():
    for a, b in (
        *(([1, 1], [1, 1]), ([2, 3], [3, 5]), ([7, 17], [17, 33]), ([2, 3, 5], [5, 4]), ([2, 3, 7, 5], [2, 3, 5, 6])),
        *(([4, 0, 5], [4, 5, 2]), ([2, 3, 0], [2, 0, 4]), ([2, 1, 3, 4], [5, 4, 6]), ([3, 4], [2, 5, 4, 6])),
        *(([2, 3, 4], [1, 4, 5]), ([1, 3, 4], [2, 4, 5]), ([0, 1, 3, 4], [2, 4, 5]), ([3], [3]), ([3], [3, 4])),
        *(([3], [2, 5, 3, 4]), ([4, 3], [3]), ([2, 5, 4, 3], [3]), ([0], [0]), ([2, 3, 1, 4, 5], [2, 1, 7, 5, 2])),
        *(([2, 3, 4, 5], [3, 5, 6]), ([3, 4, 5], [2, 3, 5, 6]), ([2, 0, 5], [1, 5, 3]), ([1, 4, 5], [0, 5, 2])),
    ):
        yield "matmul", a, b
    for x, weight, *bias in (
        *(([2, 5], [3, 5], [3]), ([5], [3, 5]), ([2, 3, 17], [33, 17], [33]), ([2, 0, 5], [3, 5], [3])),
        *(([2, 0], [3, 0], [3]), ([4, 1], [1, 1])),
    ):
        yield "linear", x, weight, *bias
    for x, shape in (([2, 5], [5]), ([3], [3]), ([2, 3, 4, 5], [4, 5]), ([0, 5], [5]), ([3, 65], [65])):
        for parameters in (0, 1, 2):
            yield "layerNorm", x, *[shape] * parameters, {"shape": shape, "eps": 0.01}
        yield "layerNorm of a bias", x, shape, {"shape": shape}
        for parameters in (0, 1):
            yield "rmsNorm", x, *[shape] * parameters, {"shape": shape, "eps": 0.01}
    rows = torch.tensor([*([1.0, 2, s, 4, 5] for s in (NAN, INF, -INF, 3)), [0] * 5])
    for name in ("layerNorm", "rmsNorm"):
        yield name, rows, {"shape": [5]}
    yield "linear", rows, drawn([3, 5])
    yield "embedding", rows, {"args": ([4, 0, 1, 2],)}
    for indices, weight in (([0, 2, 2], [3, 5]), ([[1], [0]], [2, 1]), ([], [3, 5]), (1, [2, 17])):
        yield "embedding", weight, {"args": (indices,)}
    same = [2, 3, 5, 8]
    for q, k, v, options in (
        *((same, same, same, {}), (same, same, same, {"isCausal": True}), (same, same, same, {"scale": 0.5})),
        *((same, same, same, {"isCausal": True, "scale": 0.5}), ([7, 4], [7, 4], [7, 4], {"isCausal": True})),
        *(([1, 4], [1, 4], [1, 4], {"isCausal": True}), ([2, 40, 16], [2, 40, 16], [2, 40, 16], {"isCausal": True})),
        *(([2, 4, 8], [2, 7, 8], [2, 7, 6], {}), ([2, 4, 8], [2, 7, 8], [2, 7, 6], {"isCausal": True})),
        *(([2, 7, 8], [2, 4, 8], [2, 4, 6], {"isCausal": True}), ([2, 3, 4, 8], [2, 1, 7, 8], [1, 7, 8], {})),
        *(([2, 3, 4, 8], [1, 7, 8], [3, 7, 5], {"isCausal": True}), ([2, 0, 4], [2, 3, 4], [2, 3, 4], {})),
        ([0, 3, 4], [0, 3, 4], [0, 3, 4], {"isCausal": True}),
    ):
        yield "scaledDotProductAttention", q, k, v, options
    for q, k, v, mask in (
        ([2, 3, 4, 8], [2, 3, 7, 8], [2, 3, 7, 6], [4, 7]),
        ([2, 3, 4, 8], [2, 3, 7, 8], [2, 3, 7, 6], [2, 1, 1, 7]),
        ([4, 8], [7, 8], [7, 6], [7]),
    ):
        yield "masked attention", q, k, v, mask


def losses():
    for shape in ([1, 1], [1, 3], [3, 17], [17, 33], [2, 5, 65], [33], [4, 1023]):
        targets = (torch.arange(math.prod(shape[:-1])) * 5 + 1).remainder(shape[-1]).reshape(shape[:-1]).tolist()
        if len(shape) == 2 and shape[0] > 2:
            targets[1] = -100
        yield "crossEntropy", shape, {"args": (targets,)}
        if shape[-1] < 100:
            yield "crossEntropy", 30 * drawn(shape), {"args": (targets,)}
    for shape in ([5, 1], [9, 17], [5, 65]):
        for reduction, (smoothing, ignored) in itertools.product(
            ("none", "mean", "sum"), ((0.0, -1), (0.1, -100), (0.3, 2), (1.0, -1))
        ):
            targets = (torch.arange(shape[0]) * 7).remainder(shape[1]).tolist()
            targets[1] = ignored if ignored < shape[1] else 0
            options = {"ignoreIndex": ignored, "reduction": reduction, "labelSmoothing": smoothing}
            yield "crossEntropy", 3 * drawn(shape), {"args": (targets,), **options}
    for row in ([0.0, -INF, 1], [-INF] * 3, [INF, 0, 1], [NAN, 0, 1], [3e38, -3e38, 0], [1e4, 1e4 - 1, 0]):
        for target, smoothing in itertools.product(range(3), (0.0, 0.1)):
            yield "crossEntropy", torch.tensor([row]), {"args": ([target],), "labelSmoothing": smoothing}
    for shape, reduction in itertools.product(([], [17], [2, 3, 65], [0, 3]), ("mean", "none", "sum")):
        if shape != [0, 3] or reduction != "mean":
            yield "mse", shape, shape, {"reduction": reduction}


def cases():
    found = []
    for rows in (elementwise, reductions, moving, products, losses):
        for name, *inputs in rows():
            options = inputs.pop() if isinstance(inputs[-1], dict) else {}
            found.append(case(name, *inputs, **options))
    exact = torch.tensor([1e3, 1e5, 16367173.0, 2.0**28, 3e8, 1e15, 1e22, 5e30, 3.4e38], dtype=torch.float64)
    large = torch.cat([exact, -exact]).float()
    functions = {name: pack(getattr(large.double(), name)(), torch.float64) for name in ("sin", "cos")}
    return {"cases": found, "large": {"x": pack(large), **functions}}
