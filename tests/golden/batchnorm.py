"""Writes batchnorm.json: BatchNorm over all leading axes, its gradients and its running statistics.

nn.BatchNorm1d computes in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): scale, shift, x, dy, the next batch. x is multiplied by the deviation,
then the mean is added. `evaluated` is the next batch in evaluation mode, with the running statistics rounded
to float32.
"""

import torch
from torch import nn

from common import gradients, in_float64, pack


class BatchNorm(nn.BatchNorm1d):
    """Over all leading axes, with parameters named scale and shift."""

    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)

    def named_parameters(self, *args, **kwargs):
        names = {"weight": "scale", "bias": "shift"}
        return ((names[name], parameter) for name, parameter in super().named_parameters(*args, **kwargs))


def cases():
    found = []
    for n, leading, mean, deviation in (
        (1, [3], 0.0, 1.0),
        (3, [17], 0.0, 1.0),
        (17, [33], 0.0, 1.0),
        (33, [2, 1, 3], 0.0, 1.0),
        (65, [5], 0.0, 1.0),
        (768, [3], 0.0, 1.0),
        (5, [65], 1e4, 0.1),
        (17, [33], -1e4, 0.1),
        (3, [4, 5], 0.0, 1e-3),
        (6, [9], 0.0, 1e21),
        (7, [9], 1e25, 1e21),
        (9, [33], 0.0, 5e37),
    ):
        torch.manual_seed(n)
        norm = BatchNorm(n)
        norm.weight.data, norm.bias.data = torch.randn(n), torch.randn(n)
        x, dy = torch.randn(leading + [n]) * deviation + mean, torch.randn(leading + [n])
        following = torch.randn(leading + [n])
        case = {
            "seed": n,
            "numFeatures": n,
            "shape": leading + [n],
            "mean": mean,
            "deviation": deviation,
            **gradients(norm, x, dy=dy),
        }
        case["running_mean"], case["running_var"] = pack(norm.running_mean), pack(norm.running_var)
        norm.eval()
        case["evaluated"] = pack(in_float64(norm, following))
        found.append(case)
    return found
