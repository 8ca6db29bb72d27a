"""Writes page_gelu.json for the page's section on GELU: values and derivatives at some places, and the
minimum of the tanh form and the largest difference of the two forms.

nn.GELU and nn.ReLU compute in float64; autograd gives the derivatives.
"""

import torch
from torch import nn


def cases():
    layers = {"tanh": nn.GELU(approximate="tanh"), "none": nn.GELU(), "relu": nn.ReLU()}
    found = []
    for place in (-4.0, -3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5, 4.0):
        case = {"x": place}
        for name, layer in layers.items():
            x = torch.tensor(place, dtype=torch.float64, requires_grad=True)
            y = layer(x)
            y.backward()
            case[name] = {"y": y.item(), "dy": x.grad.item()}
        found.append(case)
    x = torch.linspace(-4, 4, 80001, dtype=torch.float64)
    tanh = layers["tanh"](x)
    difference = tanh - layers["none"](x)
    lowest, most = tanh.argmin(), difference.abs().argmax()
    return {
        "places": found,
        "lowest": {"x": x[lowest].item(), "value": tanh[lowest].item()},
        "difference": {"x": abs(x[most].item()), "value": difference[most].item()},
    }
