"""Writes elementwise.json: maximum and minimum, products of matrices whose leading axes broadcast, squares, sine
and cosine of large numbers.

A case of `calls` draws, after manual_seed(1): each of its inputs, then dy. `out` and `grads` are float64, from
float32 inputs. `ties` and `large` are float32.
"""

import torch

from common import pack

NAN, INF = float("nan"), float("inf")


def call(operation, compute, *shapes):
    torch.manual_seed(1)
    inputs = [torch.randn(shape).double().requires_grad_() for shape in shapes]
    out = compute(*inputs)
    out.backward(torch.randn(out.shape).double())
    grads = [pack(x.grad) for x in inputs]
    return {"operation": operation, "shapes": shapes, "out": pack(out), "grads": grads}


def ties():
    """Zeros, equal numbers, infinities and NaN, and the gradients of an output of ones."""
    x = torch.tensor([1, 2, 2, -INF, INF, NAN, 1, NAN, -3]).requires_grad_()
    y = torch.tensor([2, 1, 2, -INF, 5, 1, NAN, NAN, 0]).requires_grad_()
    found = {"x": pack(x), "y": pack(y)}
    for name in ("maximum", "minimum"):
        out = getattr(torch, name)(x, y)
        grads = torch.autograd.grad(out, (x, y), torch.ones(9))
        found[name] = {"out": pack(out), "grads": [pack(one) for one in grads]}
    return found


def cases():
    calls = []
    pairs = [([5], [5]), ([2, 3], [3]), ([4, 1, 3], [2, 1]), ([1, 17], [5, 1]), ([], [2, 3]), ([0, 2], [2])]
    for pair in [*pairs, ([2, 1, 3, 1], [1, 4, 1, 5])]:
        for name in ("maximum", "minimum"):
            calls.append(call(name, getattr(torch, name), *pair))
    for pair in (
        ([2, 3, 4, 5], [5, 6]),
        ([2, 3, 4, 5], [3, 5, 6]),
        ([3, 4, 5], [2, 3, 5, 6]),
        ([2, 1, 4, 5], [1, 3, 5, 6]),
        ([1, 4, 5], [3, 5, 2]),
        ([3, 4, 5], [1, 5, 2]),
        ([4, 5], [2, 3, 5, 1]),
        ([2, 3, 1, 4, 5], [2, 1, 7, 5, 2]),
        ([5], [3, 5, 2]),
        ([3, 4, 5], [5]),
        ([2, 0, 5], [1, 5, 3]),
        ([1, 4, 5], [0, 5, 2]),
    ):
        calls.append(call("matmul", torch.matmul, *pair))
    for shape in ([7], [2, 3], [0], []):
        calls.append(call("square", lambda x: x.pow(2), shape))
    exact = torch.tensor([1e3, 1e5, 16367173.0, 2.0**28, 3e8, 1e15, 1e22, 5e30, 3.4e38], dtype=torch.float64)
    large = torch.cat([exact, -exact]).float()
    functions = {name: pack(getattr(large.double(), name)(), torch.float64) for name in ("sin", "cos")}
    return {"calls": calls, "ties": ties(), "large": {"x": pack(large), **functions}}
