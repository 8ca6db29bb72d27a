"""Writes methods.json: exp, sum, max, argmax, transpose, indexing and slices of tensors.

PyTorch computes exp and sum in float64, and the others, which do not round, in float32. Inputs are drawn
after manual_seed(1); `ties` and `special` are stored.
"""

import torch

from common import pack

SHAPES = ([1], [2, 5], [3, 1, 4], [2, 3, 4, 5], [1030])
NAN, INF = float("nan"), float("inf")


def draw(shape):
    torch.manual_seed(1)
    return torch.randn(shape)


def largest(x, dim, keepdim):
    values, indices = x.max(dim, keepdim)
    return {"dim": dim, "keepdim": keepdim, "values": pack(values), "indices": indices.tolist()}


def cases():
    exponentials, sums, maxima, swaps, rows, slices = [], [], [], [], [], []
    for shape in ([], [1], [2, 17]):
        exponentials.append({"shape": shape, "exp": pack((draw(shape) * 10).double().exp())})
    for shape in SHAPES + ([], [2, 0], [0, 3]):
        x = draw(shape)
        for dim in range(-max(len(shape), 1), max(len(shape), 1)):
            for keepdim in (False, True):
                total = x.double().sum(dim, keepdim)
                sums.append({"shape": shape, "dim": dim, "keepdim": keepdim, "sum": pack(total)})
        sums.append({"shape": shape, "dim": None, "keepdim": False, "sum": pack(x.double().sum())})
    for shape in SHAPES + ([],):
        x = draw(shape)
        dims = range(-max(len(shape), 1), max(len(shape), 1))
        along = [largest(x, dim, keepdim) for dim in dims for keepdim in (False, True)]
        maxima.append({"shape": shape, "max": pack(x.max()), "argmax": x.argmax().item(), "along": along})
    for shape in ([3], [2, 3], [2, 3, 2, 2], [2, 0, 3]):
        for a in range(-len(shape), len(shape)):
            for b in range(len(shape)):
                swaps.append({"shape": shape, "dims": [a, b], "swapped": pack(draw(shape).transpose(a, b))})
    for shape, index in (([3], 0), ([3], -1), ([4, 5], 2), ([4, 5], -4), ([2, 3, 4], 1), ([2, 0], 1)):
        rows.append({"shape": shape, "index": index, "row": pack(draw(shape)[index])})
    for shape in ([5, 2],):
        for start in (0, 1, -2, 5, 9, -9):
            for end in (None, 0, 3, -1, 9, -9):
                slices.append({"shape": shape, "start": start, "end": end, "dim": 0})
                slices[-1]["slice"] = pack(draw(shape)[start:end])
    for start, end in ((1, None), (0, -1), (-1, None), (2, 1)):
        slices.append({"shape": [2, 3, 4], "start": start, "end": end, "dim": 1})
        slices[-1]["slice"] = pack(draw([2, 3, 4])[:, start:end])
        slices.append({"shape": [2, 3, 4], "start": start, "end": end, "dim": -1})
        slices[-1]["slice"] = pack(draw([2, 3, 4])[..., start:end])
    ties = torch.tensor(
        [[1, 3, 3, 2], [NAN, 5, NAN, INF], [-INF, -INF, -INF, -INF], [-0.0, 0.0, -0.0, -1], [1, INF, NAN, 2]]
    )
    special = torch.tensor([0.0, -0.0, 1, INF, -INF, NAN, 88.7, 89, -87.4, -104, 1e-30])
    return {
        "exponentials": exponentials,
        "sums": sums,
        "maxima": maxima,
        "ties": {"x": pack(ties), **largest(ties, 1, False), "argmax": ties.argmax().item()},
        "special": {"x": pack(special), "exp": pack(special.exp()), "sum": pack(special[:5].sum())},
        "swaps": swaps,
        "rows": rows,
        "slices": slices,
    }
