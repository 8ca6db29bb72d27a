"""Writes loss.json: cross entropy and mean squared error with their gradients.

functional.cross_entropy and functional.mse_loss compute in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): the logits and targets, or the prediction and target. `special` has
logits with NaN, infinities and large values; `smoothed` has those and label smoothing. In `options`, dy is
drawn last, in the shape of the loss.
"""

import torch
from torch.nn import functional as F

from common import pack


def differentiated(loss, x, target, dy=None, **options):
    wide = x.double().requires_grad_()
    value = loss(wide, target, **options)
    value.backward(dy)
    return {"loss": pack(value), "dx": pack(wide.grad)}


def rows_entropy(logits, targets, **options):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), **options)


def with_options():
    """Cross entropy with every reduction, some targets ignored; mean squared errors that are not the mean."""
    entropies, errors = [], []
    for shape in ([5, 1], [9, 17], [5, 65]):
        for reduction in ("none", "mean", "sum"):
            for smoothing, ignored in ((0.0, -1), (0.1, -100), (0.3, 2), (1.0, -1)):
                torch.manual_seed(shape[1])
                x = torch.randn(shape) * 3
                targets = torch.randint(shape[1], shape[:1])
                targets[1] = ignored if ignored < shape[1] else 0
                dy = torch.randn(shape[:1] if reduction == "none" else []).double()
                options = {"ignore_index": ignored, "reduction": reduction, "label_smoothing": smoothing}
                entropies.append(
                    {
                        "seed": shape[1],
                        "shape": shape,
                        "targets": targets.tolist(),
                        "options": {
                            "ignoreIndex": ignored,
                            "reduction": reduction,
                            "labelSmoothing": smoothing,
                        },
                        **differentiated(rows_entropy, x, targets, dy, **options),
                    }
                )
    for shape in ([], [0, 3], [17], [2, 3, 65]):
        for reduction in ("none", "sum"):
            torch.manual_seed(sum(shape))
            x, target = torch.randn(shape), torch.randn(shape)
            dy = torch.randn(shape if reduction == "none" else []).double()
            errors.append(
                {
                    "seed": sum(shape),
                    "shape": shape,
                    "reduction": reduction,
                    **differentiated(F.mse_loss, x, target.double(), dy, reduction=reduction),
                }
            )
    return {"crossEntropy": entropies, "mse": errors}


def cases():
    cross_entropy, mse, special, smoothed = [], [], [], []
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
            t = torch.tensor([target])
            special.append({"x": pack(x), "target": target, **differentiated(rows_entropy, x, t)})
            values = differentiated(rows_entropy, x, t, label_smoothing=0.1)
            smoothed.append({"x": pack(x), "target": target, **values})
    return {
        "crossEntropy": cross_entropy,
        "mse": mse,
        "special": special,
        "smoothed": smoothed,
        "options": with_options(),
    }
