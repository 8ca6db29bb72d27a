"""Writes page_deep_stack.json for the page's section on deep stacks: signals and gradients of a deep stack,
with and without layer norm, and its first training losses.

nn.Linear, nn.LayerNorm, mse_loss and torch.optim.AdamW compute in float64; autograd gives the gradients.
"""

import math

import torch
from common import pack
from torch import nn

WIDTH, INPUTS, SAMPLES, STEPS = 64, 8, 128, 5
ACTIVATIONS = {"relu": nn.ReLU, "gelu": lambda: nn.GELU(approximate="tanh"), "none": nn.Identity}


def stack(depth, gain, activation, seed, norm):
    torch.manual_seed(seed)
    x = torch.randn(SAMPLES, INPUTS).double()
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] - 0.5 * x[:, 3]
    y = ((y - y.mean()) / y.std(unbiased=False))[:, None]
    linears = [nn.Linear(INPUTS if i == 0 else WIDTH, WIDTH) for i in range(depth)]
    head = nn.Linear(WIDTH, 1)
    for linear in linears:
        linear.weight.data = (linear.weight.data.double() * gain * math.sqrt(3)).float()
    for linear in (*linears, head):
        linear.bias.data.zero_()
    norms = [nn.LayerNorm(WIDTH) if norm else nn.Identity() for _ in linears]
    model = nn.ModuleList([*linears, *norms, head]).double()
    activate = ACTIVATIONS[activation]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    found = {"losses": []}
    for step in range(STEPS + 1):
        signal, inputs = x, []
        for linear, layer_norm in zip(linears, norms):
            signal = layer_norm(linear(signal))
            signal.retain_grad()
            inputs.append(signal)
            signal = activate(signal)
        loss = nn.functional.mse_loss(head(signal), y)
        optimizer.zero_grad()
        loss.backward()
        found["losses"].append(loss.item())
        if step == 0:
            found["means"] = [one.mean().item() for one in inputs]
            found["deviations"] = [one.std(unbiased=False).item() for one in inputs]
            found["gradients"] = [one.grad.norm().item() for one in inputs]
        optimizer.step()
    return {name: pack(torch.tensor(values, dtype=torch.float64)) for name, values in found.items()}


def cases():
    found = []
    for depth, gain, activation, seed in (
        (30, 0.58, "relu", 123),
        (7, 2.0, "gelu", 7),
        (4, 1.0, "none", 1),
    ):
        settings = {"depth": depth, "gain": gain, "activation": activation, "seed": seed}
        found.append(
            {
                "settings": settings,
                "without": stack(**settings, norm=False),
                "with": stack(**settings, norm=True),
            }
        )
    return found
