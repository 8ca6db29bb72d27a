"""BatchNorm as nn.BatchNorm1d over all leading axes. scale, shift, x, dy, then the next batch are drawn after
manual_seed(seed); x is times deviation, plus mean."""

import torch
from torch import nn

from common import gradients, in_float64, pack


class BatchNorm(nn.BatchNorm1d):
    """Its weight and bias are our scale and shift."""

    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)

    def named_parameters(self, *args, **kwargs):
        names = {"weight": "scale", "bias": "shift"}
        return ((names[name], parameter) for name, parameter in super().named_parameters(*args, **kwargs))


def cases():
    found = []
    for n, leading, mean, deviation in ((1, [3], 0.0, 1.0), (3, [17], 0.0, 1.0), (17, [33], 0.0, 1.0),
                                        (33, [2, 1, 3], 0.0, 1.0), (65, [5], 0.0, 1.0), (768, [3], 0.0, 1.0),
                                        (5, [65], 1e4, 0.1), (17, [33], -1e4, 0.1), (3, [4, 5], 0.0, 1e-3)):
        torch.manual_seed(n)
        norm = BatchNorm(n)
        norm.weight.data, norm.bias.data = torch.randn(n), torch.randn(n)
        # x is stored where making it rounds, which only the layer should do
        x, dy = torch.randn(leading + [n]) * deviation + mean, torch.randn(leading + [n])
        following = torch.randn(leading + [n])
        case = {"seed": n, "numFeatures": n, "x": pack(x), "shape": leading + [n], **gradients(norm, x, dy=dy)}
        case["running_mean"], case["running_var"] = pack(norm.running_mean), pack(norm.running_var)
        norm.eval()
        # running statistics as float32 hold them
        case["evaluated"] = pack(in_float64(norm, following))
        found.append(case)
    return found
