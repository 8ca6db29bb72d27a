"""Writes optim.json: ten steps of SGD, Adam and AdamW, also with parameter groups, and gradient clipping.

torch.optim's optimizers compute in float64, nn.utils.clip_grad_norm_ in float32.

A run draws, after manual_seed(3): two parameters, then each step's gradients. From step 5 on lr is halved.
The second parameter has no gradient in steps 0 and 7. With groups, each parameter is a group of its own.
"""

import torch
from torch import nn, optim

from common import pack

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.5, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "betas": (0.0, 0.5), "weight_decay": 0.0}),
    ("SGD", {"lr": 0.1}, [{"momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.3}]),
    ("Adam", {"lr": 0.1}, [{"weight_decay": 0.5}, {"lr": 0.01, "betas": (0.5, 0.9)}]),
    ("AdamW", {"lr": 0.1}, [{"weight_decay": 0.5}, {"weight_decay": 0.0, "lr": 0.02}]),
]


def run(name, options, groups=None):
    torch.manual_seed(3)
    parameters = [nn.Parameter(torch.randn(3, 7).double()), nn.Parameter(torch.randn(5).double())]
    given = [{"params": [p], **group} for p, group in zip(parameters, groups)] if groups else parameters
    optimizer = getattr(optim, name)(given, **options)
    after = []
    for step in range(10):
        gradients = [torch.randn(3, 7).double(), torch.randn(5).double()]
        if step == 5:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        for i, (parameter, gradient) in enumerate(zip(parameters, gradients)):
            parameter.grad = None if i == 1 and step in (0, 7) else gradient
        optimizer.step()
        after.append([pack(parameter) for parameter in parameters])
    state = optimizer.state_dict()["state"]
    return {
        "name": name,
        "options": options,
        "groups": groups,
        "after": after,
        "state": {
            f"state.{i}.{key}": pack(torch.as_tensor(value).double())
            for i, slots in state.items()
            for key, value in slots.items()
            if value is not None
        },
    }


def clip(max_norm, scale=1.0):
    torch.manual_seed(3)
    parameters = [nn.Parameter(torch.zeros(3, 7)), nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(5))]
    parameters[0].grad, parameters[2].grad = torch.randn(3, 7) * scale, torch.randn(5) * scale
    norm = nn.utils.clip_grad_norm_(parameters, max_norm)
    return {
        "maxNorm": max_norm,
        "scale": scale,
        "norm": norm.item(),
        "grads": [pack(parameters[0].grad), pack(parameters[2].grad)],
    }


def cases():
    return {
        "runs": [run(*setting) for setting in SETTINGS],
        "clips": [clip(1.0), clip(0.0), clip(1000.0), clip(1.0, 1e15), clip(1.0, 0.0), clip(1e-6, 1e-6)],
    }
