"""Writes functional.json: the layers' functions with parameters of one's own, and torch.nn.init's draws.

A case draws, after manual_seed(1): each of its inputs, then dy. Values and autograd's gradients are float64,
from float32 inputs. What torch.nn.init draws is float32: each fills zeros after manual_seed(7), and `next` is
what torch.rand draws then.
"""

import torch
from torch import nn
from torch.nn import functional as F

from common import pack


def case(function, shapes, compute, **given):
    torch.manual_seed(1)
    drawn = [torch.randn(shape) for shape in shapes]
    inputs = [x.double().requires_grad_() for x in drawn]
    out = compute(*inputs)
    dy = torch.randn(out.shape)
    out.backward(dy.double())
    grads = [pack(x.grad) for x in inputs]
    return {"function": function, "shapes": shapes, "given": given, "out": pack(out), "grads": grads}


def rms_norm(x, shape, weight=None, eps=1e-5):
    dims = list(range(-len(shape), 0))
    y = x * torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + eps)
    return y if weight is None else y * weight


def attention(q, k, v, attn_mask=None, is_causal=False, scale=None):
    """As PyTorch's documentation writes F.scaled_dot_product_attention, which PyTorch 1.13 does not have."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1) @ v


def functions():
    found = []
    for x, weight, bias in (
        ([2, 5], [3, 5], [3]),
        ([5], [3, 5], None),
        ([2, 3, 17], [33, 17], [33]),
        ([2, 0, 5], [3, 5], [3]),
        ([2, 0], [3, 0], [3]),
        ([4, 1], [1, 1], None),
    ):
        shapes = [x, weight] + ([bias] if bias else [])
        found.append(case("linear", shapes, F.linear))
    for x, shape in (([2, 5], [5]), ([3], [3]), ([2, 3, 4, 5], [4, 5]), ([0, 5], [5]), ([3, 65], [65])):
        for parameters in (0, 1, 2):
            shapes = [x] + [shape] * parameters
            found.append(
                case(
                    "layerNorm",
                    shapes,
                    lambda x, *given, shape=shape: F.layer_norm(x, shape, *given, eps=0.01),
                    shape=shape,
                    eps=0.01,
                )
            )
        # a bias without a weight
        found.append(
            case(
                "layerNorm",
                [x, shape],
                lambda x, bias, shape=shape: F.layer_norm(x, shape, None, bias),
                shape=shape,
                biasOnly=True,
            )
        )
        for parameters in (0, 1):
            shapes = [x] + [shape] * parameters
            found.append(
                case(
                    "rmsNorm",
                    shapes,
                    lambda x, *given, shape=shape: rms_norm(x, shape, *given, eps=0.01),
                    shape=shape,
                    eps=0.01,
                )
            )
    for indices, weight in (([0, 2, 2], [3, 5]), ([[1], [0]], [2, 1]), ([], [3, 5]), (1, [2, 17])):
        found.append(
            case(
                "embedding",
                [weight],
                lambda weight, indices=indices: F.embedding(torch.tensor(indices, dtype=torch.long), weight),
                indices=indices,
            )
        )
    same = [2, 3, 5, 8]
    for q, k, v, options in (
        (same, same, same, {}),
        (same, same, same, {"isCausal": True}),
        (same, same, same, {"isCausal": True, "scale": 0.5}),
        (same, same, same, {"scale": 0.5}),
        ([7, 4], [7, 4], [7, 4], {"isCausal": True}),
        ([1, 4], [1, 4], [1, 4], {"isCausal": True}),
        ([2, 40, 16], [2, 40, 16], [2, 40, 16], {"isCausal": True}),
        ([2, 4, 8], [2, 7, 8], [2, 7, 6], {}),
        ([2, 4, 8], [2, 7, 8], [2, 7, 6], {"isCausal": True}),
        ([2, 7, 8], [2, 4, 8], [2, 4, 6], {"isCausal": True}),
        ([2, 3, 4, 8], [2, 1, 7, 8], [1, 7, 8], {}),
        ([2, 3, 4, 8], [1, 7, 8], [3, 7, 5], {"isCausal": True}),
        ([0, 3, 4], [0, 3, 4], [0, 3, 4], {"isCausal": True}),
        ([2, 0, 4], [2, 3, 4], [2, 3, 4], {}),
    ):
        compute = lambda q, k, v, options=options: attention(
            q, k, v, is_causal=options.get("isCausal", False), scale=options.get("scale")
        )
        found.append(case("attention", [q, k, v], compute, **options))
    for q, k, v, mask in (
        ([2, 3, 4, 8], [2, 3, 7, 8], [2, 3, 7, 6], [4, 7]),
        ([2, 3, 4, 8], [2, 3, 7, 8], [2, 3, 7, 6], [2, 1, 1, 7]),
        ([4, 8], [7, 8], [7, 6], [7]),
    ):
        found.append(case("masked", [q, k, v, mask], attention))
    return found


def initial():
    found = []
    shapes = ([2, 5], [1, 15], [4, 4], [17, 3], [5, 2, 3, 2])
    for name, fill, options in (
        ("normal", nn.init.normal_, [{}, {"std": 0.02}, {"mean": 3, "std": 0.1}, {"mean": -1e-3}, {"std": 0}]),
        ("uniform", nn.init.uniform_, [{}, {"a": -0.1, "b": 0.3}, {"a": -5}, {"b": 1e30}, {"a": 1, "b": 1}]),
        ("xavierUniform", nn.init.xavier_uniform_, [{}, {"gain": 5 / 3}]),
        ("xavierNormal", nn.init.xavier_normal_, [{}, {"gain": 0.1}]),
        (
            "kaimingUniform",
            nn.init.kaiming_uniform_,
            [
                {},
                {"a": 5**0.5},
                {"mode": "fanOut"},
                *[{"nonlinearity": one} for one in ("linear", "sigmoid", "tanh", "relu", "leakyRelu", "selu")],
            ],
        ),
        ("kaimingNormal", nn.init.kaiming_normal_, [{}, {"a": 1, "mode": "fanOut"}, {"nonlinearity": "relu"}]),
    ):
        sizes = [[1], [15], [16], [19], *shapes] if name in ("normal", "uniform") else shapes
        theirs = {"fanOut": "fan_out", "leakyRelu": "leaky_relu"}
        for given in options:
            for shape in sizes:
                torch.manual_seed(7)
                tensor = torch.zeros(shape)
                fill(tensor, **{key: theirs.get(value, value) for key, value in given.items()})
                found.append(
                    {
                        "name": name,
                        "shape": shape,
                        "options": given,
                        "out": pack(tensor),
                        "next": pack(torch.rand(1)),
                    }
                )
    return found


def cases():
    return {"calls": functions(), "draws": initial()}
