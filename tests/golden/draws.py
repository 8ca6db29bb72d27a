"""Writes draws.json: what randint, multinomial and torch.nn.init draw, and ranges and identity matrices.

Draws are the same numbers that the package draws after manual_seed(seed). torch.nn.init fills zeros after
manual_seed(7), and `next` is what torch.rand draws then.
"""

import torch
from torch import nn

from common import pack


SEEDS = (0, 123, 2**32 - 1)
# [rows and] columns, and how many indices of each row
COUNTS = [([1], 1), ([5], 1), ([5], 3), ([5], 5), ([3, 17], 1), ([3, 17], 4), ([2, 300], 40), ([1030], 1)]
COUNTS += [([430], 430), ([1, 64], 2), ([0, 3], 2), ([50], 3000)]


def draws():
    """One after the other from each seed: only the first case of it has the seed."""
    integers, indices = [], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        for low, high, shape in ((0, 10, [5]), (-3, 4, [2, 3]), (5, 6, []), (-(2**24), 2**24, [7]), (0, 3, [0, 2])):
            drawn = torch.randint(low, high, shape, dtype=torch.float32)
            integers.append({"seed": seed, "low": low, "high": high, "shape": shape, "drawn": pack(drawn)})
            seed = None
    for seed in SEEDS:
        torch.manual_seed(seed)
        for shape, n in COUNTS:
            for replacement, zeros in ((False, False), (False, True), (True, False), (True, True)):
                if n > shape[-1] and not replacement:
                    continue
                # Half of the probabilities are 0, where enough are left.
                p = torch.rand(shape)
                if zeros and n * 2 < shape[-1]:
                    p[..., ::2] = 0
                drawn = pack(torch.multinomial(p, n, replacement).float())
                case = {"seed": seed, "shape": shape, "n": n, "replacement": replacement, "zeros": zeros}
                indices.append({**case, "drawn": drawn})
                seed = None
    return {"integers": integers, "indices": indices}


# Functions of torch.nn.init by our names, and options
INITIAL = [
    ("normal", nn.init.normal_, [{}, {"std": 0.02}, {"mean": 3, "std": 0.1}, {"mean": -1e-3}, {"std": 0}]),
    ("uniform", nn.init.uniform_, [{}, {"a": -0.1, "b": 0.3}, {"a": -5}, {"b": 1e30}, {"a": 1, "b": 1}]),
    ("xavierUniform", nn.init.xavier_uniform_, [{}, {"gain": 5 / 3}]),
    ("xavierNormal", nn.init.xavier_normal_, [{}, {"gain": 0.1}]),
    ("kaimingUniform", nn.init.kaiming_uniform_, [{}, {"a": 5**0.5}, {"mode": "fanOut"}]),
    ("kaimingNormal", nn.init.kaiming_normal_, [{}, {"a": 1, "mode": "fanOut"}, {"nonlinearity": "relu"}]),
]
NONLINEARITIES = ("linear", "sigmoid", "tanh", "relu", "leakyRelu", "selu")
INITIAL += [("kaimingUniform", nn.init.kaiming_uniform_, [{"nonlinearity": one} for one in NONLINEARITIES])]
THEIRS = {"fanOut": "fan_out", "leakyRelu": "leaky_relu"}


def initial():
    found = []
    for name, fill, options in INITIAL:
        small = [[1], [15], [16], [19]] if name in ("normal", "uniform") else []
        for given in options:
            for shape in small + [[2, 5], [1, 15], [4, 4], [17, 3], [5, 2, 3, 2]]:
                torch.manual_seed(7)
                tensor = fill(torch.zeros(shape), **{key: THEIRS.get(value, value) for key, value in given.items()})
                after = {"out": pack(tensor), "next": pack(torch.rand(1))}
                found.append({"name": name, "shape": shape, "options": given, **after})
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
