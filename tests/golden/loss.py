"""Writes loss.json: cross entropy and mean squared error with their gradients.

functional.cross_entropy and functional.mse_loss compute in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): the logits and targets, or the prediction and target. `special` has
logits with NaN, infinities and large values.
"""

import torch
from torch.nn import functional as F

from common import pack


def differentiated(loss, x, target):
    wide = x.double().requires_grad_()
    value = loss(wide, target)
    value.backward()
    return {"loss": pack(value), "dx": pack(wide.grad)}


def rows_entropy(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def cases():
    cross_entropy, mse, special = [], [], []
    for shape in ([1, 1], [1, 3], [3, 17], [17, 33], [2, 5, 65], [2, 1, 768], [33], [4, 1023]):
        for scale in (1.0, 30.0):
            seed = sum(shape)
            torch.manual_seed(seed)
            x = torch.randn(shape) * scale
            targets = torch.randint(shape[-1], shape[:-1])
            if len(shape) > 1 and shape[0] > 2:
                targets.view(-1)[1] = -100
            cross_entropy.append(
                {
                    "seed": seed,
                    "shape": shape,
                    "scale": scale,
                    "targets": targets.tolist(),
                    **differentiated(rows_entropy, x, targets),
                }
            )
    for shape in ([], [1], [3], [17], [2, 33], [2, 3, 65], [2, 768]):
        torch.manual_seed(sum(shape))
        x, target = torch.randn(shape), torch.randn(shape)
        mse.append({"seed": sum(shape), "shape": shape, **differentiated(F.mse_loss, x, target.double())})
    inf = float("inf")
    for row in (
        [0.0, -inf, 1.0],
        [-inf, -inf, -inf],
        [inf, 0.0, 1.0],
        [float("nan"), 0.0, 1.0],
        [3e38, -3e38, 0.0],
        [1e4, 1e4 - 1, 0.0],
    ):
        for target in range(3):
            x = torch.tensor([row])
            special.append(
                {"x": pack(x), "target": target, **differentiated(rows_entropy, x, torch.tensor([target]))}
            )
    return {"crossEntropy": cross_entropy, "mse": mse, "special": special}
