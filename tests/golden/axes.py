"""Writes axes.json: operations along axes, elements at indices, and draws of indices.

A case of `calls` is as those of operations.json. `rows` are stored inputs with zeros, ties, NaN and infinities,
with PyTorch's float32 results. Draws are the same numbers that the package draws after manual_seed(seed).
"""

import torch

from common import pack
from operations import INF, NAN, case


def reductions():
    found = []
    for shape, dims in (
        ([], ([], [0], [-1])),
        ([5], ([], [0])),
        ([2, 5], ([], [0, 1], [-1, 0], [1], [0])),
        ([3, 1, 4], ([0, 2], [1, 2], [0, 1], [1], [2, 1, 0])),
        ([2, 3, 4, 5], ([0, 2], [1, 3], [0, 3], [-1, -2], [1, 2], [0, 1], [3, 0, 1], [])),
        ([2, 17, 3], ([0, 2], [1])),
        ([2, 0, 3], ([0, 1], [0, 2], [1])),
    ):
        for dim in dims:
            for keepdim in (False, True):
                options = {"dim": dim, "keepdim": keepdim}
                # The gradient of PyTorch 1.13's var is that of one element where dim is [].
                axes = dim or list(range(len(shape)))
                for name in ("sum", "mean"):
                    found.append(
                        case(name, [shape], lambda x: getattr(x, name)(**options), wide=True, **options)
                    )
                for name in ("var", "std"):
                    for correction in (1, 0):
                        # One element has no variance: the gradient is NaN or infinite.
                        count = sum(torch.ones(shape).sum(dim, True).flatten()[:1].tolist())
                        if count <= correction:
                            continue
                        found.append(
                            case(
                                name,
                                [shape],
                                lambda x: getattr(x, name)(axes, correction == 1, keepdim),
                                wide=True,
                                **options,
                                correction=correction,
                            )
                        )
    return found


def along_one():
    found = []
    for shape in ([], [1], [5], [2, 17], [3, 1, 4], [2, 3, 4, 5], [0, 3], [2, 0], [1030]):
        axes = max(len(shape), 1)
        for dim in range(-axes, axes) if 1030 not in shape else [-1]:
            found.append(case("cumsum", [shape], lambda x: x.cumsum(dim), dim=dim))
            for keepdim in (False, True):
                options = {"dim": dim, "keepdim": keepdim}
                if len(shape) and shape[dim] == 0:
                    continue
                for name in ("max", "min"):
                    indices = []

                    def values(x):
                        values, places = getattr(x, name)(**options)
                        indices.append(places)
                        return values

                    found.append(case(name, [shape], values, **options))
                    found[-1]["indices"] = pack(indices[0].float())
            size = shape[dim] if len(shape) else 1
            for k in {min(1, size), size // 2, size}:
                if not len(shape) and k == 0:
                    continue
                for largest in (True, False):
                    indices = []

                    def best(x):
                        values, places = x.topk(k, dim, largest)
                        indices.append(places)
                        return values

                    found.append(case("topk", [shape], best, k=k, dim=dim, largest=largest))
                    found[-1]["indices"] = pack(indices[0].float())
    return found


def picking():
    found = []
    for shape, dim, index in (
        ([], 0, 0),
        ([], -1, [0, 0, 0]),
        ([3], 0, 2),
        ([3], 0, [2, 0, 0, 2, 2]),
        ([3], -1, []),
        ([2, 3], 1, [[0], [2]]),
        ([2, 3], 1, [[1, 1, 0, 2, 1]]),
        ([2, 3], 0, [[1, 0], [1, 1], [1, 0]]),
        ([2, 3, 2], 1, [[[2, 0], [2, 1]], [[0, 0], [0, 0]]]),
        ([2, 3, 2], -3, [[[1, 0], [1, 1]]]),
        ([2, 2, 3], -1, [[[2], [0]], [[1], [1]]]),
    ):
        found.append(
            case("gather", [shape], lambda x: x.gather(dim, torch.tensor(index, dtype=torch.long)), dim=dim, index=index)
        )
    for shape, dim, index in (
        ([], 0, [0]),
        ([], 0, 0),
        ([3], 0, 1),
        ([3], 0, [2, 2, 0, 2]),
        ([4, 3], 0, [3, 0, 3]),
        ([4, 3], 1, [1, 1]),
        ([2, 3, 17], 1, [2, 0, 0, 1]),
        ([2, 3, 17], -3, [1]),
        ([2, 3], 1, []),
        ([2, 0, 3], 2, [1, 1]),
        ([2, 0], 1, []),
    ):
        found.append(
            case(
                "indexSelect",
                [shape],
                lambda x: x.index_select(dim, torch.tensor(index, dtype=torch.long)),
                dim=dim,
                index=index,
            )
        )
    return found


def special():
    """Rows with zeros, ties, NaN and infinities. The gradients are of the sum of the result."""
    rows = torch.tensor(
        [
            [2.0, 3, -5, 7],
            [2, 0, 3, 4],
            [0, 2, -0.0, 3],
            [1, NAN, 2, 0],
            [INF, 2, 1, 1],
            [-INF, INF, NAN, NAN],
            [3, 3, 1, 1],
            [5, 5, 5, 5],
            [-0.0, 0, -0.0, 0],
        ]
    )
    compute = {
        "cumsum": lambda x: x.cumsum(1),
        "std": lambda x: x.std(1),
        "max": lambda x: x.max(1)[0],
        "min": lambda x: x.min(1)[0],
    }
    found = {"x": pack(rows)}
    for name, f in compute.items():
        x = rows.clone().requires_grad_()
        y = f(x)
        y.sum().backward()
        found[name] = {"out": pack(y), "grad": pack(x.grad)}
    found["argmin"] = rows.argmin(1).tolist()
    found["argmax"] = rows.argmax(1).tolist()
    found["largest"] = pack(rows.topk(3, 1)[0])
    found["smallest"] = pack(rows.topk(3, 1, largest=False)[0])
    found["all"] = []
    for row in rows:
        for name in ("max", "min"):
            x = row.clone().requires_grad_()
            y = getattr(x, name)()
            y.backward()
            found["all"].append({"name": name, "x": pack(row), "out": pack(y), "grad": pack(x.grad)})
    return found


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


def cases():
    return {"calls": reductions() + along_one() + picking(), "special": special(), **draws()}
