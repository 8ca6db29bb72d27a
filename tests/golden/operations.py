"""Writes operations.json: making, joining, reshaping and choosing, softmax, logSoftmax and functions of elements.

A case draws, after manual_seed(1): each of its inputs, then dy. `grads` are autograd's, one for each input.
What moves elements is float32. What computes is float64 from float32 inputs, and has `wide`. `special` is
float32.
"""

import torch

from common import pack

NAN, INF = float("nan"), float("inf")


def case(operation, shapes, compute, wide=False, **options):
    torch.manual_seed(1)
    drawn = [torch.randn(shape) for shape in shapes]
    inputs = [(x.double() if wide else x).requires_grad_() for x in drawn]
    out = compute(*inputs)
    dy = torch.randn(out.shape)
    out.backward(dy.double() if wide else dy)
    grads = [pack(x.grad) for x in inputs]
    found = {"operation": operation, "shapes": shapes, "options": options, "out": pack(out), "grads": grads}
    return {**found, "wide": True} if wide else found


def making():
    ranges = [[0], [1], [5], [4.5], [17.25], [0, 0], [2, 9, 3], [2, 8, 3], [3, 0, -1], [5, -4, -3]]
    ranges += [[1, 2, 0.25], [-1, 1, 0.1], [0, 1, 1 / 3], [1e-3, 0, -1e-4], [-2, -1]]
    sizes = [[0], [1], [3], [2, 5], [5, 2], [0, 3], [3, 0]]
    return {
        "ranges": [{"args": args, "range": pack(torch.arange(*args, dtype=torch.float32))} for args in ranges],
        "eyes": [{"args": args, "eye": pack(torch.eye(*args))} for args in sizes],
    }


def joining():
    found = []
    for dim, *shapes in (
        (0, [3], [1], [5]),
        (-1, [2, 3], [2, 1]),
        (0, [2, 3], [1, 3], [0, 3]),
        (1, [2, 3, 2], [2, 4, 2], [2, 1, 2]),
        (-2, [2, 3, 17], [2, 1, 17]),
        (2, [2, 3, 17], [2, 3, 1], [2, 3, 16]),
        (1, [2, 3], [0], [2, 2]),
        (0, [0], [0]),
        (1, [0, 3], [0, 2]),
        (0, [1030]),
    ):
        found.append(case("cat", shapes, lambda *xs, dim=dim: torch.cat(xs, dim), dim=dim))
    for shape, count in (([], 3), ([3], 2), ([2, 3], 2), ([2, 0], 3), ([2, 3, 5], 4)):
        for dim in range(-len(shape) - 1, len(shape) + 1):
            shapes = [shape] * count
            found.append(case("stack", shapes, lambda *xs, dim=dim: torch.stack(xs, dim), dim=dim))
    for shape, n, dim in (
        ([6], 3, 0),
        ([7], 3, 0),
        ([5], 4, 0),
        ([2], 5, -1),
        ([2, 17], 3, 1),
        ([3, 2, 2], 2, -3),
        ([2, 0], 3, 1),
        ([0, 2], 2, 1),
    ):
        pieces = len(torch.zeros(shape).chunk(n, dim))
        for i in range(pieces):
            found.append(
                case(
                    "chunk",
                    [shape],
                    lambda x, n=n, dim=dim, i=i: x.chunk(n, dim)[i],
                    n=n,
                    dim=dim,
                    i=i,
                    pieces=pieces,
                )
            )
    return found


def shaping():
    found = []
    for shape in ([], [3], [2, 3], [1, 3, 1], [2, 0], [1, 1]):
        for dim in range(-len(shape) - 1, len(shape) + 1):
            found.append(case("unsqueeze", [shape], lambda x, dim=dim: x.unsqueeze(dim), dim=dim))
        axes = max(len(shape), 1)
        found.append(case("squeeze", [shape], lambda x: x.squeeze(), dim=None))
        for dim in range(-axes, axes):
            found.append(case("squeeze", [shape], lambda x, dim=dim: x.squeeze(dim), dim=dim))
        found.append(case("flatten", [shape], lambda x: x.flatten(), start=None, end=None))
    for start, end in ((0, -1), (1, -1), (-2, -1), (1, 2), (0, 0), (-4, 1), (3, 3)):
        found.append(
            case(
                "flatten",
                [[2, 3, 1, 5]],
                lambda x, start=start, end=end: x.flatten(start, end),
                start=start,
                end=end,
            )
        )
    for shape, view in (([2, 6], [3, -1]), ([2, 6], [12]), ([], [1, 1]), ([1], []), ([0, 3], [3, 0])):
        found.append(case("view", [shape], lambda x, view=view: x.view(view), shape=view))
    for shape, wide in (
        ([], [3]),
        ([], []),
        ([1], [0]),
        ([2, 1], [2, 5]),
        ([2, 1], [-1, 5]),
        ([3], [2, 3]),
        ([3], [2, -1]),
        ([2, 1, 3, 1], [2, 4, 3, 5]),
        ([1, 17], [5, 17]),
        ([4, 1, 1], [3, 4, 2, 17]),
        ([2, 3], [2, 3]),
        ([0, 1], [0, 3]),
    ):
        found.append(case("expand", [shape], lambda x, wide=wide: x.expand(wide), shape=wide))
    return found


def softmaxes():
    found = []
    for shape in ([], [1], [17], [2, 33], [3, 1], [2, 3, 5], [2, 67], [0, 3], [3, 0], [2, 0, 3]):
        axes = max(len(shape), 1)
        for dim in range(-axes, axes):
            for name in ("softmax", "logSoftmax"):
                torch_name = {"softmax": torch.softmax, "logSoftmax": torch.log_softmax}[name]
                found.append(
                    case(name, [shape], lambda x, f=torch_name, dim=dim: f(x, dim), wide=True, dim=dim)
                )
    return found


SHAPES = (
    ([3], [3]),
    ([2, 17], [17]),
    ([2, 1], [2, 5]),
    ([], [2, 3]),
    ([2, 3], []),
    ([3, 1, 5], [2, 1, 4, 1]),
    ([0, 3], [3]),
    ([2, 0], [1]),
)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "clamp": lambda x: x.clamp(-0.5, 0.25),
    "clampMin": lambda x: x.clamp(min=-0.5),
    "clampMax": lambda x: x.clamp(max=0.25),
}
SPECIAL = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 0.25, -0.5, 30.0, -30.0, 100.0, -80.0])


def choosing():
    """Comparisons, where, maskedFill, tril and triu. Numbers are rounded, so that some are equal."""
    comparisons, found = [], []
    for a, b in SHAPES:
        torch.manual_seed(1)
        x, y = torch.randn(a).round(), torch.randn(b).round()
        compared = {name: pack(getattr(x, name)(y).float()) for name in COMPARISONS}
        comparisons.append({"a": a, "b": b, **compared})
        found.append(case("where", [a, b], lambda x, y: torch.where(x.detach() > y.detach(), x, y)))
        if len(torch.broadcast_shapes(a, b)) == len(a):
            found.append(
                case("maskedFill", [a, b], lambda x, m: x.masked_fill(m.detach() > 0, -INF) + 0 * m.sum())
            )
    for shape in ([1, 1], [3, 3], [2, 5], [5, 2], [2, 3, 17], [0, 3], [3, 0], [2, 0, 3]):
        for diagonal in (0, 1, -1, 3, -40):
            for name in ("tril", "triu"):
                found.append(
                    case(
                        name,
                        [shape],
                        lambda x, name=name, diagonal=diagonal: getattr(x, name)(diagonal),
                        diagonal=diagonal,
                    )
                )
    x = SPECIAL[:7]
    pairs = {name: pack(getattr(x[:, None], name)(x).float()) for name in COMPARISONS}
    return comparisons, pairs, found


def unary():
    found = []
    for name, compute in UNARY.items():
        for shape in ([], [0], [17], [3, 1, 5]):
            positive = name == "rsqrt"
            found.append(
                case(
                    name,
                    [shape],
                    lambda x, f=compute, positive=positive: f(x.abs() + 0.5 if positive else x),
                    wide=True,
                )
            )
    special = {}
    for name, compute in UNARY.items():
        x = SPECIAL.clone().requires_grad_()
        y = compute(x)
        y.backward(torch.ones_like(y))
        special[name] = {"out": pack(y), "grad": pack(x.grad)}
    return found, special


def cases():
    rows = [
        [0.0, -INF, 1.0],
        [-INF, -INF, -INF],
        [INF, 0.0, 1.0],
        [INF, INF, 0.0],
        [NAN, 0.0, 1.0],
        [3e38, -3e38, 0.0],
        [1e4, 1e4 - 1, 0.0],
        [-0.0, 0.0, -0.0],
        [-200.0, 0.0, -90.0],
    ]
    x = torch.tensor(rows)
    comparisons, pairs, choices = choosing()
    functions, elements = unary()
    return {
        **making(),
        "calls": joining() + shaping() + softmaxes() + choices + functions,
        "comparisons": comparisons,
        "pairs": pairs,
        "elements": {"x": pack(SPECIAL), "functions": elements},
        "special": {"x": pack(x), "logSoftmax": pack(x.log_softmax(-1))},
    }
