"""Writes draws.json: what randint, multinomial and torch.nn.init draw, and ranges and identity matrices.

Draws are the same numbers that the package draws after manual_seed(seed). torch.nn.init fills zeros after
manual_seed(7), and `next` is what torch.rand draws then.
"""

import torch
from torch import nn

from common import pack


def draws():
    integers, indices = [], []
    for seed in (0, 123, 2**32 - 1):
        torch.manual_seed(seed)
        for low, high, shape in ((0, 10, [5]), (-3, 4, [2, 3]), (5, 6, []), (-(2**24), 2**24, [7]), (0, 3, [0, 2])):
            drawn = torch.randint(low, high, shape, dtype=torch.float32)
            integers.append({"seed": seed, "low": low, "high": high, "shape": shape, "drawn": pack(drawn)})
            seed = None
    for seed in (0, 123, 2**32 - 1):
        torch.manual_seed(seed)
        for shape, n in (
            ([1], 1),
            ([5], 1),
            ([5], 3),
            ([5], 5),
            ([3, 17], 1),
            ([3, 17], 4),
            ([2, 300], 40),
            ([1030], 1),
            ([430], 430),
            ([1, 64], 2),
            ([0, 3], 2),
        ):
            for replacement in (False, True):
                for zeros in (False, True):
                    # Half of the probabilities are 0, where enough are left.
                    p = torch.rand(shape)
                    if zeros and n * 2 < shape[-1]:
                        p[..., ::2] = 0
                    drawn = torch.multinomial(p, n, replacement)
                    indices.append(
                        {
                            "seed": seed,
                            "shape": shape,
                            "n": n,
                            "replacement": replacement,
                            "zeros": zeros,
                            "drawn": pack(drawn.float()),
                        }
                    )
                    seed = None
    torch.manual_seed(9)
    indices.append(
        {
            "seed": 9,
            "shape": [50],
            "n": 3000,
            "replacement": True,
            "zeros": False,
            "drawn": pack(torch.multinomial(torch.rand(50), 3000, True).float()),
        }
    )
    return {"integers": integers, "indices": indices}


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
    ranges = [[0], [1], [5], [4.5], [17.25], [0, 0], [2, 9, 3], [2, 8, 3], [3, 0, -1], [5, -4, -3]]
    ranges += [[1, 2, 0.25], [-1, 1, 0.1], [0, 1, 1 / 3], [1e-3, 0, -1e-4], [-2, -1]]
    sizes = [[0], [1], [3], [2, 5], [5, 2], [0, 3], [3, 0]]
    return {
        **draws(),
        "initial": initial(),
        "ranges": [{"args": args, "range": pack(torch.arange(*args, dtype=torch.float32))} for args in ranges],
        "eyes": [{"args": args, "eye": pack(torch.eye(*args))} for args in sizes],
    }
